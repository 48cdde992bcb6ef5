"""Which pools are judged and which are fitted on, so that no method is judged on a question that it was fitted on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import tracerank as tr
from studies.quality.figures import Where
from studies.quality.methods import fitted
from studies.shipped_weights.lexical_data import SETS, QuestionSets, rows_of, split_of
from studies.shipped_weights.real_pools import LEXICAL, MAY_TRAIN, folded, lexical_pools, real_pools, tested_questions
from tracerank.embedding.load import load_embedder
from tracerank.evaluation.labels import EM, labelled
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.votes.base import Method

BUDGETS = (2, 3, 4, 6, 8, 10)
"""Of the real sets, as far as they allow."""
FITTED_SEED = 32
"""Of the generated world that models are fitted on; it is judged with another."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    real: int | None = None
    """Questions of each real set; None: all."""
    lexical: int = 500
    """Test questions of each lexical policy, at least."""
    lexical_base: int = 1500
    """The same of the policy that the marks are set for."""
    world: int = 500
    fitted_world: int = 600
    lexical_every: int = 11
    """One of so many lexical train questions is fitted on, spread over all sets."""
    beside_real_every: int = 40
    """The same beside real rollouts, which they must not drown."""


QUICK = Scale(real=40, lexical=40, lexical_base=40, world=30, fitted_world=60, lexical_every=60, beside_real_every=200)


@dataclass(frozen=True, slots=True)
class FittedModels:
    """Every rung of the ladder."""

    methods: Mapping[str, Method]
    pools: int
    """How many they were fitted on."""


class QualityPools:
    """Pools of all sources, read once; models fitted once."""

    def __init__(self, cache: Path, work: Path, scale: Scale) -> None:
        self.cache, self.work, self.scale = cache, work, scale
        self.embedder = load_embedder("hash-256")
        self._real: dict[str, list[tr.Pool]] = {}
        self._fitted: dict[str, FittedModels] = {}

    def real(self, name: str) -> list[tr.Pool]:
        """Pools of real agents that leave a choice."""
        if name not in self._real:
            self._real[name] = [pool for pool in real_pools(name) if len(pool) > 1]
        return self._real[name]

    def judged(self, name: str) -> tuple[Sequence[tr.Pool], tuple[int, ...]]:
        """The pools of a set that are large enough for all its budgets, and the budgets."""
        pools = self.real(name)
        most = sorted(map(len, pools))[len(pools) // 4]  # a few questions with more rollouts do not make a budget
        ks = tuple(k for k in BUDGETS if k <= most)
        sized = [pool for pool in pools if len(pool) >= ks[-1]]
        return self.sample(sized), ks

    def sample(self, pools: Sequence[tr.Pool]) -> Sequence[tr.Pool]:
        """As many as are measured, spread over all."""
        every = max(1, len(pools) // self.scale.real) if self.scale.real else 1
        return pools[::every]

    @cached_property
    def _tested(self) -> frozenset[str]:
        return tested_questions()

    def is_test(self, pool: tr.Pool) -> bool:
        return split_of(pool.question.text) == "test" or folded(pool.question.text) in self._tested

    def test_questions(self, pools: Sequence[tr.Pool]) -> Where:
        return np.array([self.is_test(pool) for pool in pools])

    @cached_property
    def _known_to_shipped(self) -> frozenset[str]:
        """What the shipped selectors may be fitted on: real rollouts and lexical pools outside the test split."""
        real = (pool for name in MAY_TRAIN for pool in self.real(name) if not self.is_test(pool))
        asked = (row["question"] for name in SETS for row in rows_of(f"{name}_questions"))
        lexical = (folded(question) for question in asked if split_of(question) != "test")
        return frozenset({folded(pool.question.text) for pool in real} | set(lexical)) - self._tested

    def new_to_shipped(self, pools: Sequence[tr.Pool]) -> Where:
        return np.array([folded(pool.question.text) not in self._known_to_shipped for pool in pools])

    def fitted_on_others(self, *left_out: str) -> FittedModels:
        """Models that have seen neither these agents nor any of their questions nor a test question."""

        def learn() -> list[tr.Pool]:
            known = {folded(pool.question.text) for name in left_out for pool in self.real(name)}
            others = [labelled(pool, EM) for name in MAY_TRAIN if name not in left_out for pool in self.real(name)]
            may_learn = [*others, *self._lexical_beside_real]
            return [p for p in may_learn if not self.is_test(p) and folded(p.question.text) not in known]

        return self._fit("-".join(("without", *left_out)), learn)

    def fitted_on_lexical(self) -> FittedModels:
        return self._fit("lexical", lambda: list(lexical_pools(self.scale.lexical_every)))

    def fitted_on_world(self, setting: str) -> FittedModels:
        preset = PRESETS["paper"][setting]
        return self._fit(f"world-{setting}", lambda: list(iter_world(preset, self.scale.fitted_world, FITTED_SEED)))

    @cached_property
    def _lexical_beside_real(self) -> list[tr.Pool]:
        return list(lexical_pools(self.scale.beside_real_every)) if LEXICAL.exists() else []

    def _fit(self, name: str, learn: Callable[[], list[tr.Pool]]) -> FittedModels:
        if name not in self._fitted:
            pools = learn()
            self._fitted[name] = FittedModels(fitted(pools, self.embedder, self.work / name), len(pools))
        return self._fitted[name]

    @cached_property
    def questions(self) -> QuestionSets:
        return QuestionSets(self.cache)
