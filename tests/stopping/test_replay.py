"""Replays by hand: where rules stop on a walk, and the figures in the table and the sentence."""

import pytest

import tracerank as tr
from tests.worlds import generate_pools
from tracerank.errors import UsageError
from tracerank.methods import load_selector
from tracerank.stopping.replay import BETA, FIXED, GAIN, Outcome, Replay, Walk, compare_rules, replay, walks_of
from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, State
from tracerank.votes.voting import MajorityVote


def walk(question: int, *steps: tuple[tuple[int, ...], float, float]) -> Walk:
    """Votes, confidence and correctness after each rollout."""
    states = tuple(State(n, votes, sure, agrees=True) for n, (votes, sure, _) in enumerate(steps, start=1))
    return Walk(question, states, tuple(right for _, _, right in steps))


CLEAR = walk(0, ((1,), 0.7, 1.0), ((2,), 0.9, 1.0), ((3,), 0.95, 1.0), ((4,), 0.97, 1.0))
HARD = walk(1, ((1,), 0.3, 0.0), ((1, 1), 0.3, 0.0), ((2, 1), 0.5, 1.0), ((2, 1, 1), 0.5, 1.0))


def test_rules_end_where_they_say() -> None:
    assert [CLEAR.end(rule) for rule in (FixedK(3), BetaRule(0.85), BetaRule(0.999))] == [3, 2, 4]
    assert [HARD.end(rule) for rule in (FixedK(1), BetaRule(0.85), ExpectedGain(target=0.4))] == [1, 4, 3]


def test_accuracy_and_rollouts_are_means_over_questions() -> None:
    made = compare_rules([CLEAR, HARD])
    fixed = {one.rule: one for one in made.outcomes if one.family == FIXED}
    assert [fixed[f"fixed {k}"].accuracy for k in (1, 2, 3, 4)] == [0.5, 0.5, 1.0, 1.0]
    assert fixed["fixed 2"].loss == (-0.5, -1.0, 0.0)
    assert made.full.accuracy == 1.0
    beta = next(one for one in made.outcomes if one.rule == "Beta 0.85")
    assert (beta.rollouts, beta.accuracy) == (3.0, 1.0)


def test_orders_of_a_question_count_as_one() -> None:
    twice = compare_rules([CLEAR, HARD, HARD])
    assert (twice.questions, twice.orders) == (2, 1.5)
    assert next(one for one in twice.outcomes if one.rule == "fixed 1").accuracy == 0.5


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        ((-0.002, -0.01, 0.004), "gain within 0.1: the same accuracy as 8 rollouts (75.0%) with 3.0 on average "
                                 "(-0.2 points [-1.0, +0.4])"),
        ((-0.02, -0.05, 0.01), "gain within 0.1: 2.0 points less accurate than 8 rollouts (75.0%) with 3.0 on average "
                               "(-2.0 points [-5.0, +1.0])"),
    ],
)  # fmt: skip
def test_the_sentence_gives_the_loss_and_then_its_interval(loss: tuple[float, float, float], sentence: str) -> None:
    def gain(name: str, rollouts: float, accuracy: float, loss: tuple[float, float, float]) -> Outcome:
        return Outcome(GAIN, name, rollouts, accuracy, loss)

    worse = gain("gain within 0.2", 2.0, 0.5, (-0.25, -0.3, -0.2))
    full = Outcome(FIXED, "fixed 8", 8.0, 0.75, (0.0, 0.0, 0.0))
    made = Replay(8, 10, 1.0, (full, worse, gain("gain within 0.1", 3.0, 0.75 + loss[0], loss)))
    assert made.sentence == sentence


def test_the_cheapest_setting_without_a_loss_is_named() -> None:
    made = compare_rules([CLEAR, walk(1, ((1,), 0.8, 1.0), ((2,), 0.9, 1.0), ((3,), 0.9, 1.0), ((4,), 0.9, 1.0))])
    assert made.sentence.startswith("gain within 0.2: the same accuracy as 4 rollouts (100.0%) with 1.0 on average")


def test_walks_are_the_same_random_orders_for_every_method() -> None:
    pools = generate_pools(5, seed=3, k=4)
    evidence, votes = (list(walks_of(pools, method, 3, orders=2)) for method in (load_selector(), MajorityVote()))
    assert len(evidence) == len(votes) == 10
    assert all(len(each.states) == len(each.right) == 3 for each in evidence)
    assert [each.states[-1].votes for each in evidence] == [each.states[-1].votes for each in votes]


def test_pools_are_replayed_at_their_most_common_size() -> None:
    pools = [*generate_pools(4, seed=3, k=4), *generate_pools(2, seed=4, k=3)]
    calls = []
    made = replay(pools, MajorityVote(), orders=2, on_walk=lambda: calls.append(1))
    assert (made.k, made.questions, made.orders, made.left_out, len(calls)) == (4, 4, 2, 2, 8)
    assert {one.family for one in made.outcomes} >= {FIXED, BETA, GAIN}
    [table] = made.tables()
    assert [row[0] for row in table.rows[:2]] == ["fixed 1", "fixed 2"]
    assert table.notes[-1] == "Left out: 2 questions with fewer than 4 rollouts."
    assert made.record()["sentence"] == made.sentence


@pytest.mark.parametrize(("count", "k"), [(0, None), (2, 9)])
def test_nothing_to_replay_is_refused(count: int, k: int | None) -> None:
    with pytest.raises(UsageError, match="enough rollouts"):
        replay(generate_pools(count, seed=3, k=4) if count else [], MajorityVote(), k)


def test_pools_without_labels_are_refused() -> None:
    pool = tr.Pool(tr.Question("q", "Where?"), (tr.Rollout(0, "Rome"), tr.Rollout(1, "Rome")))
    with pytest.raises(UsageError, match="not labelled"):
        replay([pool], MajorityVote())
