"""A session: rollouts in any form, the same decision as a whole pool, a verdict with its reason."""

import pytest
from hypothesis import given, settings

from tests.builders import ranked, rollout
from tests.evidence.test_choosing import QUESTION, TEXTS, pools
from tracerank.errors import UsageError
from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
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


def test_a_folder_is_a_selector_and_a_budget_is_positive() -> None:
    assert Session(QUESTION, "evidence").add("Venice").answer == "Venice"
    with pytest.raises(UsageError, match="budget"):
        Session(QUESTION, budget=0)
