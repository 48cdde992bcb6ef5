"""``tracerank lab rollout``: K rollouts a question by a chat model that searches a corpus."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracerank.cli import options as opt
from tracerank.cli.inputs import SOME_FAILED, Problems, check_output
from tracerank.cli.terminal import note, print_json, working
from tracerank.lab.policies import CONCURRENCY, STYLES, opened_agent
from tracerank.pools.pool import PAPER_K

if TYPE_CHECKING:  # it takes longer to import than --help may take
    from tracerank.lab.run import Tally

EXAMPLE = "tracerank lab rollout questions.jsonl --corpus index/ --chat http://localhost:8080#m -o pools.jsonl"


@click.command(epilog=opt.example(EXAMPLE))
@click.argument("files", metavar="QUESTIONS...", type=opt.PATH, nargs=-1, required=True)
@opt.output_option("File for the pools; gzip if it ends with .gz. Interrupted runs resume.", required=True)
@opt.option("--chat URL#MODEL", "The model that searches, behind any OpenAI-compatible server.", required=True)
@opt.option("--corpus INDEX", "Index to search, made by corpus build.", opt.PATH, required=True)
@opt.option("-k K", "Rollouts per question.", opt.COUNT, default=PAPER_K)
@opt.seed_option("Another seed samples other rollouts.")
@opt.choice("--style", STYLES, f"How the agent searches; {STYLES[0]} by default.")
@opt.option("--temperature T", "Of replies; 1 by default.", click.FloatRange(0))
@opt.option("--top-p P", "Of replies.", opt.SHARE)
@opt.option("--max-turns N", "Most replies of a rollout; 8 by default.", opt.COUNT)
@opt.option("--max-tokens N", "Most tokens of a reply; 4,096 by default.", opt.COUNT)
@opt.option("--concurrency N", f"Rollouts under way at once; {CONCURRENCY} by default.", opt.COUNT)
@opt.option("--chat-context N", "Tokens that the chat model holds.", click.IntRange(512))
@opt.option("--chat-time S", "Seconds that a reply of the chat model may take; 3600 by default.")
@opt.force_option
@opt.problems_option
@opt.json_option
@opt.quiet_option
def rollout(
    files: tuple[Path, ...],
    output: Path,
    chat: str,
    corpus: Path,
    k: int,
    seed: int,
    force: bool,
    problems: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Sample K rollouts of every question and write them as pools.

    Files of questions: JSON Lines, JSON, Parquet, or text with one question a line. The key of the server is read from
    TRACERANK_API_KEY. If it fails on some rollouts, the command exits with 3; the same command makes only these again.
    """
    from tracerank.lab.run import sample_pools
    from tracerank.readers.sources.question_files import read_questions

    check_output(output, files, force, is_resumable=True)
    with Problems(problems, (*files, output)) as report:
        questions = tuple(read_questions(files, report))
    total = len(questions) * k
    with (
        opened_agent(chat, corpus, **options) as agent,
        working("sampling", "rollouts", total, quiet) as progress,
    ):

        def show(tally: "Tally") -> None:
            (progress.skip if tally.rollouts == tally.resumed else progress.advance)(1)
            progress.describe(f"{tally.answered:,} answered, {tally.empty:,} empty, {tally.failed:,} failed")

        tally = sample_pools(agent, questions, output, k, seed, force=force, on_rollout=show)
    if as_json:
        print_json({"questions": len(questions), **tally.record(), "output": str(output)}, indent=2)
    elif not quiet:
        note(f"{_summary(len(questions), tally)}; written to {output}")
    if tally.first_problem is not None:
        note(f"the first problem: {tally.first_problem}")
    if tally.failed:
        note(f"{tally.failed:,} of {total:,} rollouts failed; the same command tries only these again")
        sys.exit(SOME_FAILED)


def _summary(questions: int, tally: "Tally") -> str:
    parts = [
        f"{questions:,} questions, {tally.rollouts:,} rollouts"
        + (f" ({tally.resumed:,} of them from before)" if tally.resumed else ""),
        f"{tally.answered:,} answered, {tally.empty:,} empty, {tally.without_search:,} without a search",
    ]
    if tally.accuracy is not None:
        parts.append(f"single accuracy {tally.accuracy:.3f}")
    if (usage := tally.usage) is not None:
        parts.append(f"{usage.prompt_tokens:,} prompt and {usage.completion_tokens:,} completion tokens")
    return "; ".join((*parts, f"{tally.seconds:.1f} s"))
