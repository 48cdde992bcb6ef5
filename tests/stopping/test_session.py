"""A session: rollouts in any form, the same decision as a whole pool, a verdict with its reason."""

import pytest
from hypothesis import given, settings

from tests.builders import ranked, rollout
from tests.evidence.test_choosing import QUESTION, TEXTS, pools
from tracerank.errors import UsageError
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.stopping.rules import FixedK, State, WindowRule
from tracerank.stopping.session import Session
from tracerank.votes.voting import MajorityVote


@settings(max_examples=40, deadline=None)
@given(pools)
def test_what_a_session_decides_is_what_the_whole_pool_does(found: Pool) -> None:
    selector = load_selector()
    session = Session(found.question, selector, budget=len(found))
    for one in found.rollouts:
        session.add(one)
    whole = selector.decide(Pool(session.question, session.pool.rollouts))
    made = session.decision()
    assert (made.answer, made.sample_id, made.group) == (whole.answer, whole.sample_id, whole.group)
    assert made.scores == pytest.approx(whole.scores)
    assert made.rank_score == pytest.approx(whole.rank_score)


def test_any_other_method_decides_in_a_session_as_well() -> None:
    session = Session(QUESTION, MajorityVote(), rule=WindowRule(2))
    for answer in ("Venice", "Mantua", "Venice"):
        session.add(answer)
    assert session.decision().answer == "Venice"
    assert session.decision().confidence is None
    assert session.should_continue()


def test_failed_runs_count_and_are_told() -> None:
    session = Session(QUESTION, budget=3)
    assert session.should_continue().reason == "nothing has been run yet"
    session.add(None)
    assert session.decision().answer is None
    assert session.should_continue().reason == "no rollout has answered yet"
    session.add("Venice")
    assert session.decision().dropped == {0: "no answer"}
    session.add(None)
    assert session.state.rollouts == len(session) == 3
    assert session.should_continue().reason == "the budget of 3 rollouts is spent"


def test_the_state_tells_votes_runs_and_changes() -> None:
    session = Session(QUESTION, rule=FixedK(9))
    states = []
    for answer in ("Mantua", "Venice", "It was Venice.", "I don't know."):
        session.add(rollout(answer, ranked("Orfeo", TEXTS[0])))
        states.append(session.state)
    assert [state.votes for state in states] == [(1,), (1, 1), (2, 1), (2, 1)]
    assert [state.run for state in states] == [1, 1, 2, 0]
    assert states[1].changed
    assert [state.agrees for state in states] == [True, True, True, False]
    assert Session(QUESTION).state == State(0)


def test_numbers_of_rollouts_are_kept_unless_two_have_the_same() -> None:
    session = Session(QUESTION)
    given = (Rollout(7, "Mantua"), {"answer": "Venice", "sample_id": 3}, Rollout(7, "Rome"), "Venice")
    assert [session.add(one).sample_id for one in given] == [7, 3, 0, 1]
    assert [one.answer for one in session.pool.rollouts] == ["Rome", "Venice", "Venice", "Mantua"]
    assert (session.decision().group, session.chosen in (1, 3), session.state.agrees) == ((1, 3), True, True)


def test_a_method_is_named_or_given_and_a_budget_is_positive() -> None:
    for name in ("evidence", "majority"):
        assert Session(QUESTION, name).add("Venice").answer == "Venice"
    with pytest.raises(UsageError, match="budget"):
        Session(QUESTION, budget=0)
