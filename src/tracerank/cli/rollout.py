"""``tracerank rollout``: K rollouts a question, by an agent that needs no language model or by any chat endpoint."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tracerank.agents.chat.policy import DEFAULT_LIMITS
from tracerank.agents.questions import digest_of, read_questions
from tracerank.agents.sample import (
    Policy,
    Samples,
    Tally,
    Task,
    in_order,
    sample,
    sample_in_processes,
    sample_in_threads,
    tasks_left,
)
from tracerank.cli.arguments import Force, ProblemsFile, Quiet
from tracerank.cli.corpus import Rerank
from tracerank.cli.output import ResumableLines, check_output
from tracerank.cli.policies import (
    CONCURRENCY,
    EXPECTED,
    TEMPERATURE,
    ChatOptions,
    PolicyChoice,
    Sources,
    StyleName,
)
from tracerank.cli.problems import Problems
from tracerank.cli.progress import working
from tracerank.cli.terminal import note, print_json
from tracerank.errors import UsageError
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.files import write_lines
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import Question

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
        help="File for the pools; gzip if it ends with .gz. Rollouts are saved in FILE.part as they are made; after an "
        "interruption the same command goes on where it stopped.",
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
        help=f"Most tokens of one reply; {DEFAULT_LIMITS.reply_tokens:,} if not given.",
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
    force: Force = False,
    problems: ProblemsFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Sample K rollouts of every question and write them as pools.

    A lexical agent (base, sft or rl, from noisy to steady) needs no language model; a chat agent asks any
    OpenAI-compatible server, with the key in TRACERANK_API_KEY. Rollouts get labels where the file has answers.
    """
    check_output(output, questions, force)
    options = ChatOptions(style, temperature, top_p, max_turns, max_tokens, concurrency)
    choice = PolicyChoice(policy, Sources(corpus, retriever, rerank), options)
    if choice.is_chat and jobs > 1:
        raise UsageError("--jobs is for lexical agents; --concurrency says how many chat rollouts are under way")
    with Problems(problems, keep=(*questions, output)) as report:
        asked = read_questions(questions, report)
    progress = _Progress(len(asked), output)
    with ExitStack() as stack:
        agent = stack.enter_context(choice.opened())
        run = {"policy": agent.name, **choice.sources.identity(), "k": k, "seed": seed, "questions": digest_of(asked)}
        lines = stack.enter_context(ResumableLines(output, run, force, partial(_write_in_order, questions=asked)))
        done = set(progress.resumed(lines.done()))
        bar = stack.enter_context(working("sampling", unit="rollouts", total=len(asked) * k, quiet=quiet))
        bar.advance(len(done))
        made = stack.enter_context(closing(_sampled(choice, agent, tasks_left(asked, k, done), seed, jobs)))
        for one in made:
            lines.write(rollout_to_record(one.question, one.rollout))
            progress.tally.add(one.rollout)
            bar.advance()
            bar.describe(progress.brief())
    if as_json:
        print_json(progress.record(), indent=2)
    elif not quiet:
        note(str(progress))


def _sampled(choice: PolicyChoice, agent: Policy, tasks: Iterator[Task], seed: int, jobs: int) -> Samples:
    if choice.is_chat:
        return sample_in_threads(agent, tasks, seed, choice.concurrency)
    return sample(agent, tasks, seed) if jobs == 1 else sample_in_processes(choice.load_lexical, tasks, seed, jobs)


def _write_in_order(part: Path, path: Path, questions: Sequence[Question]) -> None:
    """The final file: questions in their order, a question's rollouts together, whichever was finished first."""
    keys: list[tuple[str, int]] = []
    starts = [0]
    with open(part, "rb") as file:
        for line in file:
            record = json.loads(line)
            keys.append((record["question_id"], record["sample_id"]))
            starts.append(starts[-1] + len(line))

    def records() -> Iterator[dict[str, Any]]:
        with open(part, "rb") as file:
            for place in in_order(keys, questions):
                file.seek(starts[place])
                yield json.loads(file.readline())

    write_lines(path, records())


class _Progress:
    """What has been made, in words and figures."""

    def __init__(self, questions: int, output: Path) -> None:
        self.tally = Tally()
        self._questions = questions
        self._output = output
        self._resumed = 0
        self._began = time.monotonic()

    def resumed(self, done: Iterator[dict[str, Any]]) -> Iterator[tuple[str, int]]:
        """Counts what an interrupted run has left; the question and sample ids of it."""
        for record in done:
            row = record_to_parsed(record)
            self.tally.add(row.rollout)
            self._resumed += 1
            yield row.question.id, row.rollout.sample_id

    def brief(self) -> str:
        return f"{self._speed():,.1f}/s, {self.tally.answered:,} answered, {self.tally.empty:,} empty"

    def record(self) -> dict[str, Any]:
        tally = self.tally
        usage = tally.usage
        return {
            "questions": self._questions,
            "rollouts": tally.rollouts,
            "resumed": self._resumed,
            "answered": tally.answered,
            "empty": tally.empty,
            "without_search": tally.without_search,
            "labelled": tally.labelled,
            "accuracy": tally.accuracy,
            "prompt_tokens": None if usage is None else usage.prompt_tokens,
            "completion_tokens": None if usage is None else usage.completion_tokens,
            "calls": None if usage is None else usage.calls,
            "seconds": time.monotonic() - self._began,
            "rollouts_per_second": self._speed(),
            "output": str(self._output),
        }

    def __str__(self) -> str:
        tally = self.tally
        parts = [
            f"{self._questions:,} questions, {tally.rollouts:,} rollouts"
            + (f" ({self._resumed:,} of them from before)" if self._resumed else ""),
            f"{tally.answered:,} answered, {tally.empty:,} empty, {tally.without_search:,} without a search",
        ]
        if tally.accuracy is not None:
            parts.append(f"single accuracy {tally.accuracy:.3f}")
        if (usage := tally.usage) is not None:
            parts.append(f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens")
        parts.append(f"{time.monotonic() - self._began:.1f} s, {self._speed():,.1f} rollouts/s")
        return f"{'; '.join(parts)}; written to {self._output}"

    def _speed(self) -> float:
        return (self.tally.rollouts - self._resumed) / max(time.monotonic() - self._began, 1e-9)
