"""Fitting on arrays: the conditional logit, its calibration, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import pool_of, ranked, rollout
from tracerank.errors import TrainingError
from tracerank.evidence.fit import (
    FeatureExamples,
    FeatureFitPlan,
    LinearPlan,
    TreePlan,
    fit_calibration,
    fit_features,
    fit_linear,
    fit_trees,
    folds_of,
    labelled_tables,
)
from tracerank.selectors.features.model import LinearScorer, trees_of_dump
from tracerank.selectors.features.table import DOWN, FEATURES, UP

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


def directed(*directions: int) -> FeatureExamples:
    return replace(choices(), directions=np.array(directions))


def test_no_weight_of_a_monotone_plan_points_against_its_feature() -> None:
    free = fit_linear(directed(DOWN, 0, 0), ALL)["weights"]
    held = fit_linear(directed(DOWN, 0, 0), ALL, LinearPlan(is_monotone=True))["weights"]
    assert free[0] > 0
    assert held[0] == 0


def test_a_direction_that_the_data_agree_with_changes_nothing() -> None:
    free = fit_linear(directed(UP, 0, 0), ALL)["weights"]
    held = fit_linear(directed(UP, 0, 0), ALL, LinearPlan(is_monotone=True))["weights"]
    np.testing.assert_allclose(held, free, atol=1e-3)


@pytest.mark.parametrize("is_monotone", [True, False])
def test_monotone_trees_never_fall_where_a_feature_may_only_raise(is_monotone: bool) -> None:
    pytest.importorskip("lightgbm")
    examples = choices(300)
    hump = np.abs(examples.values[:, 0]) < 0.5  # right in the middle: free trees rise and fall
    taught = replace(examples, right=hump.astype(np.float64), directions=np.array([UP, 0, 0]))
    trees = trees_of_dump(fit_trees(taught, TreePlan(is_monotone=is_monotone)))
    line = np.zeros((50, 3))
    line[:, 0] = np.linspace(-3, 3, 50)
    assert (np.diff(trees.scores(line)) >= -1e-12).all() == is_monotone


def test_a_monotone_plan_without_directions_is_refused() -> None:
    with pytest.raises(TrainingError, match="direction"):
        fit_linear(choices(), ALL, LinearPlan(is_monotone=True))


def test_votes_and_evidence_never_count_against_an_answer_in_a_monotone_plan() -> None:
    # The lonely answer that no text holds is the right one, so that a free fit turns votes and evidence round.
    text = "Rome is the capital."
    pools = [
        pool_of(
            *(rollout("Rome", ranked("capital", text), label=0.0) for _ in range(3)),
            rollout("Oslo", ranked("capital", text), label=1.0),
            question=f"What is the capital of {number}?",
        )
        for number in range(10)
    ]
    tables = [table for pool in pools for table in labelled_tables(pool)]
    signs = np.array([feature.direction for feature in FEATURES])
    against = []
    for is_monotone in (False, True):
        model = fit_features(tables, FeatureFitPlan(LinearPlan(is_monotone=is_monotone), folds=1))
        (scorer, _), *_ = model.scorers
        assert isinstance(scorer, LinearScorer)
        against.append(int((scorer.weights * signs < 0).sum()))
    assert against[0] > 0
    assert against[1] == 0


def test_all_votes_and_support_have_a_direction_but_what_is_asked_for() -> None:
    free = {f.name for f in FEATURES if f.family in ("votes", "support", "cross_support") and f.direction != UP}
    assert free == {"agreement_outside", "in_own_queries", "in_others_queries"}
