"""Feature models fitted on labels by meaning, and how they decide: which meaning first, then which member of it.

Which pools are judged, and by what, is ``by_meaning.py``'s matter.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

import tracerank as tr
from tracerank.methods.base import Decision
from tracerank.methods.voting import ANSWERED
from tracerank.pools.types import Retained
from tracerank.selectors.features.compute import FeatureTable, feature_table
from tracerank.selectors.features.fit import (
    FeatureFitPlan,
    LabelledTable,
    LinearPlan,
    TreePlan,
    fit_features,
    labelled_tables,
)
from tracerank.selectors.features.model import FeatureModel
from tracerank.selectors.features.selector import choose

LIKELIEST, COMMONEST = "likeliest form", "commonest form"
"""Which member of the chosen group is returned: the model's own choice, or most votes; ties go to the first."""
MEMBERS = (LIKELIEST, COMMONEST)

EVIDENCE_ONLY = ("effort", "confidence", "shape", "form")
"""Families that are left out so that votes, support and overlap remain."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is fitted, and on which labels."""

    plan: FeatureFitPlan
    is_judged: bool = True
    """Whether labels are by meaning; else by exact match."""


def _plan(dropped: tuple[str, ...], linear: LinearPlan | None, trees: TreePlan | None = None) -> FeatureFitPlan:
    return FeatureFitPlan(linear, trees, dropped, folds=1)  # a choice needs no calibration


_FREE, _HELD, _TREES = LinearPlan(), LinearPlan(is_monotone=True), TreePlan(is_monotone=True)
_BOTH = _plan(("effort",), _HELD, _TREES)
_BOTH_NO_FORM = _plan(("effort", "form"), _HELD, _TREES)
CANDIDATES: Mapping[str, Candidate] = {
    "linear, exact labels": Candidate(_plan(("effort",), _FREE), is_judged=False),
    "linear": Candidate(_plan(("effort",), _FREE)),
    "linear, no form": Candidate(_plan(("effort", "form"), _FREE)),
    "linear, evidence only": Candidate(_plan(EVIDENCE_ONLY, _FREE)),
    "monotone linear": Candidate(_plan(("effort",), _HELD)),
    "monotone linear, no form": Candidate(_plan(("effort", "form"), _HELD)),
    "monotone linear, evidence only": Candidate(_plan(EVIDENCE_ONLY, _HELD)),
    "monotone trees": Candidate(_plan(("effort",), None, _TREES)),
    "linear + monotone trees": Candidate(_plan(("effort",), _FREE, _TREES)),
    "monotone linear + trees, exact labels": Candidate(_BOTH, is_judged=False),
    "monotone linear + trees": Candidate(_BOTH),
    "monotone linear + trees, no form, exact labels": Candidate(_BOTH_NO_FORM, is_judged=False),
    "monotone linear + trees, no form": Candidate(_BOTH_NO_FORM),
    "monotone linear + trees, evidence only": Candidate(_plan(EVIDENCE_ONLY, _HELD, _TREES)),
}
"""Name to candidate; all without effort, which tells agents apart rather than answers."""


EXACT_LABELS = ", exact labels"
TWINS = tuple((name, name + EXACT_LABELS) for name in CANDIDATES if name + EXACT_LABELS in CANDIDATES)
"""Candidates that differ in their labels alone."""


class Taught:
    """Tables to fit on, made once: of real pools by either label, of generated pools by their truth."""

    def __init__(self, weight: float) -> None:
        self._weight = weight
        """Of a generated question, where a real one has 1."""
        self._made: dict[int, tuple[tr.Pool, list[LabelledTable]]] = {}

    def fit(self, plan: FeatureFitPlan, real: Sequence[tr.Pool], generated: Sequence[tr.Pool]) -> FeatureModel:
        weighted = [(pool, 1.0) for pool in real] + [(pool, self._weight) for pool in generated if self._weight]
        rows = [(table, weight) for pool, weight in weighted for table in self._tables(pool)]
        return fit_features([table for table, _ in rows], plan, [weight for _, weight in rows])

    def _tables(self, pool: tr.Pool) -> list[LabelledTable]:
        # The pool is kept beside its tables, so that no other takes over its identity.
        if id(pool) not in self._made:
            self._made[id(pool)] = pool, labelled_tables(pool)
        return self._made[id(pool)][1]


@dataclass(frozen=True, slots=True)
class Seen:
    """A pool as every feature model sees it."""

    pool: tr.Pool
    retained: Retained
    table: FeatureTable


@dataclass(frozen=True, slots=True)
class SeenPools:
    """Feature tables of the pools that are judged, computed once for all models."""

    _made: dict[int, Seen] = field(default_factory=dict)

    def of(self, pool: tr.Pool) -> Seen:
        if id(pool) not in self._made:
            self._made[id(pool)] = see(pool)
        return self._made[id(pool)]


def see(pool: tr.Pool) -> Seen:
    retained = pool.retained(ANSWERED)
    return Seen(pool, retained, feature_table(pool.question.text, retained.kept))


class MeaningThenMember:
    """The likeliest group of a feature model, and a member of it by a declared rule."""

    def __init__(self, name: str, model: FeatureModel, pools: SeenPools, member: str = LIKELIEST) -> None:
        if member not in MEMBERS:
            raise ValueError(f"member must be one of {', '.join(MEMBERS)}, got {member!r}")
        self.name, self.model, self.member = name, model, member
        self._pools = pools

    def decide(self, pool: tr.Pool) -> Decision:
        seen = self._pools.of(pool)
        kept, table = seen.retained.kept, seen.table
        if not len(table.values):  # everybody abstains: the first is as good as any
            first = kept[0] if kept else None
            return Decision(pool.question.id, first and first.answer, first and first.sample_id)
        winner = kept[table.rollouts[self._row(table)][0]]
        return Decision(pool.question.id, winner.answer, winner.sample_id)

    def _row(self, table: FeatureTable) -> int:
        chosen = choose(self.model, table)
        if self.member == LIKELIEST:
            return chosen.row
        return int(np.where(table.groups == chosen.group, table.votes, 0).argmax())


def both_members(models: Mapping[str, FeatureModel], pools: SeenPools) -> Iterable[MeaningThenMember]:
    """Every model with either rule for the member; the second is named."""
    for name, model in models.items():
        yield MeaningThenMember(name, model, pools)
        yield MeaningThenMember(f"{name}, {COMMONEST}", model, pools, COMMONEST)
