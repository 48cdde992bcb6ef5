"""Where the vote and another method differ in meaning, and what an interval allows to say of it."""

import pytest

from tests.builders import pool_of, ranked, rollout
from tracerank.evaluation.disagreements import Difference, Side, difference, disagreements, means_the_same
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.explanation import ReadWeights, Reason, explain


def decision(answer: str | None, sample_id: int | None, *group: int) -> Decision:
    return Decision("q", answer, sample_id, group=group)


def split() -> Pool:
    """Two rollouts say Anna and saw one text; one says Boris, whom both of its texts hold."""
    own = ranked("who", "Boris wrote it.", "It was written by Boris.")
    return pool_of(
        rollout("Anna Berg", ranked("who", "Anna Berg read it."), label=0.0),
        rollout("Anna Berg", ranked("who", "Anna Berg read it.", "Boris wrote it."), label=0.0),
        rollout("Boris", own, label=1.0),
        question="Who wrote it?",
    )


def test_a_question_is_listed_with_votes_texts_and_the_strongest_reason() -> None:
    pool, weights = split(), (((1.0,),), ((1.0, 0.0),), ((0.5, 0.5),))
    read = {sample: ReadWeights((None,), one) for sample, one in enumerate(weights)}
    reasons = (Reason("support", "how the evidence holds it", 0.9), Reason("votes", "how many agree", -0.5))
    explanation = explain(pool.rollouts, decision("Boris", 2, 2), read, reasons=reasons)
    [found] = disagreements([pool], [decision("Anna Berg", 0, 0, 1)], [explanation])
    assert found.vote == Side("Anna Berg", False, 2, 2)
    assert found.other == Side("Boris", True, 1, 2)
    assert found.reason == "how the evidence holds it"
    [found] = disagreements([pool], [decision("Anna Berg", 0)], [explain(pool.rollouts, decision(None, None))])
    assert (found.other, found.reason) == (Side(None, False, 0, 0), None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (decision("Anna Berg", 0), decision("anna berg.", 1)),
        (decision("Anna Berg", 0), decision("The author is Anna Berg.", 2)),
        (decision("A. Berg", 0), decision("Somebody", 2, 0, 2)),
        (decision(None, None), decision(None, None)),
    ],
    ids=["spelling", "a sentence", "the other's own group", "no answer"],
)
def test_what_means_the_same_is_no_disagreement(one: Decision, other: Decision) -> None:
    assert means_the_same(split(), one, other)


def test_a_difference_is_paired_and_says_only_what_its_interval_allows() -> None:
    assert difference([1.0] * 40, [0.0] * 40) == Difference(1.0, 1.0, 1.0, 40)
    assert difference([1.0] * 40, [0.0] * 40).verdict == "right more often"
    assert difference([0.0] * 40, [1.0] * 40).verdict == "right less often"
    mixed = difference([1.0, 0.0] * 20, [0.0, 1.0] * 20)
    assert mixed.low < mixed.gain == 0 < mixed.high
    assert mixed.verdict == "40 questions show no difference"
