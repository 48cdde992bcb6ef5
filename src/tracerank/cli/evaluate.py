"""``tracerank evaluate``: the accuracy of every method for several K."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

import click

from tracerank.cli.inputs import Inputs
from tracerank.cli.labels import labelling_named
from tracerank.cli.options import (
    COUNT,
    escalation_options,
    example,
    flag,
    force_option,
    include_fitted_option,
    inputs_options,
    json_option,
    labels_option,
    method_names,
    method_option,
    method_options,
    option,
    output_option,
    split_option,
)
from tracerank.cli.output import SOME_FAILED, check_outside
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table
from tracerank.errors import UsageError
from tracerank.methods import MethodOptions, fitted_by, method_identity, methods_named, model_of
from tracerank.pools.pool import PAPER_BUDGETS
from tracerank.pools.subsets import split_named

if TYPE_CHECKING:
    from tracerank.evaluation.scores import Row

BY_FILE = "by-file"
BUDGETS = ",".join(map(str, PAPER_BUDGETS))
DEFAULT_METHODS = ["majority", "evidence"]


@click.command(epilog=example("tracerank evaluate labelled.jsonl --method majority,evidence -k 2,4,8 -o runs/mine"))
@output_option(
    "Folder for a record of every decision, or FILE.csv, .parquet, .jsonl or .json. Interrupted runs resume.",
    "FOLDER|FILE",
)
@method_option(several=True)
@option("-k ks K,K,…", "Numbers of rollouts: the first K by sample id.", show_default=BUDGETS)
@flag(
    "--stopping",
    "Instead, replay the rollouts one after the other: what would each rule for stopping cost and bring?",
)
@option("--orders N", "Random orders of every pool, for --stopping.", COUNT, default=3)
@option(
    "--subsets N",
    "Besides the first K, also N random subsets of K rollouts, the same for every method.",
    click.IntRange(0),
    default=0,
)
@labels_option()
@split_option
@include_fitted_option
@escalation_options
@option("--backbone NAME,…", f"Which model made the rollouts: one name for all, one for each FILE, or {BY_FILE}.")
@option("--label NAME", "What a report calls these runs, if not by the folder's name.")
@method_options()
@inputs_options(k=False)
@force_option
@json_option
def evaluate(
    output: Path | None,
    methods: tuple[str, ...],
    ks: str | None,
    stopping: bool,
    orders: int,
    subsets: int,
    labels: str,
    split: str | None,
    include_fitted: bool,
    escalate: str | None,
    below: float | None,
    backbone: str | None,
    label: str | None,
    options: MethodOptions,
    inputs: Inputs,
    force: bool,
    as_json: bool,
) -> None:
    """Compare methods on labelled pools, for several numbers of rollouts.

    Accuracy is the label of the chosen rollout; without labels, whether its answer means what a reference says. The
    first rollout (single) and the best possible choice (oracle) are always shown. Questions without a candidate count
    as wrong; questions that a selector was fitted on are left out. `tracerank report` makes tables and a page of -o.
    """
    if output is not None:
        check_outside(output, inputs.files)
    held_out = None if split is None else split_named(split)
    if stopping:
        from tracerank.cli.stopping import print_stopping

        if escalate is not None or subsets or backbone is not None:
            raise UsageError("--stopping: does not go with --escalate, --subsets or --backbone")
        names, budgets = method_names(methods) or ["evidence"], [None] if ks is None else parse_ks(ks)
        if len(names) > 1 or len(budgets) > 1:
            raise UsageError("--stopping: name one method, whose confidence decides when to stop, and one -k, if any")
        labelling = labelling_named(labels, options)
        fitted = () if include_fitted else fitted_by(names)
        print_stopping(inputs, names[0], options, budgets[0], orders, labelling, held_out, fitted, output, as_json)
        return
    from tracerank.evaluation.evaluate import MEAN_SINGLE, REFERENCES
    from tracerank.evaluation.run import run_evaluation

    numbers, sets = parse_ks(ks or BUDGETS), _sets(inputs.files, backbone)
    names = method_names(methods) or DEFAULT_METHODS
    asked = [name for name in names if name not in REFERENCES]
    folder, file = (None, None) if output is None else _records_place(output, force)
    with inputs.opened("loading") as (_, progress, problems):
        streams = [(name, progress.over(inputs.pools(problems, files=paths))) for name, paths in sets]
        chosen = methods_named(asked, options) if asked else []
        models = {method.name: model_of(name, options) for name, method in zip(asked, chosen, strict=True)}
        if escalate is not None or below is not None:
            from tracerank.cli.escalation import EscalateOption

            other = EscalateOption.given(escalate, below, options)
            behind = other.behind_all(list(zip(asked, chosen, strict=True)))
            models |= {method.name: model_of(other.method, options) for method in behind}
            chosen = [*chosen, *behind]
        settings = {
            "sets": [{"backbone": name, **inputs.identity(paths)} for name, paths in sets],
            "methods": [method_identity(name) for name in names],
            "models": models,
            "label": label,
            "options": options.identity(),
            "split": split,
            "include_fitted": include_fitted,
            "escalate": None if escalate is None else method_identity(escalate),
            "below": below,
        }
        progress.describe("evaluating")
        summary = run_evaluation(
            chosen,
            streams,
            numbers,
            labelling_named(labels, options, watches_exact=True),
            folder=folder,
            settings=settings,
            force=force,
            subsets=subsets,
            seed=options.seed,
            fitted=fitted_by([*asked, *([] if escalate is None else [escalate])]),
            include_fitted=include_fitted,
            split=held_out,
            has_means=MEAN_SINGLE in names,
            on_failure=problems.undecided,
        )
    if folder is not None and file is not None:
        _write_records(folder, file)
    if as_json:
        print_json(summary.record(), indent=2)
    else:
        _print(summary.rows, numbers)
        for sentence in summary.sentences:
            click.echo(f" {harmless(sentence)}\n")
    if not inputs.quiet:
        for line in summary.notes:
            note(line)
        if output is not None:
            note(f"records are in {output}" + (f"; see tracerank report {output}" if file is None else ""))
    for line in summary.failures:
        note(line)
    if summary.has_failures:
        sys.exit(SOME_FAILED)


def parse_ks(text: str) -> list[int]:
    """The numbers of ``2,4,8``, ascending."""
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        ks = []
    if not ks or ks[0] < 1:
        raise UsageError(f"-k {text!r}: expected whole numbers from 1 on, separated by commas, for example 2,4,8,16")
    return ks


def _sets(files: Sequence[Path], backbone: str | None) -> list[tuple[str | None, Sequence[Path]]]:
    """Files by backbone: those of one are read together, those of another apart, as their ids may be the same."""
    if backbone is None:
        return [(None, files)]
    names = [path.name.split(".")[0] for path in files] if backbone == BY_FILE else backbone.split(",")
    names = names * len(files) if len(names) == 1 else names
    if len(names) != len(files) or not all(names):
        raise UsageError(f"--backbone {backbone!r}: expected one name, or one for each of the {len(files)} files")
    pairs = list(zip(files, names, strict=True))
    return [(name, [path for path, own in pairs if own == name]) for name in dict.fromkeys(names)]


def _records_place(output: Path, force: bool) -> tuple[Path, Path | None]:
    """The folder of the records, and the file that is made of it at the end, if the name is that of a file."""
    from tracerank.cli.record_files import FORMATS, check_format

    if not output.suffix or output.suffix.lower() not in FORMATS or output.is_dir():
        return output, None
    check_format(output)
    if output.exists() and not force:
        raise UsageError(f"{output}: already exists; choose another name or overwrite it with --force")
    return output.with_name(f"{output.name}.part"), output


def _write_records(folder: Path, file: Path) -> None:
    from tracerank.cli.record_files import write_records
    from tracerank.evaluation.records import CONFIG, RECORDS, Record
    from tracerank.runs.resumable import read_lines
    from tracerank.votes.decision_table import COUNTS, NESTED, NUMBER, TEXT, WHOLE

    kinds = {str: TEXT, int: WHOLE, float: NUMBER}
    columns = {
        name: next((kinds[one] for one in (hint, *get_args(hint)) if one in kinds), COUNTS)
        for name, hint in get_type_hints(Record).items()
    }
    write_records(
        file, read_lines(folder / RECORDS), {**columns, "dropped": COUNTS, "counts": COUNTS, "escalated": NESTED}
    )
    if set(os.listdir(folder)) >= {CONFIG, RECORDS}:
        shutil.rmtree(folder)


def _print(rows: "Sequence[Row]", ks: list[int]) -> None:
    has_f1 = any(row.f1 is not None for row in rows)
    title = f"accuracy %{' / F1 %' if has_f1 else ''} over {max(row.questions for row in rows):,} questions"
    table = new_table("method", *(f"K={k}" for k in ks))
    for method in dict.fromkeys(row.method for row in rows):
        shown = [(_percent(row.accuracy), _percent(row.f1)) for row in rows if row.method == method]
        table.add_row(harmless(method), *(f"{accuracy} / {f1}" if has_f1 else accuracy for accuracy, f1 in shown))
    print_table(table, title)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
