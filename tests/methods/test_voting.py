"""Majority voting."""

from tests.builders import pool
from tracerank.methods.voting import MajorityVote
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout


def test_the_largest_group_of_equal_answers_wins_by_its_first_member() -> None:
    decision = MajorityVote().decide(pool("Rome", "the Paris", "Paris.", "Oslo"))
    assert (decision.answer, decision.sample_id) == ("the Paris", 1)
    assert decision.scores == {0: 1.0, 1: 2.0, 2: 2.0, 3: 1.0}


def test_a_tie_goes_to_the_earliest_group() -> None:
    assert MajorityVote().decide(pool("Rome", "Paris", "Paris", "Rome")).sample_id == 0


def test_answers_without_evidence_vote_and_empty_ones_do_not() -> None:
    bare = Pool(Question("q", "?"), (Rollout(0, ""), Rollout(1, "Paris"), Rollout(2, None)))
    decision = MajorityVote().decide(bare)
    assert decision.sample_id == 1
    assert decision.dropped == {0: "no answer", 2: "no answer"}


def test_a_pool_without_answers_has_no_winner() -> None:
    assert MajorityVote().decide(Pool(Question("q", "?"), (Rollout(0, None),))).answer is None
