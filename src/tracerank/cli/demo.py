"""``tracerank demo``: the vote and the shipped selector on real questions, then a network trained on the spot."""

import textwrap
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import click
import numpy as np

from tracerank.answers.equivalence import NO_GROUP
from tracerank.cli.options import example, output_option, quiet_option
from tracerank.cli.terminal import harmless, new_table, note, print_table, working
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.evaluate import ORACLE, SINGLE, evaluate
from tracerank.evaluation.labels import MEANING, Labelling
from tracerank.evaluation.records import Record
from tracerank.evaluation.scores import fold
from tracerank.extras import missing_library
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA
from tracerank.readers import read_pools
from tracerank.runs.atomic import write_lines
from tracerank.viewer.page import write_page
from tracerank.viewer.question_data import question_data
from tracerank.votes.base import Method, decision_to_record
from tracerank.votes.explanation import explain_stream

SHOWN = 6
"""Disagreements that are printed; the page has all questions."""
BUDGETS = (2, 4, 8)
TRAINED, HELD_OUT, SEED = 300, 200, 7
"""Generated questions for the network, and for judging it."""


@click.command(epilog=example("tracerank demo"))
@output_option("Where pools, decisions, the page and the network go.", "FOLDER", default=Path("runs/demo"))
@quiet_option
def demo(output: Path, quiet: bool) -> None:
    """Decide real questions by the majority vote and by the shipped selector.

    The pools ship with tracerank: real facts, searched by agents without a language model. The questions on which vote
    and selector differ are shown, whichever is right. With the extra train, a small network is trained on a generated
    world and judged on questions it has not seen.
    """
    vote, shipped = load_method("majority"), load_method("evidence")
    output.mkdir(parents=True, exist_ok=True)
    pools = _real_pools(quiet)
    explained = [explanation for _, explanation in explain_stream(shipped, pools)]
    _say(f"{len(pools)} real questions, {max(map(len, pools))} rollouts each; nothing was fitted on them.")
    data = [question_data(pool, one, vote) for pool, one in zip(pools, explained, strict=True)]
    _print_disagreements([one for one in data if not one["agrees"]], len(pools))
    records = list(evaluate([vote, shipped], pools, BUDGETS))
    _print_right(f"right % of {len(pools)} real questions, by meaning", records, vote, {shipped: "shipped selector"})
    write_pools(output / "pools.jsonl", pools)
    decided = zip(pools, explained, strict=True)
    write_lines(output / "decisions.jsonl", (decision_to_record(pool.question, one.decision) for pool, one in decided))
    write_page(output / "report.html", pools, shipped, vote=vote, title="demo", called="evidence")
    try:
        _train(output, vote, shipped, quiet)
    except ImportError as error:
        if (line := missing_library(error)) is None:
            raise
        note(f"no network is trained: {line}")
    if not quiet:
        _print_next(output)


def _real_pools(quiet: bool) -> list[Pool]:
    with (
        resources.as_file(resources.files("tracerank") / "demo_pools.jsonl.gz") as path,
        working("reading", quiet=quiet) as progress,
    ):
        return list(Labelling(MEANING).pools(progress.over(read_pools(path))))


def _train(output: Path, vote: Method, shipped: Method, quiet: bool) -> None:
    """A small network of the paper's on a world of invented names."""
    from tracerank.embedding.load import load_embedder
    from tracerank.fitting.train import TrainingSource, prepare_training
    from tracerank.lab.worlds.presets import PAPER, iter_world

    k, folder, embedder = max(BUDGETS), output / "network", load_embedder("hash-256")
    pools = iter_world(PAPER[WEBQA], TRAINED, SEED, k)
    about = f"the {WEBQA} world, {TRAINED} questions of seed {SEED}, {k} rollouts each"
    with working("preparing the network", total=TRAINED, quiet=quiet) as progress:
        source = TrainingSource(WEBQA, progress.over(pools), about, embedder, Labelling("paper"))
        ready = prepare_training("small", source, folder)
    with working("training the network", unit="steps", total=ready.steps, quiet=quiet) as progress:
        ready.run(lambda step: progress.advance())
    trained = load_method(str(folder))
    held_out = list(iter_world(PAPER[WEBQA], HELD_OUT, SEED + 1, k))
    records = list(evaluate([vote, shipped, trained], held_out, BUDGETS))
    _say(
        f"{HELD_OUT} generated questions: a world of invented names, whose agents meet namesakes and outdated pages, "
        f"stop early and misread. The network was trained on {TRAINED} others; the paper trains on many thousand."
    )
    labels = {shipped: "shipped selector", trained: "small network, trained here"}
    _print_right(f"right % of {HELD_OUT} generated questions", records, vote, labels)


def _say(text: str) -> None:
    click.echo(f"{textwrap.fill(text, 100)}\n")


def _print_disagreements(found: Sequence[dict[str, Any]], questions: int) -> None:
    right = [(one["vote"]["right"] or 0, one["selected"]["right"] or 0) for one in found]
    gained, lost = sum(ours > theirs for theirs, ours in right), sum(theirs > ours for theirs, ours in right)
    _say(
        f"Vote and selector differ on {len(found)} of {questions} questions: only the selector is right on {gained}, "
        f"only the vote on {lost}. The first {min(SHOWN, len(found))} of them, with the right answer in brackets:"
    )
    width = max((len(_answer(one[side])) for one in found[:SHOWN] for side in ("vote", "selected")), default=0)
    for one in found[:SHOWN]:
        click.echo(harmless(f"{one['question']} ({', '.join(one['references'][:1])})"))
        click.echo(f"  vote      {_standing(one, 'vote', width)}")
        reason = f"; weighed most: {harmless(one['reasons'][0]['meaning'])}" if one["reasons"] else ""
        click.echo(f"  selector  {_standing(one, 'selected', width)}{reason}")
    click.echo()


def _answer(choice: Mapping[str, Any]) -> str:
    return harmless(choice["answer"] or "no answer")


def _standing(data: Mapping[str, Any], side: str, width: int) -> str:
    """One method's answer, its votes, and how many rollouts saw a text that holds it."""
    choice, candidates = data[side], [one for one in data["rollouts"] if one["dropped"] is None]
    seen = [[each for search in one["searches"] for each in search["evidence"]] for one in candidates]
    own = [one["group"] == choice["group"] != NO_GROUP for one in candidates]
    texts = {
        each["text"] for texts, is_own in zip(seen, own, strict=True) if is_own for each in texts if each["weight"]
    }
    held_by = sum(any(each["text"] in texts for each in one) for one in seen)
    held = f"in texts of {held_by} rollouts" if held_by else "in no text"
    return f"{'right' if choice['right'] else 'wrong'}  {_answer(choice).ljust(width)}  {sum(own)} votes, {held}"


def _print_right(title: str, records: Sequence[Record], vote: Method, others: Mapping[Method, str]) -> None:
    """A row for each method, with what it gains over the vote where there are most rollouts."""
    rows = fold(records)
    most = max(BUDGETS)

    def correct(name: str) -> list[float]:
        return [record.correct or 0.0 for record in records if (record.method, record.k) == (name, most)]

    differences = np.stack([np.subtract(correct(method.name), correct(vote.name)) for method in others], axis=1)
    spread = intervals(differences)
    gains = {
        method.name: (100 * differences[:, n].mean(), 100 * spread.low[n], 100 * spread.high[n])
        for n, method in enumerate(others)
    }
    names = {SINGLE: "single rollout", vote.name: "vote", **{method.name: label for method, label in others.items()}}
    table = new_table("method", *(f"K={k}" for k in BUDGETS), f"over the vote, K={most} [95%]")
    for name, label in {**names, ORACLE: "best possible"}.items():
        shares = (f"{100 * (row.accuracy or 0):.1f}" for row in rows if row.method == name)
        gain = gains.get(name)
        points = "" if gain is None else f"{gain[0]:+.1f} [{gain[1]:+.1f}, {gain[2]:+.1f}]"
        table.add_row(label, *shares, points)
    print_table(table, title)


def _print_next(output: Path) -> None:
    click.echo(f"Open {output / 'report.html'} in a browser to see the questions with their evidence.")
    click.echo("On your own logs:")
    for line in (
        "tracerank inspect logs.jsonl                      # what is recognised, and what is wrong",
        "tracerank select logs.jsonl -o decisions.jsonl    # by the shipped selector",
        "tracerank view logs.jsonl -o report.html          # rollouts side by side, and why this one",
        "tracerank evaluate logs.jsonl -k 2,4,8            # with answers or labels: does it beat the vote?",
    ):
        click.echo(f"  {line}")
