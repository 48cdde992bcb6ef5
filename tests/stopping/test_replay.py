"""Replays by hand: where rules stop on a walk, and what the table makes of it."""

import pytest

from tests.worlds import generate_pools
from tracerank.errors import UsageError
from tracerank.stopping.replay import BETA, FIXED, GAIN, Walk, replay, walks_of
from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, State
from tracerank.votes.selector import load_selector
from tracerank.votes.voting import MajorityVote


def walk(question: int, *steps: tuple[tuple[int, ...], float, float]) -> Walk:
    """Votes, confidence and rightness after each rollout."""
    states = tuple(State(n, votes, sure, agrees=True) for n, (votes, sure, _) in enumerate(steps, start=1))
    return Walk(question, states, tuple(right for _, _, right in steps))


CLEAR = walk(0, ((1,), 0.7, 1.0), ((2,), 0.9, 1.0), ((3,), 0.95, 1.0), ((4,), 0.97, 1.0))
HARD = walk(1, ((1,), 0.3, 0.0), ((1, 1), 0.3, 0.0), ((2, 1), 0.5, 1.0), ((2, 1, 1), 0.5, 1.0))


def test_rules_end_where_they_say() -> None:
    assert [CLEAR.end(rule) for rule in (FixedK(3), BetaRule(0.85), BetaRule(0.999))] == [3, 2, 4]
    assert [HARD.end(rule) for rule in (FixedK(1), BetaRule(0.85), ExpectedGain(target=0.4))] == [1, 4, 3]


def test_accuracy_and_rollouts_are_means_over_questions() -> None:
    made = replay([CLEAR, HARD])
    fixed = {one.rule: one for one in made.outcomes if one.family == FIXED}
    assert [fixed[f"fixed {k}"].accuracy for k in (1, 2, 3, 4)] == [0.5, 0.5, 1.0, 1.0]
    assert fixed["fixed 2"].loss[0] == -0.5
    assert made.full.accuracy == 1.0
    beta = next(one for one in made.outcomes if one.rule == "Beta 0.85")
    assert (beta.rollouts, beta.accuracy) == (3.0, 1.0)
    assert all(one.over_beta is None for one in made.outcomes if one.family != GAIN)
    assert made.table().rows[0][0] == "fixed 1"


def test_orders_of_a_question_count_as_one() -> None:
    twice = replay([CLEAR, HARD, HARD])
    assert twice.questions == 2
    assert next(one for one in twice.outcomes if one.rule == "fixed 1").accuracy == 0.5


def test_the_sentence_names_the_cheapest_setting_that_loses_nothing() -> None:
    made = replay([CLEAR, walk(1, ((1,), 0.8, 1.0), ((2,), 0.9, 1.0), ((3,), 0.9, 1.0), ((4,), 0.9, 1.0))])
    assert made.sentence.startswith("gain within 0.2: the same accuracy as 4 rollouts (100.0%) with 1.0 on average")


def test_walks_are_random_orders_of_k_rollouts_the_same_for_every_method() -> None:
    pools = generate_pools(5, seed=3, k=4)
    ours, votes = (list(walks_of(pools, method, 3, orders=2)) for method in (load_selector(), MajorityVote()))
    assert len(ours) == len(votes) == 10
    assert all(len(each.states) == len(each.right) == 3 for each in ours)
    assert [each.states[-1].votes for each in ours] == [each.states[-1].votes for each in votes]
    assert not list(walks_of(pools, MajorityVote(), 5))
    made = replay(ours)
    assert {one.family for one in made.outcomes} >= {FIXED, BETA, GAIN}


def test_nothing_to_replay_is_refused() -> None:
    with pytest.raises(UsageError, match="enough rollouts"):
        replay([])
