"""``tracerank select``: one decision per question, as JSON Lines, JSON, CSV or Parquet."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from tracerank.cli.arguments import (
    AllowMismatch,
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
    FirstK,
    Force,
    Form,
    MethodChoice,
    OtherEncoder,
    ProblemsFile,
    Quiet,
    ReaderName,
    Seed,
    printed_unless_named,
)
from tracerank.cli.escalating import Escalated
from tracerank.cli.output import SOME_FAILED, ResumableLines, check_resumable, fingerprint
from tracerank.cli.reading import (
    Failures,
    Problems,
    Summary,
    alike_sentence,
    asked_sentence,
    on_engines,
    pools_of,
    unweighed_sentence,
)
from tracerank.cli.record_files import FORMATS, check_format, read_lines, write_records
from tracerank.cli.terminal import json_text, note, print_line, working
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.readers.detect import AUTO
from tracerank.readers.grouping import Report
from tracerank.selectors.table import SELECTOR, EqualityName, MethodOptions, method_named, own_options
from tracerank.votes.base import ALIKE, Method, decide_stream, decision_line, told
from tracerank.votes.decision_table import DECISION
from tracerank.votes.selector import DEFAULT
from tracerank.votes.voting import NO_CONFIDENCE

Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        callback=printed_unless_named,
        help="File for the decisions, by its end .jsonl, .json, .csv or .parquet; stdout if not given, or -. Decisions "
        "are kept in FILE.part, as JSON Lines, and become FILE at the end; after an interruption the same command goes "
        "on where it stopped.",
        show_default=False,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Processes that decide; the output is the same. Each takes a second to start. Not for methods that ask "
        "a server or embed texts.",
    ),
]


_NO_SCORES, _NO_LIST = '"scores": {}', '"score_list": []'


class _Row(NamedTuple):
    """What is written about a pool, and what the summary counts."""

    line: str
    answer: str | None
    dropped: Mapping[int, str]
    counts: Mapping[str, int]
    note: str
    problem: str | None


@on_engines
def select(
    files: Files,
    checkpoint: Checkpoint = None,
    k: FirstK = None,
    reader: ReaderName = AUTO,
    output: Output = None,
    method: MethodChoice = "selector",
    escalate: Escalate = None,
    below: Below = None,
    equality: Equality = EqualityName.EXACT,
    count_abstentions: CountAbstentions = False,
    form: Form = None,
    chat: Chat = None,
    chat_context: ChatContext = None,
    chat_tokens: ChatTokens = None,
    chat_time: ChatTime = None,
    seed: Seed = 0,
    encoder: OtherEncoder = None,
    allow_encoder_mismatch: AllowMismatch = False,
    force: Force = False,
    problems: ProblemsFile = None,
    workers: Workers = 1,
    quiet: Quiet = False,
) -> None:
    """Choose the best existing answer of every question.

    Prints one JSON object per question with the keys question_id, question, answer, sample_id, scores, dropped, group
    (sample ids whose answers count as the same), confidence, usage (tokens), note, problem (why nothing was decided),
    reply and counts (of a chat model), method, source (file and line of the chosen rollout), score_list (the scores
    again, as a list), escalated (with --escalate: who was asked, why, and what stood before) and missing (what evidence
    would settle it). answer and sample_id are null when no rollout can be chosen, sample_id and source alone when the
    answer was newly written. Where the method or its server failed on some questions the command ends with 3.
    """
    if output is not None:
        check_resumable(output, files, force)
        if output.suffix == ".gz":
            raise UsageError(f"{output}: decisions are written uncompressed; choose a name without .gz")
        check_format(output)
    summary = Summary()
    # Lines on the same terminal would tear the bar apart.
    hides_bar = quiet or (output is None and sys.stdout.isatty())
    with ExitStack() as stack:
        report = stack.enter_context(Problems(problems, keep=(*files, output)))
        failed = Failures("questions", report)
        bar = stack.enter_context(working("loading", quiet=hides_bar))
        ahead = _read_ahead(report, k) if workers > 1 else None
        pools = bar.over(pools_of(files, reader, ahead or report, k, watcher=ahead))
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
        other = None if escalate is None and below is None else Escalated.given(escalate, below, options)
        method, options = own_options(method, options)
        chosen = method_named(method, options)
        name = options.checkpoint or DEFAULT if method == SELECTOR else chosen.name
        if other is not None:
            chosen = other.behind(method, chosen)
            name = f"{name}+{other.method}"
        rows = partial(_rows, chosen, name)
        if workers > 1:
            _refuse_workers(chosen, options, method, is_escalated=other is not None)
            rows = partial(_rows_of_workers, workers, chosen, _Setup(method, options, name), ahead)
        bar.describe("selecting")
        write: Callable[[str], None] = print_line
        if output is not None:
            run = {
                "files": fingerprint(files),
                "reader": reader,
                "k": k,
                "method": method,
                "options": options.identity(),
                **({} if other is None else other.identity),
            }
            lines = stack.enter_context(ResumableLines(output, run, force, _finish_of(output)))
            # Decisions are in the order of the pools: from one that failed on they are made again, from kept replies.
            _skip(lines.done(_is_whole), pools, summary, output)
            write = lines.write_line
        unweighed = decided = alike = 0
        for pool, row in rows(pools):
            if row.problem is not None:
                failed(pool, row.problem)
            decided += 1
            unweighed += NO_CONFIDENCE in row.note
            alike += ALIKE in row.note
            write(row.line)
            summary.add(pool, row.answer, row.dropped, row.counts)
    if not quiet:
        note(str(summary))
        if unweighed:
            note(unweighed_sentence(name, unweighed, decided))
        if alike:
            note(alike_sentence(name, alike, decided))
        if asked := asked_sentence(name, summary.counts, summary.questions):
            note(asked)
    if failed.count:
        sentence = failed.sentence(name, summary.questions)
        stays = "" if other is None else "; where the first decision was made, it stays"
        note(f"{sentence}{stays}; the same command with --force tries again, and asks a server only about these")
        raise typer.Exit(SOME_FAILED)


def _rows(method: Method, name: str, pools: Iterable[Pool]) -> Iterator[tuple[Pool, _Row]]:
    """Each pool with what is written about it; ``name`` is what decided."""
    for pool, decision in decide_stream(method, pools, lambda pool, reason: None):  # told when its row is written
        line = line_text(decision_line(pool, told(pool, decision), name))
        note = decision.note or ""
        yield pool, _Row(line, decision.answer, decision.dropped, decision.counts, note, decision.failure)


def line_text(line: Mapping[str, Any]) -> str:
    """``json_text`` of a decision; the scores, which are most of it, are spelled here in a third of the time."""
    scores: Mapping[str, float] = line["scores"]
    if {*map(type, scores.values())} != {float} or not all(map(isfinite, scores.values())):
        return json_text(line)
    spelled = [(sample_id, repr(score)) for sample_id, score in scores.items()]
    by_id = ", ".join([f'"{sample_id}": {score}' for sample_id, score in spelled])
    listed = ", ".join([f'{{"sample_id": {sample_id}, "score": {score}}}' for sample_id, score in spelled])
    # No text can be taken for these: a quote in it is escaped.
    text = json_text({**line, "scores": {}, "score_list": []})
    return text.replace(_NO_SCORES, f'"scores": {{{by_id}}}', 1).replace(_NO_LIST, f'"score_list": [{listed}]', 1)


@dataclass(frozen=True, slots=True)
class _Setup:
    """What a worker needs to make rows."""

    method: str
    options: MethodOptions
    name: str

    def __call__(self) -> Callable[[list[Pool]], Iterator[_Row]]:
        return self.of(method_named(self.method, self.options))

    def of(self, chosen: Method) -> Callable[[list[Pool]], Iterator[_Row]]:
        """The same where the method is loaded."""
        return lambda pools: (row for _, row in _rows(chosen, self.name, pools))


def _read_ahead(report: Report, k: int | None) -> Any:
    from tracerank.cli.decision_workers import ReadAhead

    return ReadAhead(report, k)


def _rows_of_workers(
    count: int, chosen: Method, setup: _Setup, ahead: Any, pools: Iterable[Pool]
) -> Iterator[tuple[Pool, _Row]]:
    from tracerank.cli.decision_workers import in_workers

    return in_workers(pools, count, setup.of(chosen), setup, ahead)


def _refuse_workers(method: Method, options: MethodOptions, name: str, *, is_escalated: bool) -> None:
    """Only what decides pool by pool, and asks nobody, gives the same in any number of processes."""
    asks = is_escalated or options.chat is not None or options.equality in (EqualityName.SEMANTIC, EqualityName.LLM)
    if asks or getattr(method, "encoder", None) is not None:
        raise UsageError(f"--workers: {name} asks a server or embeds texts, many at a time; leave the option out")


def _is_whole(record: Mapping[str, Any]) -> bool:
    """Whether nothing failed on a question."""
    return not (record.get("problem") or (record.get("escalated") or {}).get("problem"))


def _finish_of(output: Path) -> Callable[[Path, Path], object] | None:
    """What makes the file of JSON Lines; None: they are it."""
    if FORMATS[output.suffix.lower()] is FORMATS[""]:
        return None
    return lambda part, path: write_records(path, read_lines(part), DECISION)


def _skip(done: Iterator[dict[str, Any]], pools: Iterator[Pool], summary: Summary, output: Path) -> None:
    """Pass over the pools that an interrupted run has decided on; they come in the same order again."""
    for record in done:
        pool = next(pools, None)
        if pool is None or pool.question.id != record.get("question_id"):
            raise UsageError(f"{output}.part: does not follow the order of the input; delete it and start over")
        dropped = {int(sample_id): reason for sample_id, reason in record["dropped"].items()}
        summary.add(pool, record["answer"], dropped, record.get("counts", {}))
