"""From labelled pools to an evidence model: random subsets of each pool, their tables, and a conditional logit."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import TrainingError
from tracerank.evidence.model import Bounds, Floats, Logistic, fit_choice
from tracerank.evidence.table import COLUMNS, DOWN, FEATURES, UP, EvidenceTable, evidence_table
from tracerank.evidence.text import TextLines
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.voting import ANSWERED

BUDGETS = (2, 3, 4, 6, 8, 16)
"""Sizes of the random subsets that a pool is cut into; users' pools are smaller than training pools."""
L2 = 3.0
"""Penalty of the squared weights of standardised features, where a question weighs one."""
_BOUNDS: dict[int, tuple[float | None, float | None]] = {UP: (0.0, None), DOWN: (None, 0.0), 0: (None, None)}
"""Of the weight of a feature, by its direction."""


@dataclass(frozen=True, slots=True)
class LabelledTable:
    """The features of one pool or subset, with what is right."""

    question: str
    table: EvidenceTable
    right: Floats
    """Per meaning, 1 when at least half of the labels of its rollouts say that it is right, else 0."""


def labelled_tables(pool: Pool, budgets: Sequence[int] = BUDGETS, seed: int = 0) -> list[LabelledTable]:
    """The features of the whole pool and of one random subset per smaller budget; empty without any label."""
    rng = Random(crc32(f"{seed}|{pool.question.text}".encode()))
    lines = TextLines()
    sizes = [k for k in budgets if k < len(pool)]
    subsets = [pool.rollouts, *(tuple(rng.sample(pool.rollouts, k)) for k in sizes)]
    found = (labelled_table(pool, subset, lines) for subset in subsets)
    return [each for each in found if each is not None]


def labelled_table(pool: Pool, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> LabelledTable | None:
    """The features of some rollouts of a pool; None when a meaning cannot be judged or no rollout answers."""
    kept = [rollout for rollout in rollouts if ANSWERED.reason_to_drop(rollout) is None]
    if not kept:
        return None
    table = evidence_table(pool.question.text, kept, lines)
    right = []
    for members in table.rollouts:
        labels = [correctness(kept[index], pool.question.references) for index in members]
        known = [label for label in labels if label is not None]
        if not known:
            return None
        right.append(sum(known) / len(known) >= 0.5)
    return LabelledTable(pool.question.text, table, np.array(right, np.float64)) if right else None


def fit_model(tables: Sequence[LabelledTable], *, is_monotone: bool = True) -> Logistic:
    """The model of some tables; a monotone one keeps each weight to its feature's direction, else signs are free.

    What only breaks ties is fitted behind the rest, on the largest meanings of each pool.
    """
    weights, found = question_weights(tables), np.zeros(len(COLUMNS))
    bounds = [_BOUNDS[feature.direction if is_monotone else 0] for feature in FEATURES]
    first = [index for index, feature in enumerate(FEATURES) if feature.overturns]
    later = [index for index, feature in enumerate(FEATURES) if not feature.overturns]
    values = [each.table.values.astype(np.float64) for each in tables]
    right = [each.right for each in tables]
    if not any(map(_is_mixed, right)):
        raise TrainingError("no pool has both right and wrong answers: there is nothing to learn a choice from")
    found[first] = _fitted([rows[:, first] for rows in values], right, weights, [bounds[index] for index in first])
    largest = [each.table.votes == each.table.votes.max() for each in tables]
    tied = [np.column_stack([rows @ found, rows[:, later]])[top] for rows, top in zip(values, largest, strict=True)]
    among = [each[top] for each, top in zip(right, largest, strict=True)]
    if any(map(_is_mixed, among)):
        found[later] = _fitted(tied, among, weights, [(1.0, 1.0), *(bounds[index] for index in later)])[1:]
    return Logistic(dict(zip(COLUMNS, found.tolist(), strict=True)))


def _fitted(tables: Sequence[Floats], right: Sequence[Floats], weights: Floats, bounds: Bounds) -> Floats:
    """Weights of the columns, from the tables that have both right and wrong rows."""
    mixed = [index for index, each in enumerate(right) if _is_mixed(each)]
    values = np.concatenate([tables[index] for index in mixed])
    offsets = np.cumsum([0, *(len(right[index]) for index in mixed)]).astype(np.int64)
    scale = np.where((spread := values.std(axis=0)) > 1e-6, spread, 1.0)
    scaled: Bounds = [
        (low and low * size, high and high * size) for (low, high), size in zip(bounds, scale.tolist(), strict=True)
    ]
    # Only differences within a pool matter, so the centre, which moves all rows alike, is left out.
    rows = (values - values.mean(axis=0)) / scale
    found: Floats = fit_choice(
        rows, offsets, np.concatenate([right[index] for index in mixed]), weights[mixed], L2, scaled
    )
    return found / scale


def _is_mixed(right: Floats) -> bool:
    return bool(0 < right.sum() < len(right))


def question_weights(tables: Iterable[LabelledTable]) -> Floats:
    """One per question, shared by its subsets."""
    listed = list(tables)
    counts = Counter(each.question for each in listed)
    return np.array([1 / counts[each.question] for each in listed], np.float64)


def folds_of(keys: Sequence[str], folds: int) -> NDArray[np.int64]:
    """A fold per key, equal for equal keys, so that subsets of a question stay together."""
    order = {key: rank for rank, key in enumerate(sorted(set(keys), key=_scattered))}
    return np.array([order[key] % folds for key in keys], np.int64)


def _scattered(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
