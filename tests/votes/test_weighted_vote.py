"""Confidence-weighted voting."""

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import pool
from tracerank.endpoints.chat import Usage
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.answer_groups import DefaultGroups, ExactGroups
from tracerank.votes.voting import MajorityVote
from tracerank.votes.weighted import Estimate, WeightedVote


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
    threads: set[int] = set()

    def asking(question: str, rollout: Rollout) -> Estimate | None:
        threads.add(threading.get_ident())
        return Estimate(0.1 * rollout.sample_id, Usage(10, 1))

    decision = WeightedVote([asking], concurrency=concurrency).decide(pool("Rome", "Paris", "Oslo"))
    assert (decision.answer, decision.usage) == ("Oslo", Usage(30, 3, 3))
    assert (threading.get_ident() in threads) is (concurrency == 1)


@given(st.lists(st.tuples(st.sampled_from(["Paris", "paris.", "Rome", "Oslo", None]), st.just(0.5)), max_size=8))
def test_equal_confidences_decide_as_the_plain_vote(answers: Sequence[tuple[str | None, float]]) -> None:
    given_pool = sure(*answers)
    weighted, plain = WeightedVote().decide(given_pool), MajorityVote().decide(given_pool)
    assert (weighted.sample_id, weighted.group) == (plain.sample_id, plain.group)
