"""``tracerank demo``: the vote and the shipped selector on real questions, then networks trained on a generated world."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from tracerank.agents.worlds.presets import PAPER, iter_world
from tracerank.cli.arguments import Quiet
from tracerank.cli.terminal import harmless, new_table, print_table, working
from tracerank.errors import TrainingError
from tracerank.evaluation.disagreements import Difference, Disagreement, Side, difference, disagreements
from tracerank.evaluation.evaluate import ORACLE, SINGLE, Record, evaluate, fold
from tracerank.methods.base import Method, decision_to_record
from tracerank.methods.explanation import explain_stream
from tracerank.methods.voting import MajorityVote
from tracerank.pools.canonical import write_pools
from tracerank.pools.files import write_lines
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA

Folder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where pools and checkpoints go.")]

TRAINED_QUESTIONS = 300
HELD_OUT_QUESTIONS = 200
WORLD = PAPER[WEBQA]
BUDGETS = (2, 4, 8)
K = max(BUDGETS)
SEED = 7
OWN = "logs.jsonl"
"""Stands for the user's own file in what is proposed at the end."""


def demo(output: Folder = Path("runs/demo"), quiet: Quiet = False) -> None:
    """Settle real questions by the vote and the shipped selector, and generated ones by two networks as well.

    First an almanac of real facts, searched by agents without a language model: every question on which vote and
    selector differ in meaning is shown, whoever is right. Then a generated world, on which two networks are trained on
    the spot: TRACE over marks, which we advise with so few pools, and the paper's at a quarter of its width. Nothing
    that decides has seen the questions that it decides on.
    """
    from tracerank.selectors.base import load_selector

    vote, shipped = MajorityVote(), load_selector()
    output.mkdir(parents=True, exist_ok=True)
    _real_questions(output / "almanac", vote, shipped, quiet)
    _generated_world(output, vote, shipped, quiet)
    if not quiet:
        _print_next(output)


def _real_questions(folder: Path, vote: Method, shipped: Method, quiet: bool) -> None:
    """The almanac: every disagreement, then how often each is right."""
    from tracerank.agents.almanac.sampling import Almanac
    from tracerank.cli.view import write_page
    from tracerank.evaluation.labels import MEANING, Labelling
    from tracerank.selectors.table import MethodOptions

    almanac = Almanac(folder)
    with working("searching the almanac", total=len(almanac.questions), quiet=quiet) as bar:
        pools = list(Labelling(MEANING).pools(bar.over(almanac.pools())))
    explained = [explanation for _, explanation in explain_stream(shipped, pools)]
    found = list(disagreements(pools, map(vote.decide, pools), explained))
    _say(
        f"1. Real questions: {len(pools)} on an almanac of {almanac.documents} short texts of ours, searched with BM25 "
        f"by an agent without a language model ({almanac.agent}), {K} rollouts each. Questions and agent were fixed "
        "before a selector saw them; nothing was fitted on them."
    )
    _print_disagreements(found, len(pools))
    records = list(evaluate([vote, shipped], pools, BUDGETS))
    _print_right(f"right % of the {len(pools)} real questions, by meaning", records, vote, {shipped: "shipped selector"})
    write_pools(folder / "pools.jsonl", pools)
    decided = zip(pools, explained, strict=True)
    write_lines(folder / "decisions.jsonl", (decision_to_record(pool.question, one.decision) for pool, one in decided))
    write_page(folder / "report.html", pools, shipped, MethodOptions(), [folder / "pools.jsonl"])


def _generated_world(output: Path, vote: Method, shipped: Method, quiet: bool) -> None:
    """A world of invented names, on which two networks are trained: how often each is right."""
    from tracerank.fitting.presets import MARKS, SMALL

    held_out = list(iter_world(WORLD, HELD_OUT_QUESTIONS, SEED + 1, K))
    write_pools(output / "pools.jsonl", held_out)
    _say(
        f"2. Generated questions: a world of invented names, whose agents meet namesakes and old pages, stop early and "
        f"misread. Two networks are trained on {TRAINED_QUESTIONS} of its questions and judged on {len(held_out)} others."
    )
    marks = _trained(MARKS, output / "checkpoint", quiet)
    paper = _trained(SMALL, output / "checkpoint-paper", quiet)
    with working("deciding", total=len(held_out), quiet=quiet) as bar:
        records = list(evaluate([vote, shipped, marks, paper], bar.over(held_out), BUDGETS))
    labels = {
        shipped: "shipped selector",
        marks: "TRACE over marks, trained here (our advice)",
        paper: "TRACE as in the paper, small, trained here",
    }
    _print_right(f"right % of {len(held_out)} generated questions that no selector has seen", records, vote, labels)
    _say(
        "Why not the paper's: it reads vectors of texts and needs 10,000 questions and more to come up to the vote "
        "(docs/paper-tables.md); marks of where answers stand in the evidence do with some hundred."
    )


def _trained(preset: str, folder: Path, quiet: bool) -> Method:
    try:
        return _run(preset, folder, quiet)
    except TrainingError:
        shutil.rmtree(folder)  # of another version's demo
        return _run(preset, folder, quiet)


def _run(preset: str, folder: Path, quiet: bool) -> Method:
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.presets import TrainingSource, encoder_of, prepare_training
    from tracerank.selectors.base import load_selector

    embedder = load_embedder(encoder_of(preset, None))
    pools = list(iter_world(WORLD, TRAINED_QUESTIONS, SEED, K))
    about = f"the {WEBQA} world, {TRAINED_QUESTIONS} questions of seed {SEED}, {K} rollouts"
    with working(f"preparing {preset}", total=len(pools), quiet=quiet, delay=0.0) as bar:
        ready = prepare_training(preset, TrainingSource(WEBQA, bar.over(pools), about, embedder), folder)
    with working(f"training {preset}", unit="steps", total=ready.steps, quiet=quiet, delay=0.0) as bar:
        ready.run(lambda _: bar.advance())
    return load_selector(folder, embedder)


# ---- what is printed


def _say(text: str) -> None:
    """A paragraph with a blank line after it; no colours, so that a log holds what a terminal shows."""
    typer.echo(f"{text}\n")


def _print_disagreements(found: Sequence[Disagreement], questions: int) -> None:
    """All of them, in the order of the questions: whoever is right."""
    gained = sum(one.other.is_right and not one.vote.is_right for one in found)
    lost = sum(one.vote.is_right and not one.other.is_right for one in found)
    _say(
        f"Vote and shipped selector differ in meaning on {len(found)} of {questions}: the selector alone is right on "
        f"{gained}, the vote alone on {lost}, neither or both on {len(found) - gained - lost}. All of them, in order:"
    )
    width = max((len(side.answer or "") for one in found for side in (one.vote, one.other)), default=0)
    for one in found:
        typer.echo(harmless(one.pool.question.text))
        typer.echo(f"  vote      {_of(one.vote, width)}")
        reason = "" if one.reason is None else f"; for it: {one.reason}"
        typer.echo(f"  selector  {_of(one.other, width)}{reason}")
    typer.echo()


def _of(side: Side, width: int) -> str:
    answer = harmless(side.answer or "no answer").ljust(width)
    return f"{'right' if side.is_right else 'wrong'}  {answer}  {side.votes} votes, in texts of {side.held_by} rollouts"


def _print_right(title: str, records: Sequence[Record], vote: Method, others: Mapping[Method, str]) -> None:
    """A row a method, with what it gains over the vote with most rollouts."""
    typer.echo(title)
    table = new_table("method", *(f"K={k}" for k in BUDGETS), f"over the vote at K={K} [95%]")
    labels = {SINGLE: "single rollout", vote.name: "vote", **{method.name: label for method, label in others.items()}}
    rows = fold(records)
    for name, label in {**labels, ORACLE: "best possible"}.items():
        gain = "" if name in (SINGLE, ORACLE, vote.name) else _points(_over(records, name, vote.name))
        shares = (f"{100 * (row.accuracy or 0):.1f}" for row in rows if row.method == name)
        table.add_row(label, *shares, gain)
    print_table(table)
    for method, label in others.items():
        typer.echo(f"{label}, beside the vote: {_over(records, method.name, vote.name).verdict}")
    typer.echo()


def _over(records: Sequence[Record], name: str, other: str) -> Difference:
    ours, theirs = (
        [record.correct or 0.0 for record in records if (record.method, record.k) == (wanted, K)]
        for wanted in (name, other)
    )
    return difference(ours, theirs)


def _points(found: Difference) -> str:
    return f"{100 * found.gain:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def _print_next(output: Path) -> None:
    """What was written, and what to try on one's own logs."""
    almanac = output / "almanac"
    typer.echo("What you have now:")
    for path, what in (
        (almanac / "report.html", "the real questions side by side, with the evidence: open it in a browser"),
        (almanac / "decisions.jsonl", "what the selector chose on them"),
        (almanac / "pools.jsonl", "their rollouts; the facts are in documents.jsonl beside it"),
        (output / "pools.jsonl", "the generated questions"),
        (output / "checkpoint", "the network over marks, as --checkpoint takes it"),
    ):
        typer.echo(f"  {path}  {what}")
    typer.echo(f"\nOn your own logs ({OWN}; {almanac / 'pools.jsonl'} does, too):")
    for line in next_commands():
        typer.echo(f"  {line}")


def next_commands() -> list[str]:
    """Commands for one's own logs, as this very shell can run them."""
    lines = [
        f"tracerank inspect {OWN}   # what is recognised, and what is wrong with it",
        f"tracerank select {OWN} -o decisions.jsonl   # by the shipped selector",
        f"tracerank view {OWN} -o report.html   # rollouts side by side, and why this one",
        f"tracerank evaluate {OWN} -k 2,4,8   # where answers or labels are known: does it beat the vote?",
        f"tracerank train webqa {OWN} --preset marks -o mine   # from some hundred labelled questions on",
    ]
    if shutil.which("tracerank") is not None:
        return lines
    activate = Path(sys.executable).parent / "activate"
    if not activate.is_file():
        return [line.replace("tracerank ", f"{sys.executable} -m tracerank ", 1) for line in lines]
    return [f". {os.path.relpath(activate)}   # so that the shell knows tracerank", *lines]
