"""Scorers of feature tables: a linear one and boosted trees, and a blend of several. Fitting is not done here."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracerank.selectors.features.trees import Trees

Floats = NDArray[np.floating[Any]]


class Scorer(Protocol):
    """Scores of a pool's rows; only differences within the pool mean anything."""

    @property
    def kind(self) -> str: ...

    def scores(self, values: Floats) -> NDArray[np.float64]: ...

    def arrays(self) -> dict[str, NDArray[Any]]: ...


@dataclass(frozen=True, slots=True)
class LinearScorer:
    """Weights of standardised features; what is missing counts as the mean."""

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    """0 for a feature that is not used."""

    @property
    def kind(self) -> str:
        return "linear"

    def scores(self, values: Floats) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.nan_to_num((values - self.center) / self.scale) @ self.weights
        return found

    def parts(self, row: Floats) -> NDArray[np.float64]:
        """What each feature adds to the score of a row."""
        found: NDArray[np.float64] = np.nan_to_num((row - self.center) / self.scale) * self.weights
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"center": self.center, "scale": self.scale, "weights": self.weights}


@dataclass(frozen=True, slots=True)
class TreeScorer:
    """Boosted trees over the features and how far each lies above the best other row."""

    trees: Trees

    @property
    def kind(self) -> str:
        return "trees"

    def scores(self, values: Floats) -> NDArray[np.float64]:
        return self.trees.scores(with_leads(values, np.array([0, len(values)])))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.trees.arrays()


def with_leads(values: Floats, offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values, and each less the largest of the pool's other rows: [rows, 2 * features]."""
    values = np.asarray(values, np.float64)
    leads = np.full_like(values, np.nan)
    for start, end in pairwise(offsets.tolist()):
        if end - start > 1:
            rows = values[start:end]
            known = np.where(np.isnan(rows), -np.inf, rows)
            ordered = np.sort(known, axis=0)
            rivals = np.where(known == ordered[-1], ordered[-2], ordered[-1])
            leads[start:end] = rows - np.where(np.isinf(rivals), np.nan, rivals)
    return np.concatenate([values, leads], axis=1)


def log_chances(scorers: Sequence[tuple[Scorer, float]], values: Floats) -> NDArray[np.float64]:
    """Log chance of each row to be the right one, if one is: the weighted mean of the scorers' log softmax."""
    total = np.zeros(len(values))
    for scorer, weight in scorers:
        total += weight * log_softmax(scorer.scores(values))
    return log_softmax(total / sum(weight for _, weight in scorers))


def log_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores as log chances."""
    shifted: NDArray[np.float64] = scores - scores.max(initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum()) if len(scores) else shifted
