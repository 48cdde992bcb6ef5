"""``tracerank select``: one decision per question, as JSON Lines, JSON, CSV or Parquet."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from os import replace as rename
from pathlib import Path
from typing import Any

import click

from tracerank.cli.inputs import Inputs, undecided_problem
from tracerank.cli.options import (
    COUNT,
    choice,
    escalation_options,
    example,
    flag,
    force_option,
    inputs_options,
    method_option,
    method_options,
    option,
    output_option,
)
from tracerank.cli.output import SOME_FAILED, check_output
from tracerank.cli.record_files import check_format, finish_as
from tracerank.cli.terminal import json_text, note, print_text, working
from tracerank.errors import UsageError
from tracerank.evaluation.tally import Tally
from tracerank.methods import METHODS, EqualityName, MethodOptions, load_method, method_identity
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.readers.files.records import Problem
from tracerank.runs.process_map import ordered_map
from tracerank.runs.resumable import ResumableLines
from tracerank.votes.base import NO_ANSWER, Decision, Method, decide_stream, decision_line, with_evidence_note
from tracerank.votes.decision_table import DECISION

LOCAL = "local"
UNSURE = 0.7
"""Below this confidence ``--gaps`` looks for missing evidence unless --below is given."""


@click.command(epilog=example("tracerank select logs/ -o decisions.jsonl"))
@output_option(
    "File for the decisions (.jsonl, .json, .csv or .parquet); stdout by default. Interrupted runs resume.", prints=True
)
@method_option()
@escalation_options
@flag("--gaps", f"Also say what evidence is missing where the confidence is under --below ({UNSURE:g} by default).")
@method_options()
@inputs_options()
@option("--workers N", "Processes that decide; the output is the same.", COUNT)
@choice(
    "--engine",
    (LOCAL, "daft", "ray"),
    "What reads Parquet, decides and writes the folder -o: this command, Daft or Ray Data.",
    default=LOCAL,
)
@force_option
def select(
    output: Path | None,
    method: str,
    escalate: str | None,
    below: float | None,
    gaps: bool,
    options: MethodOptions,
    inputs: Inputs,
    workers: int | None,
    engine: str,
    force: bool,
) -> None:
    """Choose the best existing answer of every question.

    Writes one JSON object per question: the answer, the rollout (sample_id) that gave it, its confidence, the scores,
    and what docs/reference/formats.md lists. Exits with 3 if the method or its server failed on some questions.
    """
    if engine != LOCAL:
        if escalate is not None or gaps:
            raise UsageError(f"--engine {engine}: --escalate and --gaps need --engine {LOCAL}")
        _select_on_engine(engine, inputs, output, method, options, workers, force)
        return
    if output is not None:
        if output.suffix == ".gz":
            raise UsageError(f"{output}: decisions are written uncompressed; choose a name without .gz")
        check_output(output, inputs.files, force, is_resumable=True)
        check_format(output)
    unsure = (below or UNSURE) if gaps else None
    setup = _Setup(method, options, escalate, None if gaps and escalate is None else below, unsure)
    with ExitStack() as stack:
        # On the terminal that shows the decisions, progress would tear them apart.
        hides_progress = output is None and sys.stdout.isatty()
        pools, progress, problems = stack.enter_context(inputs.opened("loading", (output,), hides_progress))
        chosen = setup.load()
        if (workers or 1) > 1:
            setup.refuse_workers(chosen)
        write: Callable[[bytes], None] = _write_stdout
        summary = Summary(Tally(setup.name))
        if output is not None:
            finish = finish_as(output, DECISION) or rename
            run = {**inputs.identity(), **setup.identity}
            lines = stack.enter_context(ResumableLines(output, run, force=force, finish=finish))
            # From the first question on which a server failed, decisions are made again.
            for row in _kept(lines.kept(_is_whole), pools, output):
                summary.add(row)
            write = lines.write
        progress.describe("selecting")
        rows = ordered_map(setup, pools, workers) if workers and workers > 1 else setup.rows(chosen, pools)
        for row in rows:
            write(row.line)
            summary.add(row)
            if row.problem is not None:
                problems(row.problem)
    if not inputs.quiet:
        for line in (str(summary), *summary.tally.notes()):
            note(line)
    if (failed := summary.tally.failures("where a first decision was made, it stands")) is not None:
        note(failed)
        sys.exit(SOME_FAILED)


@dataclass(frozen=True, slots=True)
class Row:
    """The line that is written about a pool, and what the summary counts."""

    line: bytes
    decision: Decision
    """Without its scores."""
    rollouts: int
    has_evidence: bool
    dropped: Mapping[str, int]
    problem: Problem | None

    @classmethod
    def of(cls, pool: Pool, decision: Decision, line: bytes = b"") -> "Row":
        problem = None if decision.failure is None else undecided_problem(pool, decision.failure)
        has_evidence = any(rollout.has_evidence for rollout in pool.rollouts)
        dropped = Counter(drop_reasons(pool, decision.dropped))
        return cls(line, replace(decision, scores={}), len(pool), has_evidence, dropped, problem)


@dataclass(slots=True)
class _Setup:
    """Loads the method and makes rows with it; called in each worker process."""

    method: str
    options: MethodOptions
    escalate: str | None
    below: float | None
    unsure: float | None
    """The confidence below which missing evidence is looked for; None: nowhere."""
    name: str = ""
    """What the lines call the method."""

    def load(self) -> Method:
        chosen = load_method(self.method, self.options)
        self.name = chosen.name if self.method in METHODS else self.method
        if self.escalate is not None or self.below is not None:
            from tracerank.cli.escalation import EscalateOption

            chosen = EscalateOption.given(self.escalate, self.below, self.options).behind(self.method, chosen)
            self.name = f"{self.name}+{self.escalate}"
        return chosen

    def refuse_workers(self, chosen: Method) -> None:
        asks = self.options.chat is not None or self.options.equality in (EqualityName.SEMANTIC, EqualityName.LLM)
        if asks or self.escalate is not None or getattr(chosen, "encoder", None) is not None:
            raise UsageError(f"--workers: {self.method} asks a server or embeds texts, many at a time; leave it out")

    @property
    def identity(self) -> dict[str, Any]:
        other = None if self.escalate is None else method_identity(self.escalate)
        known = {"method": method_identity(self.method), "options": self.options.identity()}
        return {**known, "escalate": other, "below": self.below, "gaps": self.unsure}

    def __call__(self) -> Callable[[Iterable[Pool]], Iterator[Row]]:
        return partial(self.rows, self.load())

    def rows(self, method: Method, pools: Iterable[Pool]) -> Iterator[Row]:
        """What is written about each pool."""
        for pool, decision in decide_stream(method, pools, lambda pool, reason: None):
            decision = with_evidence_note(pool, decision)
            if self.unsure is not None and (decision.confidence is None or decision.confidence < self.unsure):
                from tracerank.evidence.gaps import gaps

                decision = replace(decision, missing=gaps(pool, decision))
            yield Row.of(pool, decision, json_text(decision_line(pool, decision, self.name)).encode() + b"\n")


def _kept(records: Iterator[dict[str, Any]], pools: Iterator[Pool], output: Path) -> Iterator[Row]:
    """What an interrupted run has decided; the pools come in the same order again and are passed over."""
    for record in records:
        pool = next(pools, None)
        if pool is None or pool.question.id != record.get("question_id"):
            raise UsageError(f"{output}.part: does not follow the order of the input; delete it and start over")
        dropped = {int(sample_id): reason for sample_id, reason in record["dropped"].items()}
        answer, sample_id, note, counts = (record[name] for name in ("answer", "sample_id", "note", "counts"))
        decision = Decision(pool.question.id, answer, sample_id, dropped=dropped, note=note, counts=counts)
        yield Row.of(pool, decision)


def _is_whole(record: Mapping[str, Any]) -> bool:
    return not (record.get("problem") or (record.get("escalated") or {}).get("problem"))


def _write_stdout(line: bytes) -> None:
    print_text(line.decode().removesuffix("\n"))


@dataclass(slots=True)
class Summary:
    """What was decided, for the last line of the command."""

    tally: Tally
    questions: int = 0
    rollouts: int = 0
    empty: int = 0
    """Questions without a candidate."""
    bare: int = 0
    """Questions of which no rollout shows evidence."""
    dropped: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)

    def add(self, row: Row) -> None:
        """Count one question."""
        self.tally.add(row.decision)
        self.questions += 1
        self.rollouts += row.rollouts
        self.empty += row.decision.answer is None and NO_ANSWER not in row.decision.counts
        self.bare += not row.has_evidence
        self.dropped.update(row.dropped)

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        dropped = f"{self.dropped.total():,} of {self.rollouts:,} rollouts dropped"
        bare = f"; {self.bare:,} questions without evidence: only the answers were compared" if self.bare else ""
        return (
            f"{self.questions:,} questions, {self.empty:,} of them without a candidate; "
            f"{dropped}{f' ({reasons})' if reasons else ''}{bare}; {time.monotonic() - self.began:.1f} s"
        )


def _select_on_engine(
    engine: str,
    inputs: Inputs,
    output: Path | None,
    method: str,
    options: MethodOptions,
    workers: int | None,
    force: bool,
) -> None:
    from tracerank.scale import DecidePools, select_on_engine

    if output is None:
        raise UsageError(f"--engine {engine} writes a folder of Parquet files; name it with -o FOLDER")
    decide = DecidePools(method, options, inputs.k, inputs.reader)
    with working("selecting", unit="parts", quiet=inputs.quiet) as progress:
        counts = select_on_engine(
            engine, inputs.files, output, decide, workers=workers, force=force, on_progress=progress.set
        )
    if not inputs.quiet:
        note(f"{counts.questions:,} questions, {counts.unanswered:,} of them without an answer")
    if counts.failed:
        note(f"{counts.failed:,} questions were not decided; their rows say why (column problem)")
        sys.exit(SOME_FAILED)
