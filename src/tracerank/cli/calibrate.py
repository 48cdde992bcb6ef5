"""``tracerank calibrate``: a selector's confidence fitted on the user's own labelled pools."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import (
    AsJson,
    Checkpoint,
    Files,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
    SplitName,
    written_place,
)
from tracerank.cli.labelling import Labels, labelling_named, print_labels, say_judge
from tracerank.cli.reading import Problems, pools_of
from tracerank.cli.terminal import new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.evaluation import labels as label_rules
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import split_named
from tracerank.readers.detect import AUTO
from tracerank.votes.selector import DEFAULT, existing_folder, fitted_on, load_selector, remember_fitted

if TYPE_CHECKING:
    from tracerank.fitting.calibrate import Calibrated

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        callback=written_place,
        help="Leave the checkpoint as it is and write a calibrated copy here; needed for those that come with "
        "tracerank.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the random subsets.")]


def calibrate(
    files: Files,
    checkpoint: Checkpoint = None,
    output: Output = None,
    seed: Seed = 0,
    split: SplitName = None,
    labels: Labels = label_rules.AUTO,
    reader: ReaderName = AUTO,
    encoder: OtherEncoder = None,
    as_json: AsJson = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Fit a selector's confidence on your labelled pools: what it chooses stays, how sure it says it is changes.

    Pools count whole and in random subsets. A stretch and shift of the shipped confidence, from 100 questions on a
    logistic regression, and from 300 on an isotonic curve on top of it are compared on questions that were left out;
    the one with the least log loss is saved in the folder, unless what the selector says today is better. Questions
    that the selector was fitted on are left out; those calibrated on are remembered with them, so that evaluate leaves
    them out, too.
    """
    # Here, because this needs numpy, which help should not wait for.
    from tracerank.fitting.calibrate import calibrate as calibrated
    from tracerank.fitting.calibrate import cases_of

    source = existing_folder(checkpoint or DEFAULT)
    target = _target(checkpoint, source, output)
    selector = load_selector(source, encoder)
    known = fitted_on(source)
    labelling = labelling_named(labels)
    held_out = None if split is None else split_named(split)
    questions: list[str] = []
    with Problems(problems, keep=files) as found, working("deciding", quiet=quiet) as bar:

        def taken() -> Iterator[Pool]:
            for pool in labelling.pools(bar.over(pools_of(files, reader, found))):
                if pool not in known and (held_out is None or not held_out.holds_out(pool.question)):
                    questions.append(pool.question.text)
                    yield pool

        cases = cases_of(selector, taken(), seed)
    made = calibrated(cases)
    if made.confidence is not None:
        if target != source:
            shutil.copytree(source, target, dirs_exist_ok=True)
        remember_fitted(target, questions, known)
        made.confidence.save(target)
    if as_json:
        print_json({**asdict(made), "labels": labelling.record()}, indent=2)
    else:
        _print(made)
        print_labels(labelling)
    if not quiet:
        say_judge(labelling)
        if made.confidence is None:
            note("what the selector says today holds best; nothing was written")
        else:
            note(f"saved in {target}; use it with --checkpoint {target}")


def _target(checkpoint: str | None, source: Path, output: Path | None) -> Path:
    if output is None:
        if checkpoint is None or Path(checkpoint).resolve() != source.resolve():
            raise UsageError(f"{checkpoint or DEFAULT}: comes with tracerank or from the hub; name a copy: -o FOLDER")
        return source
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output}: exists already; choose another name")
    return output


def _print(made: "Calibrated") -> None:
    table = new_table("confidence", "Brier", "base rate", "log loss", "ECE", "AUROC", "mean", "right")
    for name, held in made.held.items():
        auroc = "–" if held.auroc is None else f"{held.auroc:.3f}"
        figures = (f"{held.brier:.3f}", f"{held.base_brier:.3f}", f"{held.log_loss:.3f}", f"{held.ece:.3f}", auroc)
        shown = f"{name} ←" if name == made.chosen else name
        table.add_row(shown, *figures, f"{held.confidence:.1%}", f"{held.accuracy:.1%}")
    print_table(
        table, f"on questions that were left out: {made.questions:,} questions, {made.cases:,} pools and subsets"
    )
