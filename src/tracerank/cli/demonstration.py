"""What ``tracerank demo`` does: decides the questions that ship, prints tables, writes decisions and a page."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import click
import numpy as np

from tracerank.cli.terminal import print_table, working
from tracerank.errors import TraceRankError
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.calibration import answering
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.labels import MEANING, Labelling
from tracerank.evaluation.records import Record
from tracerank.evaluation.scores import fold
from tracerank.methods import TRACE, fitted_by, load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import PAPER_K, Pool
from tracerank.pools.types import WEBQA
from tracerank.readers import read_pools
from tracerank.runs.atomic import write_lines
from tracerank.stopping.replay import replay
from tracerank.viewer.page import write_page
from tracerank.votes.base import Decision, decide_stream, decision_to_record

BUDGETS = (2, 4)
NAMES = {"single": "one rollout", "majority": "majority vote", "evidence": "tracerank", "oracle": "best possible"}
SHARES = (1.0, 0.75, 0.5, 0.25)
"""Of the questions that are answered, the most certain first."""
MAX_SHOWN = 48
"""Characters of a question or an answer."""
GENERATED, TEST_SEED = 200, 2
"""Questions of the world that the paper's network learned from, with the seed of its tests."""


def demonstrate(output: Path, *, quiet: bool) -> None:
    """Print tables of the demo's questions, and write decisions, pools and a page to ``output``."""
    vote, shipped = load_method("majority"), load_method("evidence")
    output.mkdir(parents=True, exist_ok=True)
    with (
        resources.as_file(resources.files("tracerank") / "demo_pools.jsonl.gz") as path,
        working("deciding", quiet=quiet) as progress,
    ):
        pools = list(Labelling(MEANING).pools(progress.over(read_pools(path))))
        decisions = list(decide_stream(shipped, pools))
        records = list(evaluate([vote, shipped], pools, BUDGETS))
        stopping = replay(pools, shipped, max(BUDGETS), orders=1)
    whole = {(one.method, one.question_id): one for one in records if one.k == max(BUDGETS)}
    by_vote, by_selector = ([whole[method.name, pool.question.id] for pool in pools] for method in (vote, shipped))
    click.echo(f"{len(pools)} questions, {max(BUDGETS)} rollouts each by a search agent with a 1.5B language model.\n")
    _print_differing(pools, by_vote, by_selector)
    _print_accuracy(records, by_vote, by_selector)
    _print_confidence([decision for _, decision in decisions], by_selector)
    best, full = stopping.best, stopping.full
    click.echo(
        f"Stopping when another rollout would change too little: {best.rollouts:.1f} rollouts a question instead of "
        f"{stopping.k}, {100 * best.accuracy:.1f}% right instead of {100 * full.accuracy:.1f}%, in random orders.\n"
    )
    _print_network(quiet)
    write_lines(output / "decisions.jsonl", (decision_to_record(pool.question, one) for pool, one in decisions))
    write_pools(output / "pools.jsonl", pools)
    write_page(output / "report.html", pools, shipped, vote=vote, title="demo", called="evidence")
    page = output / "report.html"
    click.echo(f"Open {page} in a browser: rollouts side by side, who saw what, and why each answer was chosen.")


def _print_differing(pools: Sequence[Pool], by_vote: Sequence[Record], by_selector: Sequence[Record]) -> None:
    """The questions that one of the two answers correctly and the other does not."""
    rows = [
        (
            _short(pool.question.text),
            *(f"{'✓' if one.correct else '✗'} {_short(one.answer or 'no answer')}" for one in (voted, selected)),
        )
        for pool, voted, selected in zip(pools, by_vote, by_selector, strict=True)
        if voted.correct != selected.correct
    ]
    title = f"Answers that differ ({len(rows)} questions)"
    print_table(("question", NAMES["majority"], NAMES["evidence"]), rows, title, left=(0, 1, 2))


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _print_accuracy(records: Sequence[Record], by_vote: Sequence[Record], by_selector: Sequence[Record]) -> None:
    """Accuracy by method and K, and the gain over the vote with its interval."""
    cells: dict[str, list[str]] = {}
    for row in fold(records):
        if row.method in NAMES and row.accuracy is not None:
            cells.setdefault(row.method, [NAMES[row.method]]).append(f"{100 * row.accuracy:.1f}")
    print_table(("correct answers in %", *(f"{k} rollouts" for k in BUDGETS)), cells.values())
    gain = _gain(by_vote, by_selector)
    click.echo(f"tracerank over the vote with {max(BUDGETS)} rollouts: {gain}, with a 95% interval.\n")


def _gain(by_vote: Sequence[Record], by_other: Sequence[Record]) -> str:
    """The paired difference in points, with its interval."""
    gains = np.array([[(new.correct or 0) - (old.correct or 0)] for new, old in zip(by_other, by_vote, strict=True)])
    spread = intervals(gains)
    return f"{100 * gains.mean():+.1f} points [{100 * spread.low[0]:+.1f}, {100 * spread.high[0]:+.1f}]"


def _print_network(quiet: bool) -> None:
    """The paper's network beside the vote on generated questions; without torch, how to install it."""
    from tracerank.lab.worlds.presets import PRESETS, iter_world

    try:
        network = load_method(TRACE)
    except TraceRankError as error:
        click.echo(f"The paper's network is left out: {error}\n")
        return
    learned = fitted_by([TRACE])
    pools = [pool for pool in iter_world(PRESETS["scattered"][WEBQA], GENERATED, TEST_SEED) if pool not in learned]
    with working("the paper's network", total=len(pools), quiet=quiet) as progress:
        records = list(evaluate([load_method("majority"), network], progress.over(pools), [PAPER_K]))
    by_vote, by_network = ([one for one in records if one.method == name] for name in ("majority", network.name))
    voted, right = (100 * sum(one.correct or 0 for one in made) / len(pools) for made in (by_vote, by_network))
    click.echo(
        f"The paper's network on {len(pools)} generated questions that it never saw, {PAPER_K} rollouts each: "
        f"{right:.1f}% right, the vote {voted:.1f}%, {_gain(by_vote, by_network)}.\n"
        "It learned from generated pools only; for your agents use tracerank's own selector.\n"
    )


def _print_confidence(decisions: Sequence[Decision], by_selector: Sequence[Record]) -> None:
    """Accuracy if only the most certain answers are returned."""
    both = zip(decisions, by_selector, strict=True)
    known = [(made.certainty, one.correct) for made, one in both if made.certainty is not None]
    if not known:
        return
    confidences, right = np.array(known, float).T
    curve = answering(confidences, right, len(by_selector))
    points = [min(curve, key=lambda point: abs(point.share - share)) for share in SHARES]
    rows = [(f"{point.share:.0%}", f"{100 * point.precision:.1f}") for point in dict.fromkeys(points)]
    print_table(("most certain answers", "correct in %"), rows)
