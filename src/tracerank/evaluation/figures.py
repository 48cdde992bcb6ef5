"""What tables and charts of a report share: its K and baseline, differences from it, and curves against K.

Differences are paired, question by question: intervals of two accuracies overlap long after their difference is clear.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracerank.evaluation.bootstrap import RESAMPLES, intervals, sign_test
from tracerank.evaluation.calibration import Calibration, calibrations
from tracerank.evaluation.escalation import EscalationCurve, escalation_curves
from tracerank.evaluation.evaluate import MEAN_SINGLE, SINGLE
from tracerank.evaluation.scores import Floats, RecordedCost, ScoreMatrix, costs_at, is_run_of, mean
from tracerank.pools.types import BROWSING

MAJORITY, PAPER_MAJORITY = "majority", "majority-paper"


@dataclass(frozen=True, slots=True)
class Compared:
    """One method's accuracy and its difference from the baseline, with 95% intervals; None: unknown."""

    method: str
    accuracy: float | None
    low: float | None
    high: float | None
    difference: float | None = None
    """None also for the baseline itself."""
    difference_low: float | None = None
    difference_high: float | None = None
    better: int | None = None
    """Questions on which the method beats the baseline."""
    worse: int | None = None
    p: float | None = None
    """Of the exact two-sided sign test."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One method's accuracy, or its gain, against K, with its interval."""

    method: str
    ks: tuple[int, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Figures:
    """The scores of a report, its K and the method that the others are compared with."""

    scores: ScoreMatrix
    k: int
    against: str | None
    """None: the records hold no such method."""
    seed: int = 0
    resamples: int = RESAMPLES

    @classmethod
    def of(cls, scores: ScoreMatrix, k: int | None = None, against: str = MAJORITY, **options: int) -> "Figures":
        """At the largest K where none is given; the paper's vote stands in for a missing ``majority``."""
        names = (MAJORITY, PAPER_MAJORITY) if against == MAJORITY else ()
        runs = (run for name in names for run in scores.methods if is_run_of(run, name))
        return cls(scores, k or scores.ks[-1], against if against in scores.methods else next(runs, None), **options)

    @cached_property
    def identical(self) -> list[tuple[str, ...]]:
        """The methods without the references, those together that have the same correctness for every K."""
        found: dict[bytes, list[str]] = {}
        for method in self.scores.choosers:
            columns = [self.scores.values(method, k, "correct", kind) for k in self.scores.ks for kind in (False, True)]
            # One bit pattern for NaN, so that equal columns have equal bytes.
            found.setdefault(np.nan_to_num(np.concatenate(columns), nan=-1.0).tobytes(), []).append(method)
        return [tuple(names) for names in found.values()]

    def label(self, method: str) -> str:
        """The names of all methods that are identical to this one."""
        return " = ".join(next((names for names in self.identical if method in names), (method,)))

    @cached_property
    def compared(self) -> list[Compared]:
        """Every method at K, beside the baseline; empty without one."""
        if self.against is None:
            return []
        methods = self.scores.methods
        values = np.stack([self.scores.values(method, self.k) for method in methods], axis=1)
        differences = values - self.scores.values(self.against, self.k)[:, None]
        spread = intervals(np.concatenate([values, differences], axis=1), self.seed, self.resamples)
        bounds = [[mean([value]) for value in side] for side in (spread.low, spread.high)]
        found = []
        for index, method in enumerate(methods):
            (low, gain_low), (high, gain_high) = ((side[index], side[index + len(methods)]) for side in bounds)
            made = Compared(method, mean(values[:, index]), low, high)
            if method != self.against:
                gain = mean(differences[:, index]), gain_low, gain_high
                made = Compared(method, made.accuracy, low, high, *gain, *sign_test(differences[:, index]))
            found.append(made)
        return found

    def by_budget(self, method: str, k: int, is_random: bool = False) -> Floats:
        """A value per question; browsing at K=1 is the mean of all samples for every method that chooses (App. A.1)."""
        values = self.scores.values(method, k, "correct", is_random)
        if k != 1 or is_random or method == SINGLE:
            return values
        return np.where(self.is_browsing, self.scores.values(MEAN_SINGLE, 1), values)

    @cached_property
    def is_browsing(self) -> npt.NDArray[np.bool_]:
        """Which questions are of the browsing setting."""
        return np.array([facts.setting == BROWSING for facts in self.scores.questions])

    def accuracy_curves(self, is_random: bool = False) -> list[Curve]:
        """A curve per method, over the K for which it has values; identical methods are one, under all their names."""
        hidden = {name for names in self.identical for name in names[1:]}
        return self._curves([name for name in self.scores.methods if name not in hidden], is_random)

    def gain_curves(self, is_random: bool = False) -> list[Curve]:
        """A curve per distinct method: accuracy above the baseline's, paired; empty without a baseline."""
        if self.against is None:
            return []
        return self._curves(
            [names[0] for names in self.identical if self.against not in names], is_random, self.against
        )

    def _curves(self, methods: list[str], is_random: bool, against: str | None = None) -> list[Curve]:
        wanted = [(method, k) for method in methods for k in self.scores.ks]
        if not wanted:
            return []
        base = {k: 0.0 if against is None else self.by_budget(against, k, is_random) for k in self.scores.ks}
        values = np.stack([self.by_budget(method, k, is_random) - base[k] for method, k in wanted], axis=1)
        spread = intervals(values, self.seed, self.resamples)
        found: dict[str, list[tuple[int, float, float, float]]] = {}
        for index, (method, k) in enumerate(wanted):
            if (middle := mean(values[:, index])) is not None:
                point = (k, middle, float(spread.low[index]), float(spread.high[index]))
                found.setdefault(self.label(method), []).append(point)
        return [Curve(label, *zip(*points, strict=True)) for label, points in found.items()]

    @cached_property
    def costs(self) -> list[RecordedCost]:
        return costs_at(self.scores, self.k)

    @cached_property
    def calibrations(self) -> list[Calibration]:
        return calibrations(self.scores, self.k)

    @cached_property
    def escalations(self) -> list[EscalationCurve]:
        return escalation_curves(self.scores, self.k)
