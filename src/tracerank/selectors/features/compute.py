"""Pool to feature tables: one row per form, and one per group of equal answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.pools.types import Rollout
from tracerank.selectors.features.conduct import conduct
from tracerank.selectors.features.support import support
from tracerank.selectors.features.table import NAMES
from tracerank.selectors.features.view import PoolView, TextLines, view_of
from tracerank.selectors.features.votes import shape, votes

Column = float | Sequence[float] | NDArray[np.float64]
"""One value for the pool, or one a form."""


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """What the features say about one pool."""

    values: NDArray[np.float32]
    """[forms, features], columns as in ``table.NAMES``; no rows when nobody answers."""
    groups: NDArray[np.int64]
    """Group of each form, numbered by first appearance."""
    votes: NDArray[np.int64]
    """Rollouts of each form."""
    rollouts: tuple[tuple[int, ...], ...]
    """Places of each form's rollouts in the list that was given."""


def feature_table(question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> FeatureTable:
    """The features of the rollouts' answers; all must have one, abstentions get no row."""
    view = view_of(question, rollouts, lines)
    if not view.forms:
        none = np.zeros(0, np.int64)
        return FeatureTable(np.zeros((0, len(NAMES)), np.float32), none, none, ())
    columns: dict[str, Column] = {**_pool(view), **votes(view), **support(view), **conduct(view)}
    columns |= shape(view, question)
    return FeatureTable(
        _stacked(columns, len(view.forms)),
        np.array([form.group for form in view.forms], np.int64),
        np.array([len(form.rollouts) for form in view.forms], np.int64),
        tuple(form.rollouts for form in view.forms),
    )


def _pool(view: PoolView) -> dict[str, float]:
    voting = {place for form in view.forms for place in form.rollouts}
    return {
        "log_voters": math.log(view.voters),
        "abstained": 1 - view.voters / len(view.rollouts),
        "groups_per_voter": view.groups / view.voters,
        "with_evidence": sum(bool(view.seen[place].ranks) for place in voting) / view.voters,
    }


def _stacked(columns: Mapping[str, Column], count: int) -> NDArray[np.float32]:
    values = np.empty((count, len(NAMES)), np.float32)
    for place, name in enumerate(NAMES):
        values[:, place] = columns[name]
    return values
