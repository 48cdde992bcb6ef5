"""``tracerank evaluate``: the accuracy of every method for several K."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
    AsJson,
    Below,
    Chat,
    ChatContext,
    ChatTime,
    ChatTokens,
    Checkpoint,
    CountAbstentions,
    Equality,
    Escalate,
    Files,
    Force,
    Form,
    IncludeFitted,
    Methods,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
    Seed,
    SplitName,
    written_place,
)
from tracerank.cli.escalating import Escalated
from tracerank.cli.labelling import Labels, labelling_named
from tracerank.cli.output import SOME_FAILED, fingerprint
from tracerank.cli.reading import (
    Failures,
    Problems,
    pools_of,
)
from tracerank.cli.record_files import RecordsFile
from tracerank.cli.terminal import harmless, new_table, note, print_json, print_table, working
from tracerank.errors import UsageError
from tracerank.evaluation import labels as label_rules
from tracerank.evaluation.evaluate import MEAN_SINGLE, REFERENCES, Row, run_evaluation
from tracerank.pools.pool import PAPER_BUDGETS
from tracerank.pools.subsets import split_named
from tracerank.readers.detect import AUTO
from tracerank.selectors.table import (
    SELECTOR,
    EqualityName,
    MethodOptions,
    checked_options,
    fitted_by,
    method_identity,
    methods_named,
    model_of,
    unused_checkpoint,
)
from tracerank.votes.selector import DEFAULT, selector_kind

_PAPER_KS = ",".join(map(str, PAPER_BUDGETS))
Ks = Annotated[
    str, typer.Option("-k", metavar="K,K,…", help="Numbers of rollouts per question: the first K by sample id.")
]
RecordsFolder = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        callback=written_place,
        help="Folder for a record of every decision, written as it is made; FILE.csv, .parquet, .jsonl or .json: the "
        "records alone, made of the folder FILE.part at the end.",
        show_default=False,
    ),
]
Subsets = Annotated[
    int,
    typer.Option(
        "--subsets",
        metavar="N",
        min=0,
        help="Besides the first K, also N random subsets of K rollouts, the same for every method.",
    ),
]
BY_FILE = "by-file"
Backbone = Annotated[
    str | None,
    typer.Option(
        "--backbone",
        metavar="NAME,…",
        help="Whose rollouts the files hold: one name for all or one a FILE (those of one name are read together), or "
        f"{BY_FILE}: the files' own names.",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAME",
        help="What a report calls these runs where another folder has runs of the same methods; the folder's name if "
        "not given.",
        show_default=False,
    ),
]

SHOWN_NAMES = {"trace": "TRACE"}
NETWORKS = ("trace", "trace-plus")
"""Kinds that go by their own name where the user names none: reports look for it."""


def evaluate(
    files: Files,
    checkpoint: Checkpoint = None,
    methods: Methods = "",
    escalate: Escalate = None,
    below: Below = None,
    k: Ks = _PAPER_KS,
    output: RecordsFolder = None,
    subsets: Subsets = 0,
    seed: Seed = 0,
    backbone: Backbone = None,
    label: Label = None,
    split: SplitName = None,
    include_fitted: IncludeFitted = False,
    labels: Labels = label_rules.AUTO,
    equality: Equality = EqualityName.EXACT,
    count_abstentions: CountAbstentions = False,
    form: Form = None,
    chat: Chat = None,
    chat_context: ChatContext = None,
    chat_tokens: ChatTokens = None,
    chat_time: ChatTime = None,
    reader: ReaderName = AUTO,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    as_json: AsJson = False,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare ways to decide on labelled pools, for several K.

    Accuracy is the label of the chosen rollout; where the file has none, whether its answer means what a reference says
    (--labels em: exact match, as in the paper). The last line says which rule it was. F1 needs references. Questions
    without a candidate count as wrong. The oracle chooses the right answer wherever one of the K rollouts has it;
    single is the first rollout, mean-single the mean of all (of browsing pools, and where it is named). Without
    --methods these are the majority vote and the selector. Questions that a selector was fitted on are left out, and
    counted. With --escalate each method that tells a confidence is also there with the other one behind it; the report
    has what that cost and the curve over --below. With -o every decision is recorded; an interrupted run goes on when
    the same command is given again, and `tracerank report` makes tables and plots of a folder.
    """
    ks = _parse_ks(k)
    if output is not None and any(path.is_dir() and output.resolve().is_relative_to(path.resolve()) for path in files):
        raise UsageError(
            f"{output}: lies in a folder that is read; the next run would read it, too: write it elsewhere"
        )
    sets = _sets(files, backbone)
    options = MethodOptions(
        checkpoint,
        encoder,
        allow_encoder_mismatch,
        equality,
        chat,
        seed,
        chat_context,
        count_abstentions,
        form,
        chat_tokens,
        chat_time,
    )
    asked, has_means = _asked(methods, options)
    other = Escalated.given(escalate, below, options)
    labelling = labelling_named(labels, options, watches_exact=True)
    held_out = None if split is None else split_named(split)
    deciding = [*asked, *([] if other is None else [other.method])]
    records_file = None if output is None else RecordsFile.named(output, force)
    with ExitStack() as stack:
        report = stack.enter_context(Problems(problems, keep=files))
        bar = stack.enter_context(working("loading", quiet=quiet))
        streams = [(name, bar.over(pools_of(paths, reader, report))) for name, paths in sets]
        named = methods_named(",".join(asked), options) if asked else []
        models = {method.name: model_of(name, options) for name, method in zip(asked, named, strict=True)}
        if other is not None:
            behind = other.behind_all(asked, named)
            named, models = [*named, *behind], models | {method.name: other.model for method in behind}
        settings = {
            "sets": [{"backbone": name, "files": fingerprint(paths)} for name, paths in sets],
            "reader": reader,
            "methods": [method_identity(name) for name in asked] + [MEAN_SINGLE] * has_means,
            "models": models,
            "label": label,
            "options": options.identity(),
            **({} if split is None else {"split": split}),
            **({"include_fitted": True} if include_fitted else {}),
            **({} if other is None else other.identity),
        }
        bar.describe("evaluating")
        summary = run_evaluation(
            named,
            streams,
            ks,
            labelling,
            folder=None if records_file is None else records_file.folder,
            settings=settings,
            force=force,
            subsets=subsets,
            seed=seed,
            fitted=fitted_by(deciding, options),
            include_fitted=include_fitted,
            split=held_out,
            has_means=has_means,
            on_failure=Failures("decisions", report),
        )
    if records_file is not None:
        records_file.finish()
    if as_json:
        print_json(summary.record(), indent=2)
    else:
        _print(summary.rows, ks)
        for sentence in summary.sentences:
            typer.echo(f" {harmless(sentence)}\n")
    if not quiet:
        for line in summary.notes:
            note(line)
        if output is not None:
            note(f"records are in {output}" + (f"; see tracerank report {output}" if output.is_dir() else ""))
    for line in summary.failures:
        note(line)
    if summary.has_failures:
        raise typer.Exit(SOME_FAILED)


def _sets(files: list[Path], backbone: str | None) -> list[tuple[str | None, list[Path]]]:
    """Files of one backbone are read together, those of another apart: their questions may have the same ids."""
    if backbone is None:
        return [(None, files)]
    names = [path.name.split(".")[0] for path in files] if backbone == BY_FILE else backbone.split(",")
    names = names * len(files) if len(names) == 1 else names
    if len(names) != len(files) or not all(names):
        raise UsageError(f"--backbone {backbone!r}: expected one name, or one for each of the {len(files)} files")
    return [
        (name, [path for path, own in zip(files, names, strict=True) if own == name]) for name in dict.fromkeys(names)
    ]


def _asked(text: str, options: MethodOptions) -> tuple[list[str], bool]:
    """The names, all of which can be built, and whether the mean of all rollouts is wanted.

    Single rollout and oracle are in every evaluation, so to name them changes nothing. Nothing is loaded here.
    """
    if not text:
        folder = options.checkpoint or DEFAULT
        checked_options(SELECTOR, options)
        kind = selector_kind(folder)
        return ["majority", kind if kind in NETWORKS and options.checkpoint else folder], False
    parts = [part.strip() for part in text.split(",")]
    if not any(parts):
        raise UsageError(f"--methods {text!r}: expected names separated by commas, for example majority,trace")
    names = [name for name in parts if name and name not in REFERENCES]
    for name in names:
        checked_options(name, options)
    if unused_checkpoint(names, options):
        raise UsageError(
            f"--checkpoint {options.checkpoint}: not one of the methods {text} uses it; name it among them: "
            f"--methods {text},{SELECTOR if ',' in (options.checkpoint or '') else options.checkpoint}"
        )
    return names, MEAN_SINGLE in parts


def _parse_ks(text: str) -> list[int]:
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        ks = []
    if not ks or ks[0] < 1:
        raise UsageError(f"-k {text!r}: expected whole numbers from 1 on, separated by commas, for example 2,4,8,16")
    return ks


def _print(rows: list[Row], ks: list[int]) -> None:
    has_f1 = any(row.f1 is not None for row in rows)
    title = f"accuracy %{' / F1 %' if has_f1 else ''} over {max(row.questions for row in rows):,} questions"
    table = new_table("method", *(f"K={k}" for k in ks))
    for method in dict.fromkeys(row.method for row in rows):
        cells = [_cell(row, has_f1) for row in rows if row.method == method]
        table.add_row(SHOWN_NAMES.get(method, method), *cells)
    print_table(table, title)


def _cell(row: Row, has_f1: bool) -> str:
    return f"{_percent(row.accuracy)} / {_percent(row.f1)}" if has_f1 else _percent(row.accuracy)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
