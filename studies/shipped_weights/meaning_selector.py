"""The selectors that ship, by one command: ``python -m studies.shipped_weights.meaning_selector FOLDER``.

Fitted on the real rollouts that may train, outside the test split, labelled by meaning as they were judged by reading,
and on generated pools with their truth; some answers of all of them in longer forms, too. ``by_meaning.py`` judges the
same recipe with an agent left out. The same files come out each time, to the byte.
"""

import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import tracerank as tr
from studies.shipped_weights.judged import Judgements
from studies.shipped_weights.lexical_data import split_of
from studies.shipped_weights.real_pools import MAY_TRAIN, folded, real_pools, tested_questions
from studies.shipped_weights.wordy import wordy
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.selectors.features.fit import (
    FeatureFitPlan,
    LabelledTable,
    LinearPlan,
    Tabulate,
    fit_features,
    labelled_tables,
)
from tracerank.selectors.features.model import FeatureModel
from tracerank.selectors.features.table import FeatureSet
from tracerank.selectors.meaning.compute import meaning_table
from tracerank.selectors.meaning.selector import MeaningSelector
from tracerank.selectors.meaning.table import MEANING_FEATURES
from tracerank.votes.selector import BROWSING as FOR_BROWSING
from tracerank.votes.selector import DEFAULT

REAL_SHARES, GENERATED_SHARES = (0.0, 0.3, 0.6), (0.0, 0.4)
"""Each pool is taken so often, with such shares of its answers in longer forms."""
GENERATED, SEED, WEIGHT = 600, 32, 1.0
"""Generated questions with 16 rollouts that are fitted on besides, as a choice among many is in no real set that may
train; the seed of their world; the weight of one, where a real question has 1."""
PLAN = FeatureFitPlan(LinearPlan(is_monotone=True))
SETTINGS: Mapping[str, str] = {DEFAULT: WEBQA, FOR_BROWSING: BROWSING}
"""Shipped folder to the setting of its generated pools; the real ones are the same."""


def judged_pools(tested: Container[str]) -> dict[str, list[tr.Pool]]:
    """The pools of each set that may train, outside the test split, labelled by meaning."""
    judgements = Judgements.read()
    return {
        name: [judgements.labelled(pool) for pool in real_pools(name) if len(pool) > 1 and not is_tested(pool, tested)]
        for name in MAY_TRAIN
    }


def is_tested(pool: tr.Pool, tested: Container[str]) -> bool:
    """Whether nothing may be fitted on the question."""
    return split_of(pool.question.text) == "test" or folded(pool.question.text) in tested


def generated_pools(setting: str) -> Iterable[tr.Pool]:
    return iter_world(PRESETS["paper"][setting], GENERATED, SEED)


class Taught:
    """Tables to fit on, made once for all fits."""

    def __init__(self, tabulate: Tabulate = meaning_table, columns: FeatureSet = MEANING_FEATURES) -> None:
        self._tabulate, self._columns = tabulate, columns
        self._made: dict[int, tuple[tr.Pool, list[LabelledTable]]] = {}

    def fit(
        self,
        real: Iterable[tr.Pool],
        generated: Iterable[tr.Pool],
        plan: FeatureFitPlan = PLAN,
        weight: float = WEIGHT,
    ) -> FeatureModel:
        """A model of pools that are labelled."""
        tables, weights = self.examples(real, generated, weight)
        return fit_features(tables, plan, weights, columns=self._columns)

    def examples(
        self, real: Iterable[tr.Pool], generated: Iterable[tr.Pool], weight: float = WEIGHT
    ) -> tuple[list[LabelledTable], list[float]]:
        """The tables to fit on, and what each weighs."""
        rows = [(table, 1.0) for pool in real for table in self._tables(pool, REAL_SHARES)]
        rows += [(table, weight) for pool in generated for table in self._tables(pool, GENERATED_SHARES)]
        return [table for table, _ in rows], [weight for _, weight in rows]

    def _tables(self, pool: tr.Pool, shares: Sequence[float]) -> list[LabelledTable]:
        # The pool is kept beside its tables, so that no other takes over its identity.
        if id(pool) not in self._made:
            forms = [wordy(pool, share) if share else pool for share in shares]
            made = [table for form in forms for table in labelled_tables(form, tabulate=self._tabulate)]
            self._made[id(pool)] = pool, made
        return self._made[id(pool)][1]


def main(arguments: Sequence[str]) -> None:
    out, console = Path(arguments[0]), Console(stderr=True)
    real = [pool for pools in judged_pools(tested_questions()).values() for pool in pools]
    taught = Taught()
    for name, setting in SETTINGS.items():
        model = taught.fit(real, list(generated_pools(setting)))
        about = {"real": list(MAY_TRAIN), "generated": setting, "generated_weight": WEIGHT, **model.training}
        # How sure it is, ``confidence.py`` fits.
        MeaningSelector(replace(model, training=about, calibration=None)).save(out / name)
        console.print(f"{out / name}: {about}")


if __name__ == "__main__":
    main(sys.argv[1:])
