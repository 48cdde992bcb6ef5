"""``tracerank lab rollout``: K rollouts a question, by an agent without a language model or by a chat endpoint."""

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from tracerank.cli.inputs import SOME_FAILED, Problems, check_output
from tracerank.cli.options import (
    COUNT,
    PATH,
    SHARE,
    choice,
    example,
    flag,
    force_option,
    json_option,
    option,
    output_option,
    problems_option,
    quiet_option,
    seed_option,
)
from tracerank.cli.terminal import note, print_json, working
from tracerank.lab.chat.policy import DEFAULT_LIMITS
from tracerank.lab.policies import CONCURRENCY, EXPECTED, STYLES, TEMPERATURE, ChatOptions, PolicyChoice
from tracerank.lab.run import PolicyRun, Tally, write_in_order
from tracerank.pools.pool import PAPER_K
from tracerank.readers.question_files import read_questions
from tracerank.runs.atomic import line_of
from tracerank.runs.resumable import ResumableLines

EXAMPLE = "tracerank lab rollout questions.jsonl --corpus index/ --policy lexical:base -o pools.jsonl"


@click.command(epilog=example(EXAMPLE))
@click.argument("files", metavar="QUESTIONS...", type=PATH, nargs=-1, required=True)
@output_option("File for the pools; gzip if it ends with .gz. Interrupted runs resume.", required=True)
@option("--policy NAME", f"The agent: {EXPECTED}.", required=True)
@option("--corpus INDEX", "Index to search, made by corpus build.", PATH)
@option("--retriever URL", "Search-R1 style server to search instead of an index.")
@option("-k K", "Rollouts per question.", COUNT, default=PAPER_K)
@seed_option("Another seed samples other rollouts.")
@option("--workers N", "Processes of a lexical agent; the output is the same.", COUNT, default=1)
@choice("--style", STYLES, "How a chat agent searches; tags by default.")
@option("--temperature T", f"Of a chat agent's replies; {TEMPERATURE:g} by default.", click.FloatRange(0))
@option("--top-p P", "Of a chat agent's replies.", SHARE)
@option("--max-turns N", f"Most replies of a chat agent; {DEFAULT_LIMITS.turns} by default.", COUNT)
@option("--max-tokens N", f"Most tokens of a reply; {DEFAULT_LIMITS.reply_tokens:,} by default.", COUNT)
@option("--concurrency N", f"Rollouts of a chat agent under way at once; {CONCURRENCY} by default.", COUNT)
@option("--chat-context N", "Tokens that the chat model holds.", click.IntRange(512))
@option("--chat-time S", "Seconds that a reply of the chat model may take; 3600 by default.")
@flag("--keep-failed", "Leave rollouts on which a server failed before as they are.")
@force_option
@problems_option
@json_option
@quiet_option
def rollout(
    files: tuple[Path, ...],
    output: Path,
    policy: str,
    corpus: Path | None,
    retriever: str | None,
    k: int,
    seed: int,
    workers: int,
    keep_failed: bool,
    force: bool,
    problems: Path | None,
    as_json: bool,
    quiet: bool,
    **chat: Any,
) -> None:
    """Sample K rollouts of every question and write them as pools.

    Files of questions: JSON Lines, JSON, Parquet, or text with one question a line. A lexical agent needs no language
    model; a chat agent asks any OpenAI-compatible server, with the key in TRACERANK_API_KEY. If a server fails on some
    rollouts, the command exits with 3; the same command makes only these again.
    """
    check_output(output, files, force, is_resumable=True)
    agent = PolicyChoice(policy, corpus, retriever, ChatOptions(**chat))
    with Problems(problems, (*files, output)) as report:
        questions = tuple(read_questions(files, report))
    with ExitStack() as stack:
        run = stack.enter_context(PolicyRun(agent, questions, k, seed, workers, keep_failed))
        finish = partial(write_in_order, questions=questions)
        lines = stack.enter_context(ResumableLines(output, run.identity(), force=force, finish=finish))
        progress = stack.enter_context(working("sampling", "rollouts", len(questions) * k, quiet))
        progress.skip(run.take_up(lines.kept()))
        for record in run.records():
            lines.write(line_of(record))
            progress.advance()
            progress.describe(_brief(run.tally))
        lines.keep_part = run.tally.failed > 0 and not keep_failed
    if as_json:
        print_json({"questions": len(questions), **run.tally.record(), "output": str(output)}, indent=2)
    elif not quiet:
        note(f"{_summary(len(questions), run.tally)}; written to {output}")
    if failed := run.tally.failed:
        note(f"{failed:,} of {len(questions) * k:,} rollouts failed, the first because {run.tally.first_failure}")
        if not keep_failed:
            note("the same command tries only these again; with --keep-failed it leaves them as they are")
        sys.exit(SOME_FAILED)


def _brief(tally: Tally) -> str:
    pace = (
        f"{tally.tokens / max(tally.seconds, 1e-9):,.0f} tokens"
        if tally.tokens
        else f"{tally.rollouts_per_second:,.1f}"
    )
    failed = f", {tally.failed:,} failed" if tally.failed else ""
    return f"{pace}/s, {tally.answered:,} answered, {tally.empty:,} empty{failed}"


def _summary(questions: int, tally: Tally) -> str:
    parts = [
        f"{questions:,} questions, {tally.rollouts:,} rollouts"
        + (f" ({tally.resumed:,} of them from before)" if tally.resumed else ""),
        f"{tally.answered:,} answered, {tally.empty:,} empty, {tally.without_search:,} without a search"
        + (f", {tally.failed:,} failed" if tally.failed else ""),
    ]
    if tally.thought_in_vain:
        parts.append(f"{tally.thought_in_vain:,} used up --max-tokens before they said anything")
    if tally.accuracy is not None:
        parts.append(f"single accuracy {tally.accuracy:.3f}")
    if (usage := tally.usage) is not None:
        parts.append(f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens")
    pace = f"{tally.rollouts_per_second:,.1f}" if tally.rollouts_per_second >= 1 else f"{tally.rollouts_per_second:.2g}"
    parts.append(f"{tally.seconds:.1f} s, {pace} rollouts/s")
    return "; ".join(parts)
