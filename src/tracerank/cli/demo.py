"""``tracerank demo``: the vote and the shipped selector on rollouts of a real language model."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import click
import numpy as np

from tracerank.cli import options as opt
from tracerank.cli.terminal import print_table, working
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.calibration import answering
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.labels import MEANING, Labelling
from tracerank.evaluation.records import Record
from tracerank.evaluation.scores import fold
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools
from tracerank.runs.atomic import write_lines
from tracerank.stopping.replay import replay
from tracerank.viewer.page import write_page
from tracerank.votes.base import Decision, decide_stream, decision_to_record

BUDGETS = (2, 4)
NAMES = {"single": "one rollout", "majority": "majority vote", "evidence": "tracerank", "oracle": "best possible"}
SHARES = (1.0, 0.75, 0.5, 0.25)
"""Of the questions that are answered, the most certain first."""


@click.command(epilog=opt.example("tracerank demo"))
@opt.output_option("Where pools, decisions and the page go.", opt.FOLDER, "decisions.jsonl", default=Path("runs/demo"))
@opt.quiet_option
def demo(output: Path, quiet: bool) -> None:
    """Decide real questions by the majority vote and by the shipped selector.

    The rollouts ship with tracerank: a search agent with a language model of 1.5 billion parameters answered each
    question four times. Questions on which the vote and the selector differ are shown, whichever is right.
    """
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
    click.echo(f"Stopping early, {stopping.sentence}.\n")
    write_lines(output / "decisions.jsonl", (decision_to_record(pool.question, one) for pool, one in decisions))
    write_pools(output / "pools.jsonl", pools)
    write_page(output / "report.html", pools, shipped, vote=vote, title="demo", called="evidence")
    page = output / "report.html"
    click.echo(f"Open {page} in a browser: rollouts side by side, who saw what, and why each answer was chosen.")


def _print_differing(pools: Sequence[Pool], by_vote: Sequence[Record], by_selector: Sequence[Record]) -> None:
    """The questions that one of the two answers correctly and the other does not."""
    rows = [
        (
            pool.question.text,
            *(f"{'✓' if one.correct else '✗'} {one.answer or 'no answer'}" for one in (voted, selected)),
        )
        for pool, voted, selected in zip(pools, by_vote, by_selector, strict=True)
        if voted.correct != selected.correct
    ]
    title = f"Answers that differ ({len(rows)} questions)"
    print_table(("question", NAMES["majority"], NAMES["evidence"]), rows, title, left=(0, 1, 2))


def _print_accuracy(records: Sequence[Record], by_vote: Sequence[Record], by_selector: Sequence[Record]) -> None:
    """Accuracy by method and K, and the gain over the vote with its interval."""
    cells: dict[str, list[str]] = {}
    for row in fold(records):
        if row.method in NAMES and row.accuracy is not None:
            cells.setdefault(row.method, [NAMES[row.method]]).append(f"{100 * row.accuracy:.1f}")
    print_table(("correct answers in %", *(f"{k} rollouts" for k in BUDGETS)), cells.values())
    gains = np.array([[(new.correct or 0) - (old.correct or 0)] for new, old in zip(by_selector, by_vote, strict=True)])
    spread = intervals(gains)
    points = f"{100 * gains.mean():+.1f} points [{100 * spread.low[0]:+.1f}, {100 * spread.high[0]:+.1f}]"
    click.echo(f"tracerank over the vote with {max(BUDGETS)} rollouts: {points}, with a 95% interval.\n")


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
