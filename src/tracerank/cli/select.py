"""``tracerank select``: one decision per question, as JSON Lines, JSON, CSV or Parquet."""

import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import SOME_FAILED, Inputs, check_output
from tracerank.cli.record_files import check_format, finish_decisions
from tracerank.cli.terminal import Rows, json_text, note, print_json, working
from tracerank.errors import UsageError
from tracerank.evaluation.tally import Tally
from tracerank.evidence.level import read_ahead
from tracerank.methods import EQUALITIES, EVIDENCE, MethodOptions, is_fitted
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.reports.comparison import Comparison, compare_reports
from tracerank.reports.deciding import is_of_reports
from tracerank.reports.digest import digest
from tracerank.runs.atomic import whole_file
from tracerank.runs.resumable import ResumableLines
from tracerank.selecting import Selection, kept_decisions
from tracerank.votes.agents import AgentTally, Reliabilities
from tracerank.votes.base import NO_ANSWER, Decision, decision_line
from tracerank.votes.missing import UNSURE

LOCAL = "local"
HEADS = ("question", "answer", "agreement", "confidence", "note")
"""Of the table on a terminal; agreement: answers that mean the same, of all candidates."""


@click.command(epilog=opt.example("tracerank select logs/ -o decisions.jsonl"))
@opt.output_option(
    "File for the decisions (.jsonl, .json, .csv or .parquet); stdout by default. Interrupted runs resume.", prints=True
)
@opt.method_option()
@opt.escalation_options
@opt.flag("--gaps", f"Also say what evidence is missing where the confidence is under --below ({UNSURE:g} by default).")
@opt.option(
    "--claims FILE.md",
    "Also write a digest of the questions with long answers: what is contested, what the chosen one lacks.",
    opt.PATH,
)
@opt.flag(
    "--weigh-agents",
    "Decide by a vote by meaning that weighs agents by how much they agree, where the pools can tell. With 20 labelled "
    "questions, fit --by-agent is better.",
)
@opt.method_options()
@opt.inputs_options()
@opt.option("--workers N", "Processes that decide; the output is the same.", opt.COUNT)
@opt.choice(
    "--engine",
    (LOCAL, "daft", "ray"),
    "What reads Parquet, decides and writes the folder -o: this command, Daft or Ray Data.",
    default=LOCAL,
)
@opt.force_option
def select(
    output: Path | None,
    method: str,
    escalate: str | None,
    below: float | None,
    gaps: bool,
    claims: Path | None,
    weigh_agents: bool,
    options: MethodOptions,
    inputs: Inputs,
    workers: int | None,
    engine: str,
    force: bool,
) -> None:
    """Choose the best existing answer of every question.

    Prints a table on a terminal. Into a file or a pipe goes one JSON object per question: the answer, the rollout
    (sample_id) that gave it, its confidence, the scores, and what docs/reference/formats.md lists. Exits with 3 if the
    method or its server failed on some questions.
    """
    if below is not None and escalate is None and not gaps:
        raise UsageError(opt.BELOW_ALONE)
    if options.equality != EQUALITIES[0] and escalate is None and is_fitted(method):
        raise UsageError(f"--equality is for votes, such as --method majority; {method} compares answers by itself")
    if engine != LOCAL:
        if escalate is not None or gaps or weigh_agents or claims is not None:
            wanted = "--escalate, --gaps, --weigh-agents and --claims"
            raise UsageError(f"--engine {engine}: {wanted} need --engine {LOCAL}")
        _select_on_engine(engine, inputs, output, method, options, workers, force)
        return
    if weigh_agents and (method != EVIDENCE or escalate is not None):
        raise UsageError("--weigh-agents is a method of its own; leave out --method and --escalate")
    if output is not None:
        check_output(output, inputs.files, force, is_resumable=True)
        check_format(output)
    if claims is not None:
        check_output(claims, inputs.files, force)
    agents = _agents(inputs) if weigh_agents else None
    selection = Selection(
        method, options, escalate, below if escalate else None, (below or UNSURE) if gaps else None, agents
    )
    # On the terminal that shows the decisions, progress would tear them apart.
    is_table = hides_progress = output is None and sys.stdout.isatty()
    with ExitStack() as stack:
        pools, progress, problems = stack.enter_context(inputs.opened("loading", (output,), hides_progress))
        level, pools = read_ahead(pools)
        selection = replace(selection, level=level)
        loaded, lines = selection.load(), None
        if (workers or 1) > 1:
            selection.refuse_workers()
        summary = Summary(Tally(loaded.name))
        digests = None if claims is None else Digests(stack.enter_context(whole_file(claims)))
        if output is not None:
            run = {**inputs.identity(), **selection.identity()}
            lines = stack.enter_context(ResumableLines(output, run, force=force, finish=finish_decisions))
            for pool, decision in kept_decisions(lines, pools):
                summary.add(pool, decision)
                if digests is not None:
                    digests.add_kept(pool, decision)
        progress.describe("selecting")
        table, has_confidence = Rows(HEADS, texts=(0, 1), last=4) if is_table else None, False
        for pool, decision in selection.decided(loaded, pools, workers or 1):
            record = decision_line(pool, decision, loaded.name)
            if table is not None:
                table.add(_row(pool, decision))
                has_confidence |= decision.confidence is not None
            elif lines is None:
                print_json(record)
            else:
                lines.write(json_text(record).encode() + b"\n")
            summary.add(pool, decision)
            if digests is not None:
                digests.add(decision)
            if decision.failure is not None:
                problems.undecided(pool, decision.failure)
    if digests is not None and not digests.count:
        note(f"{claims}: no question has long answers, so it is empty")
    if not inputs.quiet:
        for line in (str(summary), *summary.tally.notes()):
            note(line)
        if table is not None and not has_confidence:
            note("no confidence: it takes ten questions or more, or a selector fitted on labels")
    if (failed := summary.tally.failures("where a first decision was made, it stands")) is not None:
        note(failed)
        sys.exit(SOME_FAILED)


def _row(pool: Pool, decision: Decision) -> tuple[str, ...]:
    """What a terminal shows of a decision."""
    return (
        pool.question.text,
        decision.answer or "no answer",
        f"{len(decision.group)} of {len(decision.scores)}" if decision.group else "",
        "" if decision.confidence is None else f"{decision.confidence:.0%}",
        decision.problem or decision.note or "",
    )


def _agents(inputs: Inputs) -> Reliabilities | None:
    """How reliable each agent is, estimated from all pools; None: they cannot tell, which is noted."""
    tally = AgentTally()
    with working("comparing agents", quiet=inputs.quiet) as progress:
        for pool in progress.over(inputs.pools(lambda problem: None)):
            tally.add(pool)
    if (objection := tally.objection()) is not None:
        note(f"warning: agents are not weighed: {objection}; {EVIDENCE} decides")
        return None
    found = tally.estimated()
    if not inputs.quiet:
        ordered = sorted(found.values, key=lambda name: (-found.weight(name), name))
        note(f"weights of agents: {', '.join(f'{name} {found.weight(name):.2f}' for name in ordered)}")
    return found


@dataclass(slots=True)
class Summary:
    """What was decided, for the last line of the command."""

    tally: Tally
    rollouts: int = 0
    empty: int = 0
    """Questions without a candidate."""
    bare: int = 0
    """Questions of which no rollout shows evidence."""
    long: int = 0
    """Questions whose answers were compared as reports."""
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, pool: Pool, decision: Decision) -> None:
        """Count one question."""
        self.tally.add(decision)
        self.rollouts += len(pool)
        self.empty += decision.answer is None and NO_ANSWER not in decision.counts
        self.long += is_of_reports(decision)
        self.bare += not any(rollout.has_evidence for rollout in pool.rollouts)
        self.dropped.update(drop_reasons(pool, decision.dropped))

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        dropped = f"{self.dropped.total():,} of {self.rollouts:,} rollouts dropped{f' ({reasons})' if reasons else ''}"
        bare = f"; {self.bare:,} questions without evidence: decided by votes" if self.bare else ""
        long = f"; {self.long:,} with long answers, compared as reports and without a confidence" if self.long else ""
        return f"{self.tally.decided:,} questions, {self.empty:,} of them without a candidate; {dropped}{bare}{long}"


@dataclass(slots=True)
class Digests:
    """The file of ``--claims``: a digest of each question with long answers."""

    file: BinaryIO
    count: int = 0

    def add(self, decision: Decision) -> None:
        """A decision that was made now."""
        if isinstance(decision.claims, Comparison):
            self._write(decision.claims)

    def add_kept(self, pool: Pool, decision: Decision) -> None:
        """A decision of an interrupted run, whose claims are not at hand."""
        if is_of_reports(decision):
            self._write(compare_reports(pool.question.text, pool))

    def _write(self, compared: Comparison) -> None:
        self.file.write(("\n\n" * (self.count > 0) + digest(compared)).encode("utf-8", "backslashreplace"))
        self.count += 1


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
    if counts.problems:
        note(f"{counts.problems:,} rows could not be used; {output}/problems-*.jsonl say why")
    if not inputs.quiet:
        note(f"{counts.questions:,} questions, {counts.unanswered:,} of them without an answer")
    if counts.failed:
        note(f"{counts.failed:,} questions were not decided; their rows say why (column problem)")
        sys.exit(SOME_FAILED)
