"""``tracerank convert`` and ``tracerank export``: pools written in another form, for us or for other tools."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracerank.cli.arguments import (
    AsJson,
    Checkpoint,
    Files,
    FirstK,
    Force,
    ProblemsFile,
    Quiet,
    ReaderName,
    written_place,
)
from tracerank.cli.output import ResumableLines, check_lines, check_output, check_resumable, fingerprint
from tracerank.cli.reading import Problems, pools_of, reads
from tracerank.cli.terminal import note, print_json, working
from tracerank.errors import UsageError
from tracerank.pools.atif_export import rollout_to_trajectory
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.readers.files.joining import ScatteredRollout
from tracerank.readers.files.records import Problem
from tracerank.readers.grouping import Report, ScatteredPool
from tracerank.runs.atomic import line_of, packed, whole_file
from tracerank.selectors.table import METHOD_NAMES, MethodOptions, method_named

if TYPE_CHECKING:
    from tracerank.lab.sft import ExportTally

DEFAULT_METHOD = "selector"


class FormatName(StrEnum):
    """What ``--to`` takes."""

    CANONICAL = "canonical"
    ATIF = "atif"


class KeepName(StrEnum):
    """What ``--keep`` takes."""

    CORRECT = "correct"
    SELECTED = "selected"


class RebuildName(StrEnum):
    """What ``--style`` takes."""

    TOOLS = "tools"
    TAGS = "tags"


Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        callback=written_place,
        help="File to write; gzip if it ends with .gz.",
        show_default=False,
    ),
]
To = Annotated[FormatName, typer.Option("--to", metavar="NAME", help="Format to write: canonical or atif.")]
Keep = Annotated[
    KeepName,
    typer.Option(
        "--keep",
        metavar="NAME",
        help="Which rollouts: correct (label 1) or selected (what --method selects, then those with the same answer).",
    ),
]
MethodChoice = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"What selects, beside --keep selected: {', '.join(METHOD_NAMES)}; {DEFAULT_METHOD} if not given.",
        show_default=False,
    ),
]
PerQuestion = Annotated[
    int,
    typer.Option(
        "--per-question",
        metavar="N",
        min=1,
        help="Most conversations of a question; those without failed calls first, then those with the fewest searches.",
    ),
]
Style = Annotated[
    RebuildName,
    typer.Option(
        "--style",
        metavar="NAME",
        help="How conversations that were not kept are rebuilt: tools (function calls) or tags.",
    ),
]


def convert(
    files: Files,
    output: Output,
    to: To = FormatName.CANONICAL,
    reader: ReaderName = AUTO,
    force: Force = False,
    problems: ProblemsFile = None,
    quiet: Quiet = False,
) -> None:
    """Bring rollouts of any known format into the canonical one or into ATIF, grouped by question.

    Streams, and goes on where an interrupted run stopped. Where the rollouts of a question stand far from each other,
    it begins again and holds everything in memory. Nothing readable is left out: rollouts that could never be chosen
    keep their place.
    """
    check_resumable(output, files, force)
    check_lines(output)
    record_of = rollout_to_trajectory if to is FormatName.ATIF else rollout_to_record
    run = {"files": fingerprint(files), "reader": reader, "to": str(to)}
    met = Counter[str]()

    def blocks(pools: Iterable[Pool]) -> Iterator[bytes]:
        met.clear()
        for pool in pools:
            met.update(questions=1, rollouts=len(pool.rollouts))
            yield b"".join(line_of(record_of(pool.question, one)) for one in pool.rollouts)

    with (
        Problems(problems, keep=(*files, output)) as report,
        working("converting", quiet=quiet) as bar,
        ResumableLines(output, run, force, _compressed if output.suffix == ".gz" else None) as lines,
    ):
        told = _Once(report)
        try:
            lines.follow(blocks(bar.over(pools_of(files, reader, told))))
        except (ScatteredPool, ScatteredRollout):
            bar.describe("reading everything: rollouts of a question stand far from each other")
            lines.follow(blocks(bar.over(pools_of(files, reader, told, is_grouped=False))))
    if not quiet:
        asked = f"{met['questions']:,} questions, {met['rollouts']:,} rollouts"
        note(f"{asked}, {report.count:,} problems; written to {output}")


class _Once:
    """Reports each problem once, though everything is read twice."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told: set[Problem] = set()

    def __call__(self, problem: Problem) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self._report(problem)


def _compressed(part: Path, path: Path) -> None:
    with open(part, "rb") as lines, whole_file(path) as file, packed(path, file) as target:
        shutil.copyfileobj(lines, target)


export = typer.Typer(no_args_is_help=True, help="Write rollouts as data for other tools.")


@export.callback()
def _group() -> None:
    """Keeps ``sft`` a word of its own while it is the only command."""


@export.command(epilog="Example:\n\ntracerank export sft pools.jsonl -o train.jsonl --per-question 2")
@reads
def sft(
    files: Files,
    output: Output,
    keep: Keep = KeepName.CORRECT,
    method: MethodChoice = None,
    checkpoint: Checkpoint = None,
    per_question: PerQuestion = 1,
    style: Style = RebuildName.TOOLS,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    force: Force = False,
    problems: ProblemsFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write successful rollouts as conversations to train a chat model on (rejection sampling).

    One JSON object a line: messages, tools if any are called, question_id, sample_id and the reason why the rollout
    was kept. Conversations that were kept are written verbatim.
    """
    from tracerank.lab.sft import correct_examples, selected_examples, write_examples

    if keep is KeepName.CORRECT and (method or checkpoint):
        raise UsageError("--method and --checkpoint are of use only beside --keep selected")
    check_output(output, files, force)
    check_lines(output)
    with Problems(problems, keep=(*files, output)) as report, working("exporting", quiet=quiet) as bar:
        pools = bar.over(pools_of(files, reader, report, k))
        if keep is KeepName.CORRECT:
            made = correct_examples(pools, str(style), per_question)
        else:
            chosen = method_named(method or DEFAULT_METHOD, MethodOptions(checkpoint))
            made = selected_examples(pools, chosen, str(style), per_question)
        tally = write_examples(output, made)
    if as_json:
        print_json(asdict(tally), indent=2)
    elif not quiet:
        note(f"{_summary(tally)}; written to {output}")


def _summary(tally: "ExportTally") -> str:
    lost = f"; {tally.lost:,} rollouts whose conversation cannot be rebuilt" if tally.lost else ""
    return (
        f"{tally.conversations:,} conversations of {tally.questions - tally.without:,} questions, "
        f"{tally.rebuilt:,} of them rebuilt; {tally.without:,} questions without one{lost}"
    )
