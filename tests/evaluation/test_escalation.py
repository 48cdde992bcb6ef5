"""What escalation brought and cost, computed from records."""

from pathlib import Path

import pytest

from tests.evaluation.folders import Confident, asked, folded, scores_of
from tracerank.endpoints.chat import Usage
from tracerank.evaluation.escalation import escalations
from tracerank.evaluation.report import make_report
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


# The right answer is x: the second method mends 1 and 5, spoils 3, and would mend 4, about which it is not asked.
POOLS = [asked("1", "y", "x"), asked("2", "y", "z"), asked("3", "x", "y"), asked("4", "y", "x"), asked("5", "y", "x")]


def test_what_asking_brought_and_cost_is_folded_from_the_records(tmp_path: Path) -> None:
    second = Second()
    folder = folded(tmp_path, POOLS, ks=[2], methods=[FIRST, Escalating(FIRST, second, 0.6)])
    [found] = escalations(scores_of(folder), [2])
    assert second.asked == ["1", "2", "3", "5"]
    assert (found.questions, found.escalated, found.below) == (5, 4, 0.6)
    assert (found.before, found.accuracy) == (pytest.approx(0.2), pytest.approx(0.4))
    assert (found.recovered, found.lost, found.calls, found.tokens) == (2.0, 1.0, 8.0, 400.0)
    sentence = (
        "confident+second at K=2: 4 of 5 questions (80%) were below 0.6; recovered answers: 2, lost: 1; 20.0% right "
        "before and 40.0% after; 4.0 calls and 200 tokens per recovered answer"
    )
    assert found.sentence == sentence
    assert sentence in str(make_report([folder]).record())
    assert escalations(scores_of(folded(tmp_path / "plain", POOLS, ks=[2], methods=[FIRST])), [2]) == []
