"""Intervals and the sign test, against slow twins and known cases."""

from math import comb, sqrt

import numpy as np
import pytest

from tracerank.evaluation.bootstrap import intervals, resampled_means, sign_test


def test_resampled_means_spread_as_the_theory_says() -> None:
    values = (np.random.default_rng(3).random((400, 1)) < 0.3).astype(float)
    means = resampled_means(values, seed=1, resamples=4000)
    assert means.mean() == pytest.approx(values.mean(), abs=2e-3)
    assert means.std() == pytest.approx(sqrt(values.var() / 400), rel=0.05)


def test_columns_see_the_same_resamples_so_differences_are_paired() -> None:
    base = (np.random.default_rng(0).random(200) < 0.5).astype(float)
    values = np.stack([base, base + 0.1], axis=1)
    means = resampled_means(values, seed=2, resamples=500)
    assert np.allclose(means[:, 1] - means[:, 0], 0.1)


def test_missing_values_are_left_out_of_their_column_only() -> None:
    values = np.array([[1.0, 1.0], [0.0, np.nan], [1.0, 1.0], [0.0, np.nan]])
    found = intervals(values, resamples=2000)
    assert (found.low[1], found.high[1]) == (1.0, 1.0)
    assert found.low[0] < 0.5 < found.high[0]
    assert np.isnan(intervals(np.full((5, 1), np.nan), resamples=50).low).all()


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (9, 3), (4, 4), (1, 0)])
def test_the_sign_test_is_the_exact_binomial(wins: int, losses: int) -> None:
    *counts, p = sign_test(np.array([1.0] * wins + [-1.0] * losses + [0.0] * 5 + [np.nan]))
    tail = sum(comb(wins + losses, count) for count in range(min(wins, losses) + 1)) / 2 ** (wins + losses)
    assert counts == [wins, losses]
    assert p == pytest.approx(min(1.0, 2 * tail))
