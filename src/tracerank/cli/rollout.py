"""``tracerank rollout``: K rollouts a question, by an agent that needs no language model or by any chat endpoint."""

from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tracerank.cli.arguments import ChatTime, Force, ProblemsFile, Quiet, written_place
from tracerank.cli.corpus import Rerank
from tracerank.cli.output import SOME_FAILED, ResumableLines, check_resumable
from tracerank.cli.reading import Problems
from tracerank.cli.terminal import note, print_json, working
from tracerank.lab.chat.policy import DEFAULT_LIMITS
from tracerank.lab.policies import (
    BROWSER,
    CONCURRENCY,
    EXPECTED,
    TAGS,
    TEMPERATURE,
    TOOLS,
    ChatOptions,
    PolicyChoice,
    Sources,
)
from tracerank.lab.run import PolicyRun, RunAccount, RunPlan, write_in_order
from tracerank.pools.pool import PAPER_K
from tracerank.readers.question_files import read_questions


class StyleName(StrEnum):
    """What ``--style`` takes."""

    TAGS = TAGS
    TOOLS = TOOLS
    BROWSER = BROWSER


QuestionFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="QUESTIONS",
        help="Files of questions: JSON Lines, JSON, Parquet, or plain text with one question a line; also gzip. "
        "An object has question (or query, text, prompt) and perhaps id, answers and dataset.",
        show_default=False,
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        callback=written_place,
        help="File for the pools; gzip if it ends with .gz. Rollouts are saved in FILE.part as they are made; after an "
        "interruption the same command goes on where it stopped, and tries again what failed.",
        show_default=False,
    ),
]
PolicyName = Annotated[
    str, typer.Option("--policy", metavar="NAME", help=f"The agent: {EXPECTED}.", show_default=False)
]
Index = Annotated[
    Path | None,
    typer.Option("--corpus", metavar="INDEX", help="Index to search, made by corpus build.", show_default=False),
]
RetrieverUrl = Annotated[
    str | None,
    typer.Option(
        "--retriever", metavar="URL", help="Search-R1 style server to search instead of an index.", show_default=False
    ),
]
Count = Annotated[int, typer.Option("-k", metavar="K", min=1, help="Rollouts a question.")]
Seed = Annotated[int, typer.Option("--seed", metavar="S", min=0, help="Another seed samples other rollouts.")]
Jobs = Annotated[
    int, typer.Option("--jobs", metavar="N", min=1, help="Processes of a lexical agent; the file is the same for any.")
]
Style = Annotated[
    StyleName | None,
    typer.Option(
        "--style",
        metavar="NAME",
        help="How a chat agent searches: tags (Search-R1's, the default), tools (a search function) or browser "
        "(search, open and find functions).",
        show_default=False,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="T",
        min=0.0,
        help=f"Of a chat agent's replies; {TEMPERATURE:g} if not given.",
        show_default=False,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        metavar="P",
        min=0.0,
        max=1.0,
        help="Of a chat agent's replies; the server's own if not given.",
        show_default=False,
    ),
]
MaxTurns = Annotated[
    int | None,
    typer.Option(
        "--max-turns",
        metavar="N",
        min=1,
        help=f"Most replies of a chat agent before it must answer; {DEFAULT_LIMITS.turns} if not given.",
        show_default=False,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=1,
        help=f"Most tokens of one reply, thinking included; {DEFAULT_LIMITS.reply_tokens:,} if not given.",
        show_default=False,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        help=f"Rollouts of a chat agent under way at once; {CONCURRENCY} if not given.",
        show_default=False,
    ),
]
ChatContext = Annotated[
    int | None,
    typer.Option(
        "--chat-context",
        metavar="N",
        min=512,
        help="Tokens that the chat agent's model holds; replies, returns and conversation are kept within it.",
        show_default=False,
    ),
]
KeepFailed = Annotated[
    bool,
    typer.Option("--keep-failed", help="Leave rollouts on which a server failed before as they are."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON, unrounded.")]


def rollout(
    questions: QuestionFiles,
    output: Output,
    policy: PolicyName,
    corpus: Index = None,
    retriever: RetrieverUrl = None,
    rerank: Rerank = None,
    k: Count = PAPER_K,
    seed: Seed = 0,
    jobs: Jobs = 1,
    style: Style = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_turns: MaxTurns = None,
    max_tokens: MaxTokens = None,
    concurrency: Concurrency = None,
    chat_context: ChatContext = None,
    chat_time: ChatTime = None,
    keep_failed: KeepFailed = False,
    force: Force = False,
    problems: ProblemsFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Sample K rollouts of every question and write them as pools.

    A lexical agent (base, sft or rl, from noisy to steady) needs no language model; a chat agent asks any
    OpenAI-compatible server, with the key in TRACERANK_API_KEY. Rollouts get labels where the file has answers. A
    rollout on which a server fails is written with the reason and costs only itself; the command then ends with 3, and
    given again it makes only what failed.
    """
    check_resumable(output, questions, force)
    options = ChatOptions(
        None if style is None else str(style),
        temperature,
        top_p,
        max_turns,
        max_tokens,
        concurrency,
        chat_context,
        chat_time,
    )
    choice = PolicyChoice(policy, Sources(corpus, retriever, rerank), options)
    with Problems(problems, keep=(*questions, output)) as report:
        asked = tuple(read_questions(questions, report))
    plan = RunPlan(choice, asked, k, seed, jobs, keep_failed)
    with ExitStack() as stack:
        run = stack.enter_context(PolicyRun(plan))
        finish = partial(write_in_order, questions=asked)
        lines = stack.enter_context(ResumableLines(output, run.identity(), force, finish))
        bar = stack.enter_context(working("sampling", "rollouts", plan.rollouts, quiet))
        bar.advance(run.take_up(lines.done()))
        for record in run.records():
            lines.write(record)
            bar.advance()
            bar.describe(_brief(run.account))
        lines.stays = run.account.tally.failed > 0 and not keep_failed
    if as_json:
        print_json({**run.account.record(), "output": str(output)}, indent=2)
    elif not quiet:
        note(f"{_summary(run.account)}; written to {output}")
    if failed := run.account.tally.failed:
        note(f"{failed:,} of {plan.rollouts:,} rollouts failed, the first because {run.account.tally.first_failure}")
        if not keep_failed:
            note("the same command tries only these again; with --keep-failed it leaves them as they are")
        raise typer.Exit(SOME_FAILED)


def _brief(account: RunAccount) -> str:
    """For the bar."""
    tally = account.tally
    pace = f"{account.tokens / max(account.seconds, 1e-9):,.0f} tokens" if account.tokens else f"{account.speed:,.1f}"
    failed = f", {tally.failed:,} failed" if tally.failed else ""
    return f"{pace}/s, {tally.answered:,} answered, {tally.empty:,} empty{failed}"


def _summary(account: RunAccount) -> str:
    tally = account.tally
    parts = [
        f"{account.questions:,} questions, {tally.rollouts:,} rollouts"
        + (f" ({account.resumed:,} of them from before)" if account.resumed else ""),
        f"{tally.answered:,} answered, {tally.empty:,} empty, {tally.without_search:,} without a search"
        + (f", {tally.failed:,} failed" if tally.failed else ""),
    ]
    if tally.thought_in_vain:
        parts.append(f"{tally.thought_in_vain:,} used up --max-tokens before they said anything")
    if tally.accuracy is not None:
        parts.append(f"single accuracy {tally.accuracy:.3f}")
    if (usage := tally.usage) is not None:
        parts.append(f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens")
    pace = f"{account.speed:,.1f}" if account.speed >= 1 else f"{account.speed:.2g}"
    parts.append(f"{account.seconds:.1f} s, {pace} rollouts/s")
    return "; ".join(parts)
