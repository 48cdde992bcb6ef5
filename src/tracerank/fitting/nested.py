"""Nested cross-validation: what a rule that picks among candidates is worth on questions that it has not seen.

Questions are cut into outer folds. For each, an inner cross-validation on the other questions picks a candidate, which
is fitted on all of them and decides the fold. So no label of a fold reaches anything that decides it: neither a fit,
nor a choice of vote, nor the pick. The figures of the procedure are those of these decisions alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.errors import UsageError
from tracerank.evaluation.bootstrap import intervals
from tracerank.evidence.fit import folds_of
from tracerank.fitting.candidates import SHIPPED, Candidate, correct
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import question_key
from tracerank.votes.base import Decision

MIN_QUESTIONS = 20
FIT = "fit"
"""The row of the whole procedure: of each fold, what was picked on the others."""
RULE = (
    "of the candidates whose gain over what ships has a 95% interval above zero, the one with the largest; without "
    "one, or if the gain of the whole procedure is not above zero, what ships"
)

Part = tuple[list[int], list[int]]
"""Training and held-out pools of one fold, by index."""
Decided = dict[str, dict[int, Decision]]
"""Candidate to its decision on each pool, by index."""


@dataclass(frozen=True, slots=True)
class Row:
    """Accuracy on questions that a candidate was not fitted on, between 0 and 1."""

    name: str
    accuracy: float
    gain: float
    """Over what ships."""
    low: float
    high: float
    """Paired 95% interval of the gain, over questions."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of the nested cross-validation."""

    rows: Mapping[str, Row]
    """Of the candidates, from simple to complex, and last of the procedure."""
    picks: tuple[str, ...]
    """The candidate that decided each outer fold."""
    final: str
    """The candidate that is picked on all questions."""
    decisions: Decided
    """Of each row, on the outer folds."""

    @property
    def winner(self) -> str:
        """The candidate to use; what ships unless the procedure is surely better."""
        return self.final if self.rows[FIT].low > 0 else SHIPPED


class NestedValidation:
    """Candidates on the same folds of the same pools."""

    def __init__(
        self,
        pools: Sequence[Pool],
        candidates: Iterable[Candidate],
        folds: int = 5,
        seed: int = 0,
        on_step: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.pools, self.candidates = pools, {candidate.name: candidate for candidate in candidates}
        self._folds, self._seed, self._on_step = folds, seed, on_step
        self._keys = [question_key(pool.question.text) for pool in pools]
        self.questions = len(set(self._keys))
        if self.questions < MIN_QUESTIONS:
            raise UsageError(
                f"{self.questions} labelled questions are too few to fit on; at least {MIN_QUESTIONS} are needed, and "
                "about 100 to tell one selector from another"
            )
        self.parts = self._split(range(len(pools)), "outer")

    def run(self) -> Comparison:
        """Pick, fit and decide on each outer fold, then pick on all questions."""
        decided: Decided = {name: {} for name in (*self.candidates, FIT)}
        picks = []
        for number, part in enumerate(self.parts, start=1):
            self._on_step(f"fold {number} of {len(self.parts)}")
            picks.append(self._pick(part[0]))
            found = self._decided([part])
            for name, own in {**found, FIT: found[picks[-1]]}.items():
                decided[name] |= own
        self._on_step("all questions")
        return Comparison(self._rows(decided), tuple(picks), self._pick(range(len(self.pools))), decided)

    def _pick(self, train: Sequence[int]) -> str:
        """The candidate for some pools, by cross-validation on these alone."""
        rows = self._rows(self._decided(self._split(train, "inner")))
        better = [row for row in rows.values() if row.low > 0]
        return max(better, key=lambda row: row.gain).name if better else SHIPPED

    def _decided(self, parts: Iterable[Part]) -> Decided:
        """What each candidate decides on the held-out pools of each part, fitted on its training pools."""
        decided: Decided = {name: {} for name in self.candidates}
        for train, held_out in parts:
            for name, candidate in self.candidates.items():
                selector = candidate.fit(train)
                decided[name] |= {index: candidate.decide(selector, index) for index in held_out}
        return decided

    def _split(self, indices: Sequence[int], salt: str) -> list[Part]:
        """A question is in one fold, however it is spelled."""
        keys = [f"{self._seed}|{salt}|{self._keys[index]}" for index in indices]
        folds, everything = folds_of(keys, self._folds), np.array(indices)
        return [(everything[folds != fold].tolist(), everything[folds == fold].tolist()) for fold in np.unique(folds)]

    def _rows(self, decided: Decided) -> Mapping[str, Row]:
        """Figures over questions; pools of one question share its weight."""
        indices = sorted(decided[SHIPPED])
        _, question = np.unique([self._keys[index] for index in indices], return_inverse=True)
        counts = np.bincount(question)
        means = {
            name: np.bincount(question, [correct(self.pools[index], found[index]) for index in indices]) / counts
            for name, found in decided.items()
        }
        gains = np.column_stack([mean - means[SHIPPED] for mean in means.values()])
        bounds = intervals(gains, self._seed)
        figures = zip(gains.mean(axis=0).tolist(), bounds.low.tolist(), bounds.high.tolist(), strict=True)
        return {name: Row(name, float(means[name].mean()), *one) for name, one in zip(means, figures, strict=True)}
