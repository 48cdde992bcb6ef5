"""``tracerank evaluate``: the accuracy of every method for several K."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
    AsJson,
    Chat,
    Checkpoint,
    Equality,
    Files,
    Force,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
)
from tracerank.cli.methods import EqualityName, MethodName, MethodOptions, method_named
from tracerank.cli.output import check_output, whole_file
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.reading import pools_of
from tracerank.cli.terminal import json_text, new_table, note, print_json, print_table
from tracerank.errors import UsageError
from tracerank.evaluation import labels as labels_module
from tracerank.evaluation.evaluate import Record, Row, fold
from tracerank.evaluation.evaluate import evaluate as evaluate_pools
from tracerank.evaluation.labels import labelled
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO

Ks = Annotated[
    str, typer.Option("-k", metavar="K,K,…", help="Numbers of rollouts per question: the first K by sample id.")
]
RecordsFile = Annotated[
    Path | None,
    typer.Option(
        "--records",
        metavar="FILE",
        help="Also write what each method chose on each question, as JSON Lines.",
        show_default=False,
    ),
]


class LabelsName(StrEnum):
    """What ``--labels`` takes."""

    AUTO = labels_module.AUTO
    GIVEN = labels_module.GIVEN
    EM = labels_module.EM
    CONTAINS = labels_module.CONTAINS


Labels = Annotated[
    LabelsName,
    typer.Option(
        "--labels",
        metavar="RULE",
        help="What is right: given (labels of the file), em (exact match), contains (a reference stands in the "
        "answer), or auto: given, else the dataset's own rule, else em.",
    ),
]
SHOWN_NAMES = {"trace": "TRACE"}


def evaluate(
    files: Files,
    checkpoint: Checkpoint = None,
    k: Ks = "2,4,8,16",
    labels: Labels = LabelsName.AUTO,
    equality: Equality = EqualityName.EXACT,
    chat: Chat = None,
    reader: ReaderName = AUTO,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    as_json: AsJson = False,
    records: RecordsFile = None,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare single rollout, majority vote, TRACE and oracle on labelled pools.

    Accuracy is the label of the chosen rollout, or exact match with the references; F1 needs references. Questions
    without a candidate count as wrong. The oracle chooses the right answer wherever one of the K rollouts has it.
    Without --checkpoint the row of TRACE is left out.
    """
    ks = _parse_ks(k)
    if records is not None:
        check_output(records, files, force)
    with Problems(problems, keep=(*files, records)) as report, working("loading", quiet=quiet) as bar:
        short: Counter[int] = Counter()
        judged = (labelled(pool, labels) for pool in bar.over(pools_of(files, reader, report)))
        pools = _measured(judged, ks, short)
        names = [MethodName.MAJORITY, *([MethodName.TRACE] if checkpoint else [])]
        options = MethodOptions(checkpoint, encoder, allow_encoder_mismatch, equality, chat)
        methods = [method_named(name, options) for name in names]
        bar.describe("evaluating")
        rows = fold(_kept(evaluate_pools(methods, pools, ks), records))
    if not any(row.questions for row in rows):
        raise UsageError(f"not one of {rows[0].unjudged:,} questions has a label or a reference; nothing to compare")
    if as_json:
        print_json({"labels": str(labels), "rows": [asdict(row) for row in rows]}, indent=2)
    else:
        _print(rows, ks)
    unjudged = min(row.unjudged for row in rows)
    if unjudged and not quiet:
        note(f"{unjudged:,} questions have neither a label nor a reference; they are not in the figures")
    if short and not quiet:
        note("fewer rollouts than K: " + ", ".join(f"{short[k]:,} questions at K={k}" for k in sorted(short)))


def _parse_ks(text: str) -> list[int]:
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        ks = []
    if not ks or ks[0] < 1:
        raise UsageError(f"-k {text!r}: expected whole numbers from 1 on, separated by commas, for example 2,4,8,16")
    return ks


def _measured(pools: Iterable[Pool], ks: list[int], short: Counter[int]) -> Iterator[Pool]:
    """The pools; those too small for a K are counted under it."""
    for pool in pools:
        short.update(k for k in ks if len(pool) < k)
        yield pool


def _kept(records: Iterator[Record], path: Path | None) -> Iterator[Record]:
    """The records, each written to the file as it passes."""
    if path is None:
        yield from records
        return
    with whole_file(path) as file:
        for record in records:
            file.write(json_text(asdict(record)).encode() + b"\n")
            yield record


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
