"""``tracerank lab cost``: what a selector costs on this machine, by stage."""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain, repeat

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs
from tracerank.cli.terminal import note, print_json, print_table
from tracerank.methods import MethodOptions
from tracerank.pools.pool import PAPER_K
from tracerank.readers.grouping import Report


@click.command(epilog=opt.example("tracerank lab cost pools.jsonl --method runs/network"))
@opt.method_option()
@opt.option("--limit N", "Measure on the first N questions of the files.", opt.COUNT, default=100)
@opt.option("--passes N", "Passes over them, of which the median counts.", opt.COUNT, default=3)
@opt.method_options("encoder")
@opt.inputs_options()
@opt.json_option
def cost(
    method: str,
    limit: int,
    passes: int,
    options: MethodOptions,
    inputs: Inputs,
    as_json: bool,
) -> None:
    """Measure what selection costs on this machine, by stage.

    Stages: read and parse, encode, build graphs, score. Every distinct text is encoded once a pass and the cache is not
    used. Loading the models is measured apart. What recorded methods took is in the page of report.
    """
    from tracerank.evaluation.stage_times import measure_selector

    k = inputs.k or PAPER_K
    with inputs.opened("loading") as (_, progress, problems):
        reports: Iterator[Report] = chain([problems], repeat(lambda problem: None))  # problems are shown once
        measured = measure_selector(
            method,
            lambda: (pool.first(k) for pool in inputs.pools(next(reports))),
            limit,
            passes,
            encoder=options.encoder,
            on_loaded=lambda: progress.describe("measuring"),
        )
    seconds = {**measured.seconds, "total": measured.total}
    if as_json:
        print_json(asdict(measured) | {"k": k, "seconds": seconds}, indent=2)
        return
    rows = []
    for stage, spent in seconds.items():
        each, share = 1000 * spent / max(measured.questions, 1), 100 * spent / max(measured.total, 1e-12)
        rows.append((stage, f"{spent:,.3f}", f"{each:,.2f}", f"{share:.1f}"))
    encoded = "no text encoded"
    if measured.encoder is not None:
        encoded = f"{measured.texts:,} distinct texts encoded by {measured.encoder}"
    about = f"{method} on {measured.questions:,} questions, K={k}, {encoded}; median of {measured.passes}"
    heads = ("stage", "seconds", "ms a question", "share %")
    print_table(heads, rows, f"{about}; loading took {measured.loading:.1f} s, once")
    if not inputs.quiet and measured.questions < limit:
        note(f"the files hold {measured.questions:,} questions only")
