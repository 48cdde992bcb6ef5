"""How certain a difference is: paired bootstrap over questions and the exact sign test."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
LEVEL = 0.95
_CELLS = 2**21
"""Drawn at a time: 16 MB of indices, which stay near the cache."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Intervals:
    """One interval per column; NaN where a column has no value."""

    low: Floats
    high: Floats


def intervals(values: Floats, seed: int = 0, resamples: int = RESAMPLES) -> Intervals:
    """Percentile intervals of the column means of (questions, columns); NaN is missing.

    All columns see the same resamples, so intervals of differences are paired.
    """
    means = resampled_means(values, seed, resamples)
    tail = (1 - LEVEL) / 2
    bounds = np.full((2, means.shape[1]), np.nan)
    has_value = ~np.isnan(means).all(axis=0)
    # A resample may miss every known value of a sparse column; the others make its interval.
    bounds[:, has_value] = np.nanquantile(means[:, has_value], (tail, 1 - tail), axis=0)
    return Intervals(*bounds)


def resampled_means(values: Floats, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """(resamples, columns): column means of questions drawn with replacement."""
    questions, columns = values.shape
    if not questions or not columns:
        return np.full((resamples, columns), np.nan)
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, columns))
    block = max(1, _CELLS // questions)
    for begin in range(0, resamples, block):
        size = min(block, resamples - begin)
        # How often each question was drawn, as one count over (resample, question) cells.
        drawn = rng.integers(0, questions, (size, questions)) + questions * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * questions).reshape(size, questions).astype(np.float64)
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN, and meant
            means[begin : begin + size] = (counts @ filled) / (counts @ known)
    return means


def sign_test(differences: Floats) -> tuple[int, int, float]:
    """Wins, losses and the exact two-sided p of paired differences; NaN and 0 do not count.

    p is the probability of a split at least as uneven if both were equally good.
    """
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    thrown, ways, tail = wins + losses, 1, 1
    for heads in range(1, min(wins, losses) + 1):
        ways = ways * (thrown - heads + 1) // heads  # a binomial coefficient in whole numbers
        tail += ways
    return wins, losses, min(1.0, 2 * tail / 2**thrown)
