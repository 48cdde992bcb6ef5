"""Fitting on arrays: the conditional logit, its calibration, and what is refused."""

import numpy as np
import pytest

from tracerank.errors import TrainingError
from tracerank.selectors.features.fit import FeatureExamples, LinearPlan, fit_calibration, fit_linear, folds_of

pytest.importorskip("scipy")


def choices(pools: int = 400, seed: int = 0) -> FeatureExamples:
    """Pools of four rows; the first feature decides with noise, the second is noise, the third is often missing."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(pools * 4, 3))
    noisy = (2 * values[:, 0] + rng.gumbel(size=len(values))).reshape(pools, 4)
    right = (noisy == noisy.max(axis=1, keepdims=True)).ravel()
    values[rng.random(len(values)) < 0.5, 2] = np.nan
    return FeatureExamples(values, np.arange(0, pools * 4 + 1, 4), right, np.ones(pools))


ALL = np.ones(3, np.bool_)


def test_the_conditional_logit_finds_the_weights_that_made_the_choices() -> None:
    fitted = fit_linear(choices(2_000), ALL, LinearPlan(l2=0.01))
    weights = fitted["weights"] / fitted["scale"]
    assert weights[0] == pytest.approx(2.0, abs=0.2)
    assert abs(weights[1]) < 0.15


def test_a_feature_that_must_not_be_used_has_no_weight() -> None:
    assert fit_linear(choices(), np.array([False, True, True]))["weights"][0] == 0


def test_the_penalty_shrinks_weights() -> None:
    loose, tight = (np.abs(fit_linear(choices(), ALL, LinearPlan(l2))["weights"]).sum() for l2 in (0.1, 100))
    assert tight < loose / 2


def test_pools_without_a_choice_teach_nothing() -> None:
    examples = choices(20)
    plain = FeatureExamples(
        np.concatenate([examples.values, np.ones((3, 3))]),
        np.concatenate([examples.offsets, [80, 82, 83]]),
        np.concatenate([examples.right, [True, True, False]]),
        np.ones(23),
    )
    np.testing.assert_allclose(fit_linear(plain, ALL)["weights"], fit_linear(examples, ALL)["weights"], atol=1e-6)


def test_nothing_to_learn_from_is_an_error() -> None:
    examples = FeatureExamples(np.ones((2, 3)), np.array([0, 2]), np.array([True, True]), np.ones(1))
    with pytest.raises(TrainingError, match="both right and wrong"):
        fit_linear(examples, ALL)


def test_calibrated_chances_are_as_often_right_as_they_say() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=4_000)
    right = rng.random(4_000) < 1 / (1 + np.exp(-(0.5 * odds - 1)))
    values = np.column_stack([odds, np.ones(4_000)])
    fitted = fit_calibration(values, right, np.ones(4_000), l2=0.1)
    inputs = (values - fitted["center"]) / fitted["scale"]
    chances = 1 / (1 + np.exp(-inputs @ fitted["weights"]))
    assert chances.mean() == pytest.approx(right.mean(), abs=0.01)
    assert chances[odds > 1].mean() == pytest.approx(right[odds > 1].mean(), abs=0.03)


def test_equal_keys_share_a_fold_and_folds_are_of_equal_size() -> None:
    keys = [f"question {number // 3}" for number in range(300)]
    folds = folds_of(keys, 5)
    assert all(folds[place] == folds[place - place % 3] for place in range(300))
    assert np.bincount(folds).tolist() == [60] * 5
