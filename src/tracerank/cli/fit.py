"""``tracerank fit``: the best selector for the user's own labelled pools, or only its confidence."""

from pathlib import Path

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import Inputs
from tracerank.cli.labels import labelling_named, note_judge, without_held_out
from tracerank.cli.terminal import harmless, note, print_json, print_tables
from tracerank.errors import UsageError

CONFIDENCE = "confidence"


@click.command(epilog=opt.example("tracerank fit labelled.jsonl -o runs/fitted"))
@opt.output_option(
    "Where the selector goes; with --only confidence the folder of --method itself by default.", opt.FOLDER
)
@opt.choice("--only", (CONFIDENCE,), "Fit only the confidence of --method: what it chooses stays the same.")
@opt.flag("--by-agent", "Fit how reliable each agent is: a vote by meaning that weighs agents. 20 questions will do.")
@opt.method_option()
@opt.labels_option()
@opt.split_option
@opt.option("--folds N", "Parts for cross-validation.", click.IntRange(2), default=5)
@opt.seed_option("Seed of folds and subsets.")
@opt.inputs_options()
@opt.force_option
@opt.json_option
def fit(
    output: Path | None,
    only: str | None,
    by_agent: bool,
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
    if only is None and output is None:
        raise UsageError("-o FOLDER is needed: where the fitted selector goes")
    if by_agent and (only is not None or method != "evidence"):
        raise UsageError("--by-agent fits a method of its own; leave out --only and --method")
    if only is None and method != "evidence":
        raise UsageError("--method names what --only confidence fits; without --only, all candidates are compared")

    notes: list[str] = []
    with inputs.opened("reading") as (stream, progress, _):
        pools = without_held_out(stream, split)
        if output is None or only == CONFIDENCE:
            from tracerank.fitting.calibrate import calibrate

            calibrated = calibrate(pools, method, output, labels=labelling, seed=seed)
            saved, record, table = calibrated.saved_in, calibrated.record(), calibrated.table()
            lines = [labelling.sentence]
        elif by_agent:
            from tracerank.fitting.by_agent import fit_by_agent

            weighed = fit_by_agent(pools, output, labels=labelling, force=force)
            saved, record, table, lines = output, weighed.record(), weighed.table(), weighed.conclusion()
        else:
            from tracerank.fitting.fit import fit as fit_pools

            fitted = fit_pools(
                pools, output, labels=labelling, folds=folds, seed=seed, force=force, on_step=progress.describe
            )
            saved, record, table, lines = output, dict(fitted.values), fitted.table(), fitted.conclusion()
            notes = [f"left out: {count:,} questions ({why})" for why, count in fitted.values["left_out"].items()]
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
