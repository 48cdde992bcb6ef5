"""Confidence-weighted voting, and where the confidence of a rollout comes from."""

import threading
from dataclasses import replace

import pytest

from tests.builders import pool
from tracerank.endpoints.chat import ChatMessage, Usage
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups
from tracerank.votes.voting import MajorityVote
from tracerank.votes.weighted import READ_SOURCES, Estimate, WeightedVote, first_estimate, logged, stated


def sure(*answers: tuple[str | None, float | None]) -> Pool:
    """A pool of answers with their confidences."""
    rollouts = (Rollout(place, text, confidence=confidence) for place, (text, confidence) in enumerate(answers))
    return Pool.of(Question("q", "Which city?"), rollouts)


def test_confidence_is_summed_within_each_normalised_answer() -> None:
    decision = WeightedVote().decide(sure(("Rome", 0.9), ("the Paris", 0.5), ("Paris.", 0.6), ("Oslo", 0.2)))
    assert (decision.answer, decision.sample_id, decision.group) == ("the Paris", 1, (1, 2))
    assert decision.scores == {0: 0.9, 1: pytest.approx(1.1), 2: pytest.approx(1.1), 3: 0.2}
    assert decision.note is None


def test_a_tie_goes_to_the_earliest_group_whatever_floats_say() -> None:
    # 0.7 + 0.2 is less than 0.9 by the last bit.
    assert WeightedVote().decide(sure(("Paris", 0.7), ("Rome", 0.9), ("Paris", 0.2))).answer == "Paris"


def test_an_unknown_confidence_counts_as_the_mean_of_the_others_and_the_note_says_so() -> None:
    decision = WeightedVote().decide(sure(("Rome", None), ("Paris", 0.4), ("Rome", 0.8)))
    assert decision.scores[0] == pytest.approx(0.6 + 0.8)
    assert decision.note == "1 of 3 confidences unknown, taken as the mean of the others (0.6)"


def test_without_any_confidence_it_is_the_plain_vote_and_the_note_says_so() -> None:
    given_pool = pool("Rome", "Paris", "Paris")
    decision = WeightedVote().decide(given_pool)
    assert decision.scores == MajorityVote().decide(given_pool).scores
    assert decision.note == "no confidence known: every vote weighs one"


def test_a_confidence_of_zero_is_a_vote_that_weighs_nothing() -> None:
    doubtful = sure(("unknown", 1.0), ("Paris", 0.0))
    assert WeightedVote().decide(doubtful).answer == "Paris"
    assert WeightedVote(grouping=DefaultGroups()).decide(doubtful).answer == "Paris"
    assert WeightedVote(grouping=ExactGroups()).decide(doubtful).answer == "unknown"


def test_where_everybody_abstains_the_heaviest_abstention_is_returned_with_both_notes() -> None:
    surer = WeightedVote().decide(sure(("unknown", 0.3), ("N/A", 0.5)))
    assert (surer.answer, surer.group, surer.note) == ("N/A", (1,), "every rollout abstains")
    decision = WeightedVote(grouping=DefaultGroups()).decide(sure(("unknown", None), ("N/A", 0.5)))
    assert (decision.answer, decision.group) == ("unknown", (0,))
    assert decision.note == (
        "every rollout abstains; 1 of 2 confidences unknown, taken as the mean of the others (0.5)"
    )


@pytest.mark.parametrize("concurrency", [1, 3])
def test_what_asking_cost_is_summed_and_several_rollouts_can_be_asked_at_once(concurrency: int) -> None:
    together = threading.Barrier(concurrency, timeout=20)

    def asking(question: str, rollout: Rollout) -> Estimate | None:
        together.wait()
        return Estimate(0.1 * rollout.sample_id, Usage(10, 1))

    decision = WeightedVote([asking], concurrency=concurrency).decide(pool("Rome", "Paris", "Oslo"))
    assert (decision.answer, decision.usage) == ("Oslo", Usage(30, 3, 3))


# Where confidences come from.


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("Paris\nConfidence: 85%", 0.85),
        ("Paris (confidence: 0.4)", 0.4),
        ('{"answer": "Paris", "confidence": 0.85}', 0.85),
        ('{"answer": "Paris", "confidence_score": "85%"}', 0.85),
        ("{'answer': 'Paris', 'confidence': 85}", 0.85),
        ("Paris", None),
        ('{"answer": "Paris", "confidence": "high"}', None),
        ('{"answer": "Paris", "confidence": 850}', None),
        ("", None),
    ],
)
def test_a_stated_confidence_is_read_from_words_and_from_json(answer: str, wanted: float | None) -> None:
    found = stated("?", Rollout(0, answer))
    assert (found and found.value) == wanted


def test_the_last_message_is_read_where_the_short_answer_has_lost_it() -> None:
    said = (ChatMessage("user", "Confidence: 1%"), ChatMessage("assistant", "Exact Answer: Paris\nConfidence: 70%"))
    assert stated("?", Rollout(0, "Paris", messages=said)) == Estimate(0.7)


def test_what_others_said_is_not_the_agents_confidence() -> None:
    said = (ChatMessage("assistant", "Confidence: 70%"), ChatMessage("tool", "Confidence: 20%"))
    assert stated("?", Rollout(0, "Paris", messages=said)) is None


@pytest.mark.parametrize("value", [None, -0.1, 1.1, float("nan"), float("inf")])
def test_a_logged_confidence_must_be_a_share(value: float | None) -> None:
    assert logged("?", Rollout(0, "Paris", confidence=value)) is None
    assert logged("?", Rollout(0, "Paris", confidence=0.25)) == Estimate(0.25)


def test_the_agents_words_are_believed_before_a_field() -> None:
    both = Rollout(0, "Paris. Confidence: 60%", confidence=0.9)
    assert first_estimate(READ_SOURCES, "?", both) == Estimate(0.6)
    assert first_estimate(READ_SOURCES, "?", replace(both, answer="Paris")) == Estimate(0.9)


def test_a_source_is_asked_only_when_those_before_it_do_not_know() -> None:
    asked: list[str] = []

    def asking(question: str, rollout: Rollout) -> Estimate | None:
        asked.append(rollout.answer or "")
        return Estimate(0.5)

    sources = (*READ_SOURCES, asking)
    assert first_estimate(sources, "?", Rollout(0, "Rome", confidence=0.1)) == Estimate(0.1)
    assert first_estimate(sources, "?", Rollout(0, "Oslo")) == Estimate(0.5)
    assert asked == ["Oslo"]
    assert first_estimate((), "?", Rollout(0, "Oslo")) is None
