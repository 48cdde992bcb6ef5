"""What counts as right, and the paper's averages."""

from itertools import combinations

import pytest

from tracerank.evaluation.metrics import first_sample, long_horizon_mean, mean_sample, oracle, pass_at_k
from tracerank.pools.correctness import Outcome, best_of_group, choice, correctness, is_judged, written
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout


def pool(*rollouts: Rollout, references: tuple[str, ...] = ()) -> Pool:
    return Pool.of(Question("q", "?", references), rollouts)


def test_a_label_goes_before_exact_match() -> None:
    assert correctness(Rollout(0, "Paris", label=0.0), ["Paris"]) == 0.0
    assert correctness(Rollout(0, "the Paris!"), ["Paris"]) == 1.0
    assert correctness(Rollout(0, "Paris"), []) is None


def test_failed_and_empty_rollouts_are_wrong_whatever_their_label() -> None:
    assert correctness(Rollout(0, None, label=1.0), []) == 0.0
    assert correctness(Rollout(0, "", label=1.0), []) == 0.0
    assert correctness(Rollout(0, "Paris", label=1.0, problem="broken"), []) == 0.0


def test_to_choose_nothing_is_wrong() -> None:
    assert choice(pool(Rollout(0, None), references=("Paris",)), None) == Outcome(None, None, 0.0, 0.0)
    assert choice(pool(Rollout(0, None, label=0.0)), None) == Outcome(None, None, 0.0, None)


def test_f1_needs_references() -> None:
    assert choice(pool(Rollout(0, "Paris", label=1.0)), 0).f1 is None
    assert choice(pool(Rollout(0, "Paris France"), references=("Paris",)), 0).f1 == pytest.approx(2 / 3)


def test_a_pool_is_judged_by_a_label_or_a_reference() -> None:
    assert not is_judged(pool(Rollout(0, "x")))
    assert is_judged(pool(Rollout(0, "x"), Rollout(1, "y", label=0.0)))
    assert is_judged(pool(Rollout(0, "x"), references=("y",)))


def test_the_single_rollout_of_webqa_is_the_first_even_when_it_failed() -> None:
    mixed = pool(Rollout(7, "right", label=1.0), Rollout(3, None, label=0.0))
    assert first_sample(mixed) == Outcome(None, 3, 0.0, None)


def test_the_single_rollout_of_browsing_is_the_mean_of_judged_samples() -> None:
    # Right, wrong, empty (wrong) and never judged (left out).
    mixed = pool(Rollout(0, "a", label=1.0), Rollout(1, "b", label=0.0), Rollout(2, None), Rollout(3, "c"))
    assert mean_sample(mixed) == Outcome(None, None, 1 / 3, None)


def test_the_oracle_looks_at_every_sample() -> None:
    # WebQA would not retain a rollout without evidence; the oracle counts it.
    assert oracle(pool(Rollout(0, "a", label=0.0), Rollout(1, "b", label=1.0))) == Outcome("b", 1, 1.0, None)
    assert oracle(pool(Rollout(0, "a", label=0.0))) == Outcome(None, None, 0.0, None)


def test_the_oracle_is_unknown_while_an_unjudged_answer_may_be_right() -> None:
    assert oracle(pool(Rollout(0, "a", label=0.0), Rollout(1, "b"))).correct is None
    assert oracle(pool(Rollout(0, "a", label=1.0), Rollout(1, "b"))).correct == 1.0


def test_the_oracle_takes_the_best_f1() -> None:
    found = oracle(pool(Rollout(0, "red wine"), Rollout(1, "white wine sauce"), references=("white wine",)))
    assert found.correct == 0.0
    assert found.f1 == pytest.approx(0.8)


def test_a_newly_written_answer_is_judged_by_the_references() -> None:
    assert written(pool(references=("Paris",)), "paris").correct == 1.0
    assert written(pool(), "paris").correct is None


def test_a_newly_written_answer_takes_the_label_of_a_rollout_that_gave_the_same() -> None:
    judged = pool(Rollout(0, "The Paris!", label=1.0), Rollout(1, "Rome", label=0.0))
    assert [written(judged, answer).correct for answer in ("paris", "rome", "Oslo")] == [1.0, 0.0, None]


def test_the_best_of_a_group_is_unknown_only_when_nobody_judged_any() -> None:
    mixed = pool(Rollout(0, "a", label=0.0), Rollout(1, "b"), Rollout(2, "c", label=1.0))
    assert best_of_group(mixed, (0, 2)) == 1.0
    assert best_of_group(mixed, (0, 1)) == 0.0
    assert best_of_group(mixed, (1,)) is None


def test_pass_at_k_equals_the_share_of_subsets_with_a_correct_sample() -> None:
    for samples in range(1, 7):
        for correct in range(samples + 1):
            for k in range(1, samples + 1):
                drawn = list(combinations([True] * correct + [False] * (samples - correct), k))
                assert pass_at_k(correct, samples, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))


@pytest.mark.parametrize("numbers", [(3, 2, 1), (-1, 2, 1), (1, 2, 3), (1, 2, 0)])
def test_pass_at_k_refuses_impossible_counts(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        pass_at_k(*numbers)


def test_long_horizon_figures_weigh_backbones_within_a_dataset_then_datasets() -> None:
    accuracies = {("frames", "a"): 0.5, ("frames", "b"): 0.7, ("gaia", "a"): 0.2}
    assert long_horizon_mean(accuracies) == pytest.approx((0.6 + 0.2) / 2)
    with pytest.raises(ValueError, match="no accuracies"):
        long_horizon_mean({})
