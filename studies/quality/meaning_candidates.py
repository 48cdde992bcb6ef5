"""What is compared by meaning: the recipe of what ships, the same without parts of it, and on other labels.

Which pools are judged, and by what, is ``by_meaning.py``'s matter; the recipe is ``meaning_selector.py``'s.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import tracerank as tr
from studies.shipped_weights.meaning_selector import PLAN
from tracerank.pools.types import Retained
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.fit import FeatureFitPlan, LinearPlan, Tabulate, TreePlan
from tracerank.selectors.features.model import FeatureModel
from tracerank.selectors.meaning.compute import meaning_table
from tracerank.selectors.meaning.selector import COMMONEST, MeaningSelector
from tracerank.selectors.meaning.table import CHAINS, CROSS, FIT, SEARCHED
from tracerank.votes.base import Decision
from tracerank.votes.voting import ANSWERED

SHORTEST, LONGEST = "shortest", "longest"
"""The form that references tend to have, and the one that says most: neither gains are to be the form's alone."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is fitted, and on which labels."""

    plan: FeatureFitPlan
    is_judged: bool = True
    """Whether labels are by meaning; else by exact match."""


_PLAN = replace(PLAN, folds=1)  # a choice needs no calibration
RECIPE = "recipe of what ships"
CANDIDATES: Mapping[str, Candidate] = {
    RECIPE: Candidate(_PLAN),
    "exact labels": Candidate(_PLAN, is_judged=False),
    "not monotone": Candidate(replace(_PLAN, linear=LinearPlan())),
    "with monotone trees": Candidate(replace(_PLAN, trees=TreePlan(is_monotone=True))),
    "without chains": Candidate(replace(_PLAN, dropped_families=(CHAINS,))),
    "without other rollouts": Candidate(replace(_PLAN, dropped_families=(CROSS, SEARCHED))),
    "without fit": Candidate(replace(_PLAN, dropped_families=(FIT,))),
}
"""Name to candidate, each the recipe but for what it says."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A pool as every model sees it."""

    pool: tr.Pool
    retained: Retained
    table: FeatureTable


@dataclass(frozen=True, slots=True)
class SeenPools:
    """Tables of the pools that are judged, computed once for all models."""

    tabulate: Tabulate = meaning_table
    _made: dict[int, Seen] = field(default_factory=dict)

    def of(self, pool: tr.Pool) -> Seen:
        if id(pool) not in self._made:
            self._made[id(pool)] = see(pool, self.tabulate)
        return self._made[id(pool)]


def see(pool: tr.Pool, tabulate: Tabulate = meaning_table) -> Seen:
    retained = pool.retained(ANSWERED)
    return Seen(pool, retained, tabulate(pool.question.text, retained.kept, None))


class SeenSelector:
    """A selector by meaning that looks at tables which are computed once."""

    def __init__(self, name: str, model: FeatureModel, pools: SeenPools, form: str = COMMONEST) -> None:
        self.name = name
        self._selector, self._pools = MeaningSelector(model, form), pools

    def decide(self, pool: tr.Pool) -> Decision:
        seen = self._pools.of(pool)
        return self._selector.decision(pool, seen.retained, seen.table)


def of_form(name: str, form: str) -> str:
    """How a model is called that returns another form than the commonest."""
    return f"{name}, {form} form"


def in_forms(models: Mapping[str, FeatureModel], pools: SeenPools) -> Iterable[SeenSelector]:
    """Every model by the commonest form, and the first also by the shortest and the longest."""
    for place, (name, model) in enumerate(models.items()):
        yield SeenSelector(name, model, pools)
        if not place:
            for form in (SHORTEST, LONGEST):
                yield SeenSelector(of_form(name, form), model, pools, form)
