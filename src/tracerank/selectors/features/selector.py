"""A selector without any text encoder: a small fitted model over what the pool alone tells (``features``).

It decides twice: which group of equal answers is right, by the summed chance of its forms, and which form of it is
returned. Fitting is ``selectors/features/fit.py``'s matter.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracerank.methods.base import Decision, Selector
from tracerank.methods.voting import ANSWERED
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.model import FeatureModel, load_model, log_chances, save_model

NOBODY_ANSWERED = "every rollout abstains; the first is returned"


@dataclass(frozen=True, slots=True)
class Choice:
    """A pool's forms with their chances, and what is chosen."""

    chances: NDArray[np.float64]
    """Per form, summing to one."""
    group: int
    row: int
    """The form that is returned: the likeliest of its group."""


def choose(model: FeatureModel, table: FeatureTable) -> Choice:
    """The likeliest group, and its likeliest form; ties go to the first."""
    chances = np.exp(log_chances(model.scorers, table.values))
    by_group = np.bincount(table.groups, chances)
    group = int(by_group.argmax())
    row = int(np.where(table.groups == group, chances, -1.0).argmax())
    return Choice(chances, group, row)


class FeatureSelector(Selector):
    """Returns the existing answer that a feature model finds likeliest."""

    name = "features"

    def __init__(self, model: FeatureModel) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: str | Path) -> "FeatureSelector":
        """From a folder that ``save`` wrote."""
        return cls(load_model(folder))

    def save(self, folder: str | Path) -> None:
        save_model(self.model, folder)

    def decide(self, pool: Pool) -> Decision:
        """The decision for one pool; every answered rollout is a candidate, with or without evidence."""
        retained = pool.retained(ANSWERED)
        return decision(pool, retained, self.model, feature_table(pool.question.text, retained.kept))

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order."""
        return map(self.decide, pools)


def decision(pool: Pool, retained: Retained, model: FeatureModel, table: FeatureTable) -> Decision:
    """What the model decides on a pool's features."""
    kept = retained.kept
    if not kept:
        return Decision(pool.question.id, None, None, dropped=retained.dropped)
    scores = {rollout.sample_id: 0.0 for rollout in kept}
    if not len(table.values):
        first = kept[0]
        group = (first.sample_id,)
        return Decision(
            pool.question.id, first.answer, first.sample_id, scores, retained.dropped, group, note=NOBODY_ANSWERED
        )
    chosen = choose(model, table)
    for places, chance in zip(table.rollouts, chosen.chances.tolist(), strict=True):
        scores |= {kept[place].sample_id: chance for place in places}
    members = sorted(
        kept[place].sample_id
        for places, group in zip(table.rollouts, table.groups.tolist(), strict=True)
        if group == chosen.group
        for place in places
    )
    winner = kept[table.rollouts[chosen.row][0]]
    confidence = model.confidence(table.values[chosen.row], float(chosen.chances[chosen.row]))
    return Decision(
        pool.question.id, winner.answer, winner.sample_id, scores, retained.dropped, tuple(members), confidence
    )
