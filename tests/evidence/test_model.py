"""The logistic model and its fits: what they find, and what bounds and penalties do."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracerank.evidence.model import Floats, Logistic, fit_choice, fit_logistic, minimised, sigmoid, softmax

ONES = np.ones(4_000)


def choices(pools: int = 400, seed: int = 0) -> tuple[Floats, np.ndarray, Floats, Floats]:
    """Pools of four rows of which the first column decides, with noise; the second is noise."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(pools * 4, 2))
    noisy = (2 * values[:, 0] + rng.gumbel(size=len(values))).reshape(pools, 4)
    right = (noisy == noisy.max(axis=1, keepdims=True)).ravel().astype(float)
    return values, np.arange(0, pools * 4 + 1, 4), right, np.ones(pools)


def test_the_conditional_logit_finds_the_weights_that_made_the_choices() -> None:
    assert fit_choice(*choices(2_000), l2=0.01) == pytest.approx([2.0, 0.0], abs=0.15)


def test_a_logistic_regression_is_as_often_right_as_it_says() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=4_000)
    right = (rng.random(4_000) < 1 / (1 + np.exp(1 - 0.5 * odds))).astype(float)
    found = fit_logistic(np.column_stack([odds, ONES]), right, ONES, np.array([0.1, 0.0]))
    probabilities = 1 / (1 + np.exp(-found[0] * odds - found[1]))
    assert found == pytest.approx([0.5, -1.0], abs=0.1)
    assert probabilities.mean() == pytest.approx(right.mean(), abs=1e-6)  # as its gradient is zero
    assert probabilities[odds > 1].mean() == pytest.approx(right[odds > 1].mean(), abs=0.03)


def test_weights_are_drawn_toward_given_ones() -> None:
    rows, right = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])
    ones, goal = np.ones(2), np.array([3.0])
    near, far = (fit_logistic(rows, right, ones, np.array([penalty]), goal)[0] for penalty in (1e-6, 1e6))
    assert far == pytest.approx(3.0, abs=1e-4)
    assert near > far


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [
        ([(None, None), (None, None)], [2.0, -1.0]),
        ([(None, 1.5), (None, None)], [1.5, -0.75]),
        ([(3.0, None), (0.0, None)], [3.0, 0.0]),
        ([(0.0, 0.0), (0.0, 0.0)], [0.0, 0.0]),
    ],
)
def test_the_least_value_within_bounds_is_found(
    bounds: list[tuple[float | None, float | None]], wanted: list[float]
) -> None:
    curve = np.array([[2.0, 1.0], [1.0, 2.0]])
    centre = np.array([2.0, -1.0])

    def loss(at: Floats) -> tuple[float, Floats]:
        away = at - centre
        return float(away @ curve @ away) / 2, curve @ away

    assert minimised(loss, np.zeros(2), bounds) == pytest.approx(wanted, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 25), st.booleans())
def test_where_a_fit_ends_no_column_can_be_improved(seed: int, width: int, is_bound: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(120, width)) * rng.choice([0.01, 1.0, 30.0], width)
    right = (rng.random(120) < 0.4).astype(float)
    bounds = [(0.0, None) if is_bound else (None, None)] * width
    found = fit_logistic(rows, right, np.ones(120), np.full(width, 0.5), bounds=bounds)
    slope = rows.T @ (1 / (1 + np.exp(-rows @ found)) - right) + 0.5 * found
    free = found > 0 if is_bound else np.ones(width, bool)
    assert np.abs(slope[free]).max(initial=0) < 1e-3
    assert (slope[~free] > -1e-3).all()
    assert not is_bound or (found >= 0).all()


@pytest.mark.parametrize("l2", [0.1, 30.0, 3_000.0])
def test_where_a_choice_is_fitted_its_penalty_balances_what_the_rows_say(l2: float) -> None:
    rows, offsets, right, weights = choices(50)
    found = fit_choice(rows, offsets, right, weights, l2)
    given = np.concatenate([softmax(each @ found) for each in np.split(rows, offsets[1:-1])])
    assert rows.T @ (right - given) == pytest.approx(l2 * found, abs=1e-5)


def test_no_bounded_weight_points_the_wrong_way_and_an_idle_bound_changes_nothing() -> None:
    given_choices = choices()
    free = fit_choice(*given_choices, l2=3.0)
    assert fit_choice(*given_choices, l2=3.0, bounds=[(None, 0.0), (None, None)])[0] == 0
    assert fit_choice(*given_choices, l2=3.0, bounds=[(0.0, None), (None, None)]) == pytest.approx(free, abs=1e-6)


def test_scores_are_the_log_odds_of_rows_by_name_and_equal_rows_tie() -> None:
    model = Logistic({"a": 2.0, "c": -1.0}, 0.5)
    values = np.array([[1.0, 9.0, 3.0], [0.0, 9.0, 0.0]], np.float32)
    assert model.scores(values, ("a", "b", "c")).tolist() == [-0.5, 0.5]
    assert model.log_odds({"a": 1.0, "b": 9.0, "c": 3.0}) == -0.5
    assert model.probability({"a": 1.0, "c": 3.0}) == pytest.approx(sigmoid(-0.5))
    assert softmax(model.scores(values, ("a", "b", "c"))).sum() == pytest.approx(1)
    many = Logistic({str(column): 1 / (column + 3) for column in range(18)})
    row = np.random.default_rng(0).normal(size=18).astype(np.float32)
    for count in range(2, 40):
        assert len(set(many.scores(np.tile(row, (count, 1)), [str(column) for column in range(18)]).tolist())) == 1


def test_extreme_odds_stay_probabilities() -> None:
    assert 0 < sigmoid(-1e308) < 1e-12
    assert 1 - 1e-12 < sigmoid(1e308) < 1
    assert sigmoid(30) == sigmoid(31) > sigmoid(29)
    assert sigmoid(-30) == sigmoid(-31) < sigmoid(-29)


def test_a_record_is_read_back_and_a_changed_weight_is_found() -> None:
    model = Logistic({"a": 0.1, "b": -2.0}, 0.3)
    record = json.loads(json.dumps(model.record()))
    assert Logistic.of_record(record, ("a", "b", "c")) == model
    record["weights"]["a"] = 0.2
    with pytest.raises(ValueError, match="checksum"):
        Logistic.of_record(record, ("a", "b"))
    with pytest.raises(ValueError, match="no column is called b"):
        Logistic.of_record(model.record(), ("a",))
    with pytest.raises(ValueError, match="finite"):
        Logistic({"a": float("inf")})
