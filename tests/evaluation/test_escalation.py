"""What escalation brought and cost, computed from records for every threshold up to the run's."""

from pathlib import Path

import pytest

from tests.evaluation.folders import Confident, asked, figures_of, folded, scores_of
from tracerank.endpoints.chat import Usage
from tracerank.evaluation.escalation import escalation_curves
from tracerank.evaluation.report import make_report
from tracerank.evaluation.report_tables import report_tables
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.escalation import Escalating

FIRST = Confident(**{"1": 0.1, "2": 0.3, "3": 0.5, "4": 0.9})


class Second:
    """The second rollout, for 100 tokens in 2 calls."""

    name = "second"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def decide(self, pool: Pool) -> Decision:
        self.asked.append(pool.question.id)
        return Decision(pool.question.id, pool.rollouts[1].answer, 1, usage=Usage(90, 10, 2))


# The right answer is x: the second method mends 1 and 5, spoils 3, and would mend 4, about which nobody asks.
POOLS = [asked("1", "y", "x"), asked("2", "y", "z"), asked("3", "x", "y"), asked("4", "y", "x"), asked("5", "y", "x")]


def test_the_curve_is_computed_from_the_records_without_asking_again(tmp_path: Path) -> None:
    second = Second()
    folder = folded(tmp_path, POOLS, ks=[2], methods=[FIRST, Escalating(FIRST, second, 0.6)])
    [curve] = escalation_curves(scores_of(folder), [2])
    assert second.asked == ["1", "2", "3", "5"]
    assert (curve.method, curve.questions, curve.below) == ("confident+second", 5, 0.6)
    assert curve.before == pytest.approx(0.2)
    points = {point.below: point for point in curve.points}
    assert list(points) == [0.05, 0.15, 0.35, 0.6]  # only thresholds that ask about more than the one before
    assert points[0.05].escalated == 1  # what has no confidence is below every threshold
    assert [point.accuracy for point in curve.points] == pytest.approx([0.4, 0.6, 0.6, 0.4])
    last = points[0.6]
    assert (last.recovered, last.lost, last.calls, last.tokens) == (2.0, 1.0, 8.0, 400.0)
    assert (last.each(last.calls), last.each(last.tokens)) == (4.0, 200.0)
    assert curve.sentence == (
        "confident+second at K=2: 4 of 5 questions (80%) were below 0.6; recovered answers: 2, lost: 1; 20.0% right "
        "before and 40.0% after; 4.0 calls and 200 tokens per recovered answer"
    )


def test_the_report_shows_it_and_is_silent_without(tmp_path: Path) -> None:
    folder = folded(tmp_path / "a", POOLS, ks=[2], methods=[Escalating(FIRST, Second(), 0.6)])
    [table] = [table for table in report_tables(figures_of(folder)) if table.name == "escalation"]
    wanted = ["confident+second", "0.6", "80.0", "40.0", "+20.0", "2", "1", "8", "400", "4.0", "200.0"]
    assert table.shown_rows()[-1] == wanted
    assert "200 tokens per recovered answer" in make_report([folder]).page()
    plain = folded(tmp_path / "b", POOLS, ks=[2], methods=[FIRST])
    assert "escalation" not in {table.name for table in report_tables(figures_of(plain))}
