"""Fitting scorers of feature tables: arrays in, arrays out. Pools and selectors are the caller's matter.

Rows of one pool lie together; ``offsets`` says where each pool begins. Pools with only right or only wrong rows teach
nothing about choosing and are left out. Needs scipy; boosted trees need LightGBM.
"""

import hashlib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import TrainingError

Floats = NDArray[np.float64]
INSTALL = "pip install 'tracerank[fit]'"


@dataclass(frozen=True, slots=True)
class FeatureExamples:
    """Feature rows of many pools with what is right."""

    values: Floats
    """[rows, features]; NaN: missing."""
    offsets: NDArray[np.int64]
    """[pools + 1]"""
    right: Floats
    """How right each row is, 0 to 1."""
    weights: Floats
    """Per pool; subsets of one question share a weight of one."""

    def teaching(self) -> "FeatureExamples":
        """Only the pools that have both right and wrong rows."""
        sizes, pools = np.diff(self.offsets), len(self.weights)
        rights = np.bincount(np.repeat(np.arange(pools), sizes), self.right, pools)
        return self._kept((rights > 0) & (rights < sizes))

    def contested(self) -> "FeatureExamples":
        """Only the pools that have more than one row; all of these may be wrong."""
        return self._kept(np.diff(self.offsets) > 1)

    def _kept(self, keep: NDArray[np.bool_]) -> "FeatureExamples":
        sizes = np.diff(self.offsets)
        rows = np.repeat(keep, sizes)
        offsets = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
        return FeatureExamples(self.values[rows], offsets, self.right[rows], self.weights[keep])


@dataclass(frozen=True, slots=True)
class LinearPlan:
    """How the linear scorer is fitted."""

    l2: float = 3.0
    """Penalty of the squared weights of standardised features; a pool's loss counts its weight."""


@dataclass(frozen=True, slots=True)
class TreePlan:
    """How the trees are fitted: few, small and slow, because labelled pools are few."""

    rounds: int = 150
    leaves: int = 8
    learning_rate: float = 0.05
    least_in_leaf: int = 40
    feature_share: float = 0.5
    row_share: float = 0.7
    l2: float = 5.0
    seed: int = 0


def fit_linear(examples: FeatureExamples, used: NDArray[np.bool_], plan: LinearPlan | None = None) -> dict[str, Floats]:
    """Centre, scale and weights of a conditional logit: loss of a pool = -log(expected rightness of a drawn row)."""
    minimize = _library("scipy.optimize").minimize
    plan = plan or LinearPlan()
    taught = _checked(examples)
    center, scale = _standards(taught.values)
    inputs = np.nan_to_num((taught.values - center) / scale) * used
    offsets, starts = taught.offsets, taught.offsets[:-1]
    pool_of_row = np.repeat(np.arange(len(starts)), np.diff(offsets))
    row_weights = taught.weights[pool_of_row]
    with np.errstate(divide="ignore"):
        worth = np.log(taught.right)

    def log_sums(scores: Floats) -> tuple[Floats, Floats]:
        """Per pool the log of summed exponentials, per row its share of the sum."""
        top = np.maximum.reduceat(scores, starts)
        powers = np.exp(scores - top[pool_of_row])
        sums = np.add.reduceat(powers, starts)
        return top + np.log(sums), powers / sums[pool_of_row]

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = inputs @ weights
        everything, chances = log_sums(scores)
        of_right, targets = log_sums(scores + worth)
        value = (taught.weights * (everything - of_right)).sum() + 0.5 * plan.l2 * (weights**2).sum()
        return float(value), inputs.T @ ((chances - targets) * row_weights) + plan.l2 * weights

    found = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B")
    return {"center": center, "scale": scale, "weights": np.asarray(found.x * used, np.float64)}


def fit_trees(examples: FeatureExamples, plan: TreePlan | None = None) -> dict[str, Any]:
    """LightGBM's plain dump of boosted trees that tell right rows from wrong ones; lead columns are the caller's."""
    lightgbm = _library("lightgbm")
    plan = plan or TreePlan()
    _checked(examples)
    taught = examples.contested()
    data = lightgbm.Dataset(
        taught.values,
        taught.right,
        weight=np.repeat(taught.weights, np.diff(taught.offsets)),
        params={"verbose": -1},
    )
    settings = {
        "objective": "cross_entropy",
        "num_leaves": plan.leaves,
        "learning_rate": plan.learning_rate,
        "min_data_in_leaf": plan.least_in_leaf,
        "feature_fraction": plan.feature_share,
        "bagging_fraction": plan.row_share,
        "bagging_freq": 1,
        "lambda_l2": plan.l2,
        "seed": plan.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    dump: dict[str, Any] = lightgbm.train(settings, data, plan.rounds).dump_model()
    return dump


def fit_calibration(values: Floats, right: NDArray[np.bool_], weights: Floats, l2: float = 10.0) -> dict[str, Floats]:
    """A logistic regression of whether choices were right; the last column is 1 and bears no penalty."""
    minimize = _library("scipy.optimize").minimize
    center, scale = _standards(values)
    center[-1], scale[-1] = 0.0, 1.0
    inputs = np.nan_to_num((values - center) / scale)
    penalty = np.full(inputs.shape[1], l2)
    penalty[-1] = 0.0

    def loss(found: Floats) -> tuple[float, Floats]:
        scores = inputs @ found
        value = (weights * (np.logaddexp(0, scores) - right * scores)).sum() + 0.5 * (penalty * found**2).sum()
        return float(value), inputs.T @ (weights * (1 / (1 + np.exp(-scores)) - right)) + penalty * found

    found = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B")
    return {"center": center, "scale": scale, "weights": np.asarray(found.x, np.float64)}


def folds_of(keys: list[str], folds: int) -> NDArray[np.int64]:
    """A fold per key, equal for equal keys, so that subsets of a question stay together."""
    order = {key: place for place, key in enumerate(sorted(set(keys), key=_scattered))}
    return np.array([order[key] % folds for key in keys], np.int64)


def _scattered(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def _checked(examples: FeatureExamples) -> FeatureExamples:
    taught = examples.teaching()
    if not len(taught.weights):
        raise TrainingError("no pool has both right and wrong answers: there is nothing to learn a choice from")
    return taught


def _standards(values: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of what is there; 0 and 1 where nothing varies."""
    known = ~np.isnan(values)
    count = np.maximum(1, known.sum(axis=0))
    center = np.where(known, values, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.where(known, (values - center) ** 2, 0.0).sum(axis=0) / count)
    return center, np.where(spread > 1e-6, spread, 1.0)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise TrainingError(f"fitting needs {name.partition('.')[0]}: {INSTALL}") from None
