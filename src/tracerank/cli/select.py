"""``tracerank select``: one decision per question, as JSON Lines, JSON, CSV or Parquet."""

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import SOME_FAILED, Inputs, check_output
from tracerank.cli.terminal import Rows, json_text, note, print_json, working
from tracerank.errors import UsageError
from tracerank.votes.missing import UNSURE

if TYPE_CHECKING:  # what takes longer to import than --help may take
    from tracerank.methods import MethodOptions
    from tracerank.pools.pool import Pool
    from tracerank.votes.agents import Reliabilities
    from tracerank.votes.base import Decision

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
    "Decide by a vote by meaning that weighs agents by how much they agree, where the pools show it. With 20 labelled "
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
    options: "MethodOptions",
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
    from tracerank.cli.record_files import check_format, finish_decisions
    from tracerank.evidence.level import read_ahead
    from tracerank.methods import EQUALITIES, EVIDENCE, is_fitted
    from tracerank.runs.atomic import whole_file
    from tracerank.runs.resumable import ResumableLines
    from tracerank.selecting import Digests, Selection, Summary, kept_decisions
    from tracerank.votes.base import decision_line

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
        summary = Summary.of(loaded)
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


def _row(pool: "Pool", decision: "Decision") -> tuple[str, ...]:
    """What a terminal shows of a decision."""
    return (
        pool.question.text,
        decision.answer or "no answer",
        f"{len(decision.group)} of {len(decision.scores)}" if decision.group else "",
        "" if decision.confidence is None else f"{decision.confidence:.0%}",
        decision.problem or decision.note or "",
    )


def _agents(inputs: Inputs) -> "Reliabilities | None":
    """How reliable each agent is, estimated from all pools; None: the pools do not show it, which is noted."""
    from tracerank.methods import EVIDENCE
    from tracerank.votes.agents import AgentTally

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


def _select_on_engine(
    engine: str,
    inputs: Inputs,
    output: Path | None,
    method: str,
    options: "MethodOptions",
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
