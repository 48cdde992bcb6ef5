"""``tracerank evaluate --stopping``: what each rule for stopping would have cost and brought on labelled pools."""

from collections.abc import Container, Iterable, Iterator
from pathlib import Path

import click

from tracerank.cli.inputs import Inputs
from tracerank.cli.labels import note_judge
from tracerank.cli.tables import print_tables
from tracerank.cli.terminal import harmless, note, print_json, working
from tracerank.errors import UsageError
from tracerank.evaluation.labels import Labelling
from tracerank.evaluation.tables import wide_csv
from tracerank.methods import MethodOptions, load_method
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import Split
from tracerank.runs.atomic import write_text
from tracerank.stopping.replay import replay


def print_stopping(
    inputs: Inputs,
    method: str,
    options: MethodOptions,
    k: int | None,
    orders: int,
    labelling: Labelling,
    split: Split | None,
    fitted: Container[Pool],
    output: Path | None,
    as_json: bool,
) -> None:
    """Replay the pools and print, and with ``output`` write, the tables."""
    chosen = load_method(method, options)

    def judged(pools: Iterable[Pool]) -> Iterator[Pool]:
        for pool in pools:
            if (split is None or split.holds_out(pool.question)) and pool not in fitted:
                yield pool

    with inputs.opened("reading") as (stream, _, _):
        pools = list(labelling.pools(judged(stream)))
    if not pools:
        raise UsageError("no question is left to replay; --include-fitted takes those that were fitted on, too")
    with working("replaying", "orders", quiet=inputs.quiet) as progress:
        made = replay(pools, chosen, k, orders, options.seed, progress.advance)
    if as_json:
        print_json({**made.record(), "labels": labelling.record()}, indent=2)
    else:
        print_tables(made.tables())
        click.echo(f" {harmless(labelling.sentence)}\n")
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for index, table in enumerate(made.tables(), start=1):
            write_text(output / f"stopping-{index}.csv", wide_csv(table))
    if not inputs.quiet:
        note_judge(labelling)
        if output is not None:
            note(f"written to {output}")
