"""From labelled pools to a feature selector: random subsets, features, fit, calibration on held-out questions."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import TrainingError
from tracerank.methods.voting import ANSWERED
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.model import FeatureModel, calibration_row
from tracerank.selectors.features.scorer_fit import (
    FeatureExamples,
    LinearPlan,
    TreePlan,
    fit_calibration,
    fit_linear,
    fit_trees,
    folds_of,
)
from tracerank.selectors.features.scorers import LinearScorer, Scorer, TreeScorer, with_leads
from tracerank.selectors.features.selector import choose
from tracerank.selectors.features.table import FEATURES, POOL
from tracerank.selectors.features.trees import trees_of_dump
from tracerank.selectors.features.view import TextLines

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


def labelled_tables(pool: Pool, budgets: Sequence[int] = BUDGETS, seed: int = 0) -> list[LabelledTable]:
    """The features of the whole pool and of one random subset per smaller budget; none without any label."""
    rng = Random(crc32(f"{seed}|{pool.question.text}".encode()))
    lines = TextLines()
    sizes = [k for k in budgets if k < len(pool)]
    subsets = [pool.rollouts, *(tuple(rng.sample(pool.rollouts, k)) for k in sizes)]
    found = (labelled_table(pool, subset, lines) for subset in subsets)
    return [each for each in found if each is not None]


def labelled_table(pool: Pool, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> LabelledTable | None:
    """The features of some rollouts of a pool; None when a form of theirs cannot be judged or nobody answers."""
    kept = [rollout for rollout in rollouts if ANSWERED.reason_to_drop(rollout) is None]
    if not kept:
        return None
    table = feature_table(pool.question.text, kept, lines)
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
        model = _fit([tables[place] for place in inside.tolist()], weights[inside], plan, extra)
        for place in outside.tolist():
            chosen = choose(model, tables[place].table)
            row, chance = tables[place].table.values[chosen.row], float(chosen.chances[chosen.row])
            winners.append(calibration_row(row, chance))
            rights.append(tables[place].right[chosen.row] > 0)
            order.append(place)
    model = _fit(tables, weights, plan, extra)
    summary: dict[str, float] = {"questions": len({each.question for each in tables}), "tables": len(tables)}
    if not order:
        return replace(model, training=summary)
    right, held_out = np.array(rights, np.bool_), weights[order]
    rows = np.array(winners)
    rows[:, np.append(~_used(plan, extra), [False, False])] = np.nan
    calibration = LinearScorer(**fit_calibration(rows, right, held_out))
    summary["held_out_accuracy"] = float(np.average(right, weights=held_out))
    return replace(model, calibration=calibration, training=summary)


def question_weights(tables: Iterable[LabelledTable]) -> NDArray[np.float64]:
    """One per question, shared by its subsets."""
    listed = list(tables)
    counts = Counter(each.question for each in listed)
    return np.array([1 / counts[each.question] for each in listed], np.float64)


def _used(plan: FeatureFitPlan, extra: tuple[str, ...]) -> NDArray[np.bool_]:
    kept = [feature.family not in plan.dropped_families for feature in FEATURES]
    return np.array([*kept, *(True for _ in extra)], np.bool_)


def _fit(
    tables: Sequence[LabelledTable], weights: NDArray[np.float64], plan: FeatureFitPlan, extra: tuple[str, ...]
) -> FeatureModel:
    offsets = np.concatenate([[0], np.cumsum([len(each.right) for each in tables])]).astype(np.int64)
    values = np.concatenate([each.table.values for each in tables]).astype(np.float64)
    used = _used(plan, extra)
    values[:, ~used] = np.nan
    examples = FeatureExamples(values, offsets, np.concatenate([each.right for each in tables]), weights)
    scorers: list[tuple[Scorer, float]] = []
    if plan.linear is not None:
        # What is constant within a pool cannot move a choice.
        used[: len(FEATURES)] &= np.array([feature.scope != POOL for feature in FEATURES])
        scorers.append((LinearScorer(**fit_linear(examples, used, plan.linear)), 1.0))
    if plan.trees is not None:
        leading = replace(examples, values=with_leads(values, offsets))
        scorers.append((TreeScorer(trees_of_dump(fit_trees(leading, plan.trees))), 1.0))
    if not scorers:
        raise TrainingError("the plan fits nothing: give a linear plan, a plan of trees, or both")
    return FeatureModel(tuple(scorers), extra=extra)
