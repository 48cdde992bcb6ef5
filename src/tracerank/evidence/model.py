"""The one logistic model, its fits, and its record in a description.

Selection, confidence and stopping all use it: rows of named numbers, a weight for each, and a bias. Two losses fit it:
``fit_logistic`` for right or wrong rows, ``fit_choice`` for the right row among those of a pool. Both take bounds, so
weights can be kept to one sign, and minimise with a projected quasi-Newton method that suits a few dozen columns.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bounds = Sequence[tuple[float | None, float | None]]
"""Per column the least and the largest weight; None: unbounded."""

MAX_ODDS = 30.0
"""Log odds beyond this bound say nothing more."""
CHECKSUM = "checksum"
_MAX_STEPS, _MAX_HALVINGS = 500, 40
_TOLERANCE = 1e-9
"""Of the projected gradient, per unit of the loss."""
_ROUNDING = 1e-15
"""Of a step's gain, per unit of the loss."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """Log odds that are linear in named columns."""

    weights: Mapping[str, float]
    """Column to weight; other columns weigh nothing."""
    bias: float = 0.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (*self.weights.values(), self.bias))):
            raise ValueError("weights and bias must be finite")

    def log_odds(self, row: Mapping[str, float]) -> float:
        """Of one row by name."""
        return self.bias + math.fsum(weight * row[name] for name, weight in self.weights.items())

    def probability(self, row: Mapping[str, float]) -> float:
        """Between 0 and 1."""
        return sigmoid(self.log_odds(row))

    def scores(self, values: NDArray[np.floating[Any]], columns: Sequence[str]) -> Floats:
        """The log odds of rows whose columns have these names."""
        weights = np.array([self.weights.get(name, 0.0) for name in columns])
        # Row by row alike, which BLAS is not: equal rows must tie.
        found: Floats = np.add.reduce(values * weights, axis=1) + self.bias
        return found

    def record(self) -> dict[str, Any]:
        """In plain values, with a checksum."""
        numbers = {"weights": dict(self.weights), "bias": self.bias}
        return {**numbers, CHECKSUM: _checksum(numbers)}

    @classmethod
    def of_record(cls, record: Mapping[str, Any], columns: Iterable[str]) -> "Logistic":
        """The model of a record; raises ValueError, KeyError or TypeError where it is damaged."""
        weights = {str(name): float(weight) for name, weight in record["weights"].items()}
        if unknown := weights.keys() - set(columns):
            raise ValueError(f"no column is called {', '.join(sorted(unknown))}")
        numbers = {"weights": weights, "bias": float(record["bias"])}
        if (wanted := record.get(CHECKSUM)) is not None and wanted != _checksum(numbers):
            raise ValueError(f"the weights have another checksum than {wanted}")
        return cls(weights, float(record["bias"]))


def _checksum(numbers: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(numbers, sort_keys=True).encode(), digest_size=16).hexdigest()


def sigmoid(log_odds: float) -> float:
    """The probability of bounded log odds."""
    return 1 / (1 + math.exp(-min(max(log_odds, -MAX_ODDS), MAX_ODDS)))


def softmax(scores: Floats) -> Floats:
    """Probabilities of the rows of one pool, of which one is right."""
    powers: Floats = np.exp(scores - np.maximum.reduce(scores))
    found: Floats = powers / np.add.reduce(powers)
    return found


def fit_logistic(
    rows: Floats,
    right: Floats,
    weights: Floats,
    penalties: Floats,
    toward: Floats | None = None,
    bounds: Bounds | None = None,
) -> Floats:
    """Weights of the columns of a logistic regression, drawn toward given ones; an intercept is a column of ones.

    ``right`` is between 0 and 1, ``weights`` are of rows, ``penalties`` of squared differences from ``toward``. With
    the log odds of another model and ones as columns this is Platt scaling.
    """
    goal = np.zeros(rows.shape[1]) if toward is None else toward

    def loss(found: Floats) -> tuple[float, Floats]:
        odds = rows @ found
        away = found - goal
        value = (weights * (np.logaddexp(0, odds) - right * odds)).sum() + 0.5 * (penalties * away**2).sum()
        probabilities = 1 / (1 + np.exp(-np.clip(odds, -MAX_ODDS, MAX_ODDS)))
        return float(value), rows.T @ (weights * (probabilities - right)) + penalties * away

    return minimised(loss, goal, bounds)


def fit_choice(
    rows: Floats, offsets: NDArray[np.int64], right: Floats, weights: Floats, l2: float, bounds: Bounds | None = None
) -> Floats:
    """Weights of the columns of a conditional logit: -log of the expected rightness of a row drawn in each pool.

    ``offsets`` [pools + 1] delimit the rows of a pool; every pool needs a row that is right; ``weights`` are of pools.
    """
    starts = offsets[:-1]
    pool_of_row = np.repeat(np.arange(len(starts)), np.diff(offsets))
    row_weights = weights[pool_of_row]
    with np.errstate(divide="ignore"):
        worth = np.log(right)

    def log_sums(scores: Floats) -> tuple[Floats, Floats]:
        """Per pool the log of summed exponentials, per row its share of the sum."""
        top = np.maximum.reduceat(scores, starts)
        powers = np.exp(scores - top[pool_of_row])
        sums = np.add.reduceat(powers, starts)
        return top + np.log(sums), powers / sums[pool_of_row]

    def loss(found: Floats) -> tuple[float, Floats]:
        scores = rows @ found
        everything, probabilities = log_sums(scores)
        of_right, targets = log_sums(scores + worth)
        value = (weights * (everything - of_right)).sum() + 0.5 * l2 * (found**2).sum()
        return float(value), rows.T @ ((probabilities - targets) * row_weights) + l2 * found

    return minimised(loss, np.zeros(rows.shape[1]), bounds)


def minimised(loss: Callable[[Floats], tuple[float, Floats]], start: Floats, bounds: Bounds | None = None) -> Floats:
    """Where a smooth function, given with its gradient, is least within the bounds: projected BFGS.

    The Hessian is estimated from the steps, and each step solves for the columns that are not held at a bound.
    """
    low = np.array([-np.inf if bound is None else bound for bound, _ in bounds or [(None, None)] * len(start)])
    high = np.array([np.inf if bound is None else bound for _, bound in bounds or [(None, None)] * len(start)])
    at = np.clip(np.asarray(start, np.float64), low, high)
    value, slope = loss(at)
    hessian = np.eye(len(at)) * max(1.0, float(np.abs(slope).max(initial=0.0)))
    for _ in range(_MAX_STEPS):
        free = ~(((at <= low) & (slope > 0)) | ((at >= high) & (slope < 0)))
        if np.abs(slope[free]).max(initial=0.0) <= _TOLERANCE * max(1.0, abs(value)):
            break
        step = np.zeros(len(at))
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], slope[free])
        for halving in range(_MAX_HALVINGS):
            there = np.clip(at + step * 0.5**halving, low, high)
            new_value, new_slope = loss(there)
            if new_value <= value + 1e-4 * float(slope @ (there - at)):
                break
        else:
            break  # the loss changes by less than its rounding error
        moved, turned = there - at, new_slope - slope
        bent = float(moved @ turned)
        if bent > 1e-12 * float(moved @ moved):
            pushed = hessian @ moved
            hessian += np.outer(turned, turned) / bent - np.outer(pushed, pushed) / float(moved @ pushed)
        gained = value - new_value
        at, value, slope = there, new_value, new_slope
        if gained <= _ROUNDING * max(1.0, abs(value)):
            break  # what is left of the gradient is rounding
    return at
