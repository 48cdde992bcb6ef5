"""Accuracy of methods on random subsets of pools, with paired intervals."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from tracerank.evaluation.bootstrap import intervals
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.votes.base import Method, decide_stream

DRAWS = 3
"""Random subsets of each pool."""
BASELINES = ("majority", "majority by meaning")
"""What every method is compared with."""

Right = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One method on one set at one K, in percent and points."""

    set: str
    k: int
    questions: int
    method: str
    right: float
    gain: float
    """Over the exact vote; then its 95% interval."""
    low: float
    high: float
    gain_over_meaning: float
    """Over the vote by meaning; then its 95% interval."""
    low_over_meaning: float
    high_over_meaning: float


def subset(pool: Pool, k: int, draw: int) -> Pool:
    """``k`` random rollouts in random order, so that no position stands for an agent."""
    rng = Random(zlib.crc32(f"{draw}/{pool.question.id}/{pool.question.text}".encode()))
    drawn = rng.sample(pool.rollouts, k)
    return Pool.of(pool.question, [replace(one, sample_id=index) for index, one in enumerate(drawn)])


def subsets(pools: Sequence[Pool], k: int) -> list[Pool]:
    """``DRAWS`` subsets of every pool, draw by draw."""
    return [subset(pool, k, draw) for draw in range(DRAWS) for pool in pools]


def measure(name: str, pools: Sequence[Pool], k: int, methods: Mapping[str, Method]) -> list[Row]:
    """A row per method; pools carry their labels."""
    drawn = subsets(pools, k)
    right = {title: _right(method, drawn, len(pools)) for title, method in methods.items()}
    rows = []
    for title, values in right.items():
        figures = [figure for over in BASELINES for figure in _gain(values - right[over])]
        rows.append(Row(name, k, len(pools), title, round(100 * float(values.mean()), 2), *figures))
    return rows


def _right(method: Method, pools: Sequence[Pool], questions: int) -> Right:
    """By question, how often the returned answer is right: the mean over its subsets."""
    found = [choice(pool, decision.sample_id).correct or 0.0 for pool, decision in decide_stream(method, pools)]
    mean: Right = np.reshape(found, (DRAWS, questions)).mean(axis=0)
    return mean


def _gain(differences: Right) -> tuple[float, float, float]:
    bounds = intervals(differences[:, None])
    return tuple(round(100 * float(value), 2) for value in (differences.mean(), bounds.low[0], bounds.high[0]))  # type: ignore[return-value]
