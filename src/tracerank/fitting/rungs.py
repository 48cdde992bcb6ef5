"""The rungs of the ladder that need no encoder: the votes, and feature models fitted on some of the user's pools.

A rung is a value: its name and how it is fitted. Rungs that train networks are ``networks.py``'s matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tracerank.pools.pool import Pool
from tracerank.selectors.features.compute import feature_table
from tracerank.selectors.features.fit import (
    FeatureFitPlan,
    LabelledTable,
    LinearPlan,
    Tabulate,
    TreePlan,
    fit_features,
    labelled_tables,
)
from tracerank.selectors.features.selector import FeatureSelector
from tracerank.selectors.meaning.compute import meaning_table
from tracerank.selectors.meaning.selector import COMMONEST, MeaningSelector
from tracerank.selectors.meaning.table import MEANING_FEATURES
from tracerank.votes.answer_groups import ContainmentGroups, DefaultGroups, ExactGroups, MeaningGroups
from tracerank.votes.selector import DEFAULT, Selector, folder_of
from tracerank.votes.voting import FORMS, MajorityVote

VOTES: tuple[MajorityVote, ...] = (
    MajorityVote(ExactGroups()),
    MajorityVote(),
    *(MajorityVote(DefaultGroups(), form) for form in FORMS),
    *(MajorityVote(ContainmentGroups(), form) for form in FORMS[:2]),
    MajorityVote(MeaningGroups(), COMMONEST),
)
"""The votes among which the better one is chosen; the paper's first."""

Fit = Callable[[Sequence[int], Path], Selector]
"""From the places of pools to learn from, and a folder to work in, to a selector."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to learn a selector."""

    name: str
    about: str
    fit: Fit


@dataclass(frozen=True, slots=True)
class PoolTables:
    """Feature tables of pools, computed once for all folds."""

    pools: Sequence[Pool]
    seed: int
    tabulate: Tabulate = feature_table
    made: dict[int, list[LabelledTable]] = field(default_factory=dict)

    def of(self, places: Sequence[int]) -> list[LabelledTable]:
        for place in places:
            if place not in self.made:
                self.made[place] = labelled_tables(self.pools[place], seed=self.seed, tabulate=self.tabulate)
        return [table for place in places for table in self.made[place]]


UNCALIBRATED = 1
"""Folds of ``FeatureFitPlan`` that skip its own calibration: the ladder calibrates what it returns."""


def shipped_rung() -> Rung:
    """The selector that comes with the package, which has nothing to learn: the best start where labels are few."""
    return Rung(
        "shipped", "the shipped selector, as it is", lambda places, folder: MeaningSelector.load(folder_of(DEFAULT))
    )


def feature_rungs(pools: Sequence[Pool], seed: int) -> tuple[Rung, ...]:
    """Models of meanings and of forms, the plain ones first."""
    meanings, tables = PoolTables(pools, seed, meaning_table), PoolTables(pools, seed)
    linear = FeatureFitPlan(folds=UNCALIBRATED)
    boosted = FeatureFitPlan(trees=TreePlan(seed=seed), folds=UNCALIBRATED)
    monotone = FeatureFitPlan(LinearPlan(is_monotone=True), folds=UNCALIBRATED)
    return (
        Rung("meaning", "what ships, fitted on these pools: meanings first", partial(_fit_meaning, meanings, monotone)),
        Rung("features", "linear model of features of the pool", partial(_fit_features, tables, linear)),
        Rung("features-boosted", "the same with boosted trees", partial(_fit_features, tables, boosted)),
    )


def _fit_meaning(tables: PoolTables, plan: FeatureFitPlan, places: Sequence[int], folder: Path) -> MeaningSelector:
    return MeaningSelector(fit_features(tables.of(places), plan, columns=MEANING_FEATURES))


def _fit_features(tables: PoolTables, plan: FeatureFitPlan, places: Sequence[int], folder: Path) -> FeatureSelector:
    return FeatureSelector(fit_features(tables.of(places), plan))
