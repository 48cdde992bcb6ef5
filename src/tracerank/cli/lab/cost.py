"""``tracerank lab cost``: what a selector costs on this machine, by stage."""

from dataclasses import asdict
from itertools import chain, repeat
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs
from tracerank.cli.terminal import note, print_json, print_table

if TYPE_CHECKING:  # what takes longer to import than --help may take
    from collections.abc import Iterator

    from tracerank.methods import MethodOptions
    from tracerank.readers.runs.pools import Report


@click.command(epilog=opt.example("tracerank lab cost pools.jsonl --method runs/network"))
@opt.method_option()
@opt.option("--limit N", "Measure on the first N questions of the files.", opt.COUNT, default=100)
@opt.method_options("encoder")
@opt.inputs_options()
@opt.json_option
def cost(
    method: str,
    limit: int,
    options: "MethodOptions",
    inputs: Inputs,
    as_json: bool,
) -> None:
    """Measure what selection costs on this machine, by stage.

    Stages: read and parse, encode texts, build graphs and score. The vector cache is not used, and loading the models
    is measured apart. What recorded methods took is in the tables of report.
    """
    from tracerank.evaluation.stage_times import PASSES, measure_selector
    from tracerank.pools.pool import PAPER_K

    k = inputs.k or PAPER_K
    with inputs.opened("measuring") as (_, _, problems):
        reports: Iterator[Report] = chain([problems], repeat(lambda problem: None))  # problems are shown once
        measured = measure_selector(
            method,
            lambda: (pool.first(k) for pool in inputs.pools(next(reports))),
            limit,
            encoder=options.encoder,
        )
    total = sum(measured.seconds.values())
    seconds = {**measured.seconds, "total": total}
    if as_json:
        print_json(asdict(measured) | {"k": k, "seconds": seconds}, indent=2)
        return
    rows = (
        (stage, f"{spent:,.3f}", f"{1000 * spent / max(measured.questions, 1):,.2f}", f"{100 * spent / total:.1f}")
        for stage, spent in seconds.items()
    )
    encoded = f"{measured.texts:,} texts encoded by {measured.encoder}" if measured.encoder else "no text encoded"
    about = f"{method} on {measured.questions:,} questions, K={k}, {encoded}; median of {PASSES}"
    heads = ("stage", "seconds", "ms a question", "share %")
    print_table(heads, rows, f"{about}; loading took {measured.loading:.1f} s, once")
    if not inputs.quiet and measured.questions < limit:
        note(f"the files hold {measured.questions:,} questions only")
