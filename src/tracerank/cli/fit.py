"""``tracerank fit``: the best selector for the user's own labelled pools, or only its confidence."""

from collections.abc import Iterator
from pathlib import Path

import click

from tracerank.cli.inputs import Inputs
from tracerank.cli.labels import labelling_named, note_judge
from tracerank.cli.options import (
    choice,
    example,
    force_option,
    inputs_options,
    json_option,
    labels_option,
    method_option,
    option,
    output_option,
    seed_option,
    split_option,
)
from tracerank.cli.tables import print_tables
from tracerank.cli.terminal import harmless, note, print_json
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import split_named

CONFIDENCE = "confidence"


@click.command(epilog=example("tracerank fit labelled.jsonl -o runs/fitted"))
@output_option("Where the selector goes; with --only confidence the folder of --method itself by default.", "FOLDER")
@choice("--only", (CONFIDENCE,), "Fit only the confidence of --method: what it chooses stays the same.")
@method_option()
@labels_option()
@split_option
@option("--folds N", "Parts for cross-validation.", click.IntRange(2), default=5)
@seed_option("Seed of folds and subsets.")
@inputs_options()
@force_option
@json_option
def fit(
    output: Path | None,
    only: str | None,
    method: str,
    labels: str,
    split: str | None,
    folds: int,
    seed: int,
    inputs: Inputs,
    force: bool,
    as_json: bool,
) -> None:
    """Find the best selector for your labelled pools, and save it.

    The vote, the shipped selector and refits of it are cross-validated by question. What ships is kept unless another
    is surely better. Use the result with --method FOLDER. The folder remembers which questions it was fitted on, so
    that evaluate leaves them out.
    """
    labelling = labelling_named(labels)
    held_out = None if split is None else split_named(split)
    if only is None and output is None:
        raise UsageError("-o FOLDER is needed: where the fitted selector goes")

    def to_learn(pools: Iterator[Pool]) -> Iterator[Pool]:
        return (pool for pool in pools if held_out is None or not held_out.holds_out(pool.question))

    with inputs.opened("reading") as (stream, progress, _):
        if output is None or only == CONFIDENCE:
            from tracerank.fitting.calibrate import calibrate

            calibrated = calibrate(to_learn(stream), method, output, labels=labelling, seed=seed)
            saved, record, table = calibrated.saved_in, calibrated.record(), calibrated.table()
            lines, notes = [labelling.sentence], []
        else:
            from tracerank.fitting.fit import fit as fit_pools

            fitted = fit_pools(
                to_learn(stream),
                output,
                labels=labelling,
                folds=folds,
                seed=seed,
                settings={**inputs.identity(), "split": split},
                force=force,
                on_step=progress.describe,
            )
            saved, record, table, lines = output, fitted.record(), fitted.table(), fitted.conclusion()
            notes = [f"left out: {count:,} questions ({why})" for why, count in fitted.left_out.items()]
            if not fitted.is_new:
                notes.append(f"{output}: fitted before, with the same files and settings; --force fits again")
    if as_json:
        print_json(record, indent=2)
    else:
        print_tables([table])
        for line in lines:
            click.echo(harmless(line))
    if inputs.quiet:
        return
    note_judge(labelling)
    for line in notes:
        note(line)
    if saved is None:
        note("the confidence of today is best; nothing was written")
        return
    where = f"{inputs.files[0] if len(inputs.files) == 1 else 'THE-SAME-FILES'} --split {split}" if split else "OTHERS"
    note(f"saved in {saved}; try it on questions that it has not seen:")
    note(f"tracerank evaluate {where} --method majority,{saved}")
