"""From labelled pools to a feature selector: random subsets, features, scorers, calibration on held-out questions."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import TrainingError
from tracerank.extras import needed
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.lines import TextLines
from tracerank.selectors.features.model import (
    FeatureModel,
    LinearScorer,
    Scorer,
    TreeScorer,
    calibration_row,
    choose,
    trees_of_dump,
    with_leads,
)
from tracerank.selectors.features.table import DOWN, FORM_FEATURES, POOL, UP, FeatureSet
from tracerank.votes.voting import ANSWERED

Floats = NDArray[np.float64]


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
    directions: NDArray[np.int64] | None = None
    """Per column, 1 or -1 where it may only raise or lower a score, else 0; None: nobody says, so no monotone plan."""

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
        return FeatureExamples(self.values[rows], offsets, self.right[rows], self.weights[keep], self.directions)

    def signs(self) -> NDArray[np.int64]:
        """The directions; refuses where there are none."""
        if self.directions is None:
            raise TrainingError("a monotone plan needs examples that say in which direction each column may speak")
        return self.directions


@dataclass(frozen=True, slots=True)
class LinearPlan:
    """How the linear scorer is fitted."""

    l2: float = 3.0
    """Penalty of the squared weights of standardised features; a pool's loss counts its weight."""
    is_monotone: bool = False
    """Whether no weight may point against the direction of its feature."""


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
    is_monotone: bool = False
    """Whether no split may go against the direction of its feature, nor one on its lead."""


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

    bounds = [_BOUNDS[sign] for sign in taught.signs().tolist()] if plan.is_monotone else None
    found = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return {"center": center, "scale": scale, "weights": np.asarray(found.x * used, np.float64)}


_BOUNDS = {UP: (0.0, None), DOWN: (None, 0.0), 0: (None, None)}
"""Of the weight of a feature by its direction; scales are positive, so the weight's sign is the feature's."""


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
    settings: dict[str, Any] = {
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
    if plan.is_monotone:
        settings["monotone_constraints"] = taught.signs().tolist()
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
    with needed("fitting needs", "fit", TrainingError):
        return import_module(name)


BUDGETS = (2, 3, 4, 6, 8, 16)
"""Sizes of the random subsets that a pool is cut into; users' pools are smaller than training pools."""


@dataclass(frozen=True, slots=True)
class LabelledTable:
    """The features of one pool or subset, with what is right."""

    question: str
    table: FeatureTable
    right: NDArray[np.float64]
    """Per form, how right it is; 1 when at least half of the labels of its rollouts say so, else 0. A form that means
    the right thing but is not written as the references are may stand between."""


@dataclass(frozen=True, slots=True)
class FeatureFitPlan:
    """What is fitted and how."""

    linear: LinearPlan | None = field(default_factory=LinearPlan)
    """None: no linear scorer."""
    trees: TreePlan | None = None
    """None: no trees."""
    dropped_families: tuple[str, ...] = ()
    """Families of features that must not be used."""
    folds: int = 5
    """For the held-out predictions that the calibration is fitted on."""


Tabulate = Callable[[str, Sequence[Rollout], TextLines | None], FeatureTable]
"""From a question and answered rollouts to a table; lines are kept for all subsets of a pool."""


def labelled_tables(
    pool: Pool, budgets: Sequence[int] = BUDGETS, seed: int = 0, tabulate: Tabulate = feature_table
) -> list[LabelledTable]:
    """The features of the whole pool and of one random subset per smaller budget; none without any label."""
    rng = Random(crc32(f"{seed}|{pool.question.text}".encode()))
    lines = TextLines()
    sizes = [k for k in budgets if k < len(pool)]
    subsets = [pool.rollouts, *(tuple(rng.sample(pool.rollouts, k)) for k in sizes)]
    found = (labelled_table(pool, subset, lines, tabulate) for subset in subsets)
    return [each for each in found if each is not None]


def labelled_table(
    pool: Pool,
    rollouts: Sequence[Rollout],
    lines: TextLines | None = None,
    tabulate: Tabulate = feature_table,
) -> LabelledTable | None:
    """The features of some rollouts of a pool; None when a form of theirs cannot be judged or nobody answers."""
    kept = [rollout for rollout in rollouts if ANSWERED.reason_to_drop(rollout) is None]
    if not kept:
        return None
    table = tabulate(pool.question.text, kept, lines)
    right = []
    for places in table.rollouts:
        labels = [correctness(kept[place], pool.question.references) for place in places]
        known = [label for label in labels if label is not None]
        if not known:
            return None
        right.append(sum(known) / len(known) >= 0.5)
    return LabelledTable(pool.question.text, table, np.array(right, np.float64)) if right else None


def fit_features(
    tables: Sequence[LabelledTable],
    plan: FeatureFitPlan | None = None,
    importance: Sequence[float] | None = None,
    extra: tuple[str, ...] = (),
    columns: FeatureSet = FORM_FEATURES,
) -> FeatureModel:
    """A calibrated model; ``importance`` weighs tables, whose questions otherwise count the same each."""
    plan = plan or FeatureFitPlan()
    if not tables:
        raise TrainingError("no labelled pools: give pools with references or labels")
    weights = question_weights(tables) * (1.0 if importance is None else np.asarray(importance, np.float64))
    folds = folds_of([each.question for each in tables], plan.folds)
    winners, rights = [], []  # of meaning: confidence is not about the form
    order: list[int] = []
    for fold in range(plan.folds):
        inside, outside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(inside) or not len(outside):
            continue
        model = _fit([tables[place] for place in inside.tolist()], weights[inside], plan, extra, columns)
        for place in outside.tolist():
            chosen = choose(model, tables[place].table)
            row, chance = tables[place].table.values[chosen.row], float(chosen.chances[chosen.row])
            winners.append(calibration_row(row, chance))
            rights.append(tables[place].right[chosen.row] > 0)
            order.append(place)
    model = _fit(tables, weights, plan, extra, columns)
    summary: dict[str, float] = {"questions": len({each.question for each in tables}), "tables": len(tables)}
    if not order:
        return replace(model, training=summary)
    right, held_out = np.array(rights, np.bool_), weights[order]
    rows = np.array(winners)
    rows[:, np.append(~_used(plan, extra, columns), [False, False])] = np.nan
    calibration = LinearScorer(**fit_calibration(rows, right, held_out))
    summary["held_out_accuracy"] = float(np.average(right, weights=held_out))
    return replace(model, calibration=calibration, training=summary)


def question_weights(tables: Iterable[LabelledTable]) -> NDArray[np.float64]:
    """One per question, shared by its subsets."""
    listed = list(tables)
    counts = Counter(each.question for each in listed)
    return np.array([1 / counts[each.question] for each in listed], np.float64)


def _used(plan: FeatureFitPlan, extra: tuple[str, ...], columns: FeatureSet) -> NDArray[np.bool_]:
    kept = [feature.family not in plan.dropped_families for feature in columns.features]
    return np.array([*kept, *(True for _ in extra)], np.bool_)


def _fit(
    tables: Sequence[LabelledTable],
    weights: NDArray[np.float64],
    plan: FeatureFitPlan,
    extra: tuple[str, ...],
    columns: FeatureSet,
) -> FeatureModel:
    offsets = np.concatenate([[0], np.cumsum([len(each.right) for each in tables])]).astype(np.int64)
    values = np.concatenate([each.table.values for each in tables]).astype(np.float64)
    used = _used(plan, extra, columns)
    values[:, ~used] = np.nan
    directions = np.array([*(feature.direction for feature in columns.features), *(0 for _ in extra)], np.int64)
    right = np.concatenate([each.right for each in tables])
    examples = FeatureExamples(values, offsets, right, weights, directions)
    scorers: list[tuple[Scorer, float]] = []
    if plan.linear is not None:
        # What is constant within a pool cannot move a choice.
        used[: len(columns.features)] &= np.array([feature.scope != POOL for feature in columns.features])
        scorers.append((LinearScorer(**fit_linear(examples, used, plan.linear)), 1.0))
    if plan.trees is not None:
        leading = replace(examples, values=with_leads(values, offsets), directions=np.tile(directions, 2))
        scorers.append((TreeScorer(trees_of_dump(fit_trees(leading, plan.trees))), 1.0))
    if not scorers:
        raise TrainingError("the plan fits nothing: give a linear plan, a plan of trees, or both")
    return FeatureModel(tuple(scorers), fitted_on=columns.names, extra=extra, columns=columns)
