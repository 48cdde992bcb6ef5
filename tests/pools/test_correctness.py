"""How right answers are: by labels, else by the references."""

import pytest

from tracerank.pools.correctness import Outcome, choice, correctness, is_judged, written
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout


def pool(*rollouts: Rollout, references: tuple[str, ...] = ()) -> Pool:
    return Pool.of(Question("q", "?", references), rollouts)


def test_a_label_goes_before_exact_match_and_failed_rollouts_are_wrong() -> None:
    assert correctness(Rollout(0, "Paris", label=0.0), ["Paris"]) == 0.0
    assert correctness(Rollout(0, "the Paris!"), ["Paris"]) == 1.0
    assert correctness(Rollout(0, "Paris"), []) is None
    for failed in (Rollout(0, None, label=1.0), Rollout(0, "", label=1.0), Rollout(0, "x", label=1.0, problem="torn")):
        assert correctness(failed, ["x"]) == 0.0


def test_choosing_nothing_is_wrong_and_f1_needs_references() -> None:
    assert choice(pool(Rollout(0, None), references=("Paris",)), None) == Outcome(None, None, 0.0, 0.0)
    assert choice(pool(Rollout(0, "Paris", label=1.0)), 0).f1 is None
    assert choice(pool(Rollout(0, "Paris France"), references=("Paris",)), 0).f1 == pytest.approx(2 / 3)


def test_a_pool_is_judged_by_a_label_or_a_reference() -> None:
    assert not is_judged(pool(Rollout(0, "x")))
    assert is_judged(pool(Rollout(0, "x"), Rollout(1, "y", label=0.0)))
    assert is_judged(pool(Rollout(0, "x"), references=("y",)))


def test_a_written_answer_takes_the_label_of_a_rollout_that_gave_the_same_else_exact_match() -> None:
    judged = pool(Rollout(0, "The Paris!", label=1.0), Rollout(1, "Rome", label=0.0))
    assert [written(judged, answer).correct for answer in ("paris", "rome", "Oslo")] == [1.0, 0.0, None]
    assert written(pool(references=("Paris",)), "paris").correct == 1.0
