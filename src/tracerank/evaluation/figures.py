"""What tables and charts of a report share: its K and baseline, differences from it, and curves against K.

Differences are paired, question by question: intervals of two accuracies overlap long after their difference is clear.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracerank.evaluation.bootstrap import RESAMPLES, intervals, sign_test
from tracerank.evaluation.calibration import Calibration, calibrations
from tracerank.evaluation.escalation import EscalationCurve
from tracerank.evaluation.evaluate import MEAN_SINGLE, SINGLE
from tracerank.evaluation.scores import Floats, ScoreMatrix, costs_at, is_run_of, mean
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


@dataclass(frozen=True, slots=True)
class CostPoint:
    """One method's accuracy, and the median of its seconds per question."""

    method: str
    seconds: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class IdenticalMethods:
    """Methods with the same correctness on every question, for every K."""

    methods: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.methods[0]

    @property
    def label(self) -> str:
        return " = ".join(self.methods)


@dataclass(frozen=True)
class Figures:
    """The scores of a report, its K and the method that the others are compared with."""

    scores: ScoreMatrix
    k: int
    against: str | None
    """None: the records hold no such method."""
    seed: int = 0
    resamples: int = RESAMPLES
    abstain_below: float | None = None

    @classmethod
    def of(cls, scores: ScoreMatrix, k: int | None = None, against: str = MAJORITY, **options: int) -> "Figures":
        """At the largest K where none is given; the paper's vote stands in for a missing ``majority``."""
        names = (MAJORITY, PAPER_MAJORITY) if against == MAJORITY else (against,)
        base = against if against in scores.methods else None
        if base is None and against == MAJORITY:
            base = next((run for name in names for run in scores.methods if is_run_of(run, name)), None)
        return cls(scores, k or scores.ks[-1], base, **options)

    @cached_property
    def identical(self) -> list[IdenticalMethods]:
        """The methods without the references, those together that never differ."""
        found: dict[bytes, list[str]] = {}
        for method in self.scores.choosers:
            columns = [self.scores.values(method, k, "correct", kind) for k in self.scores.ks for kind in (False, True)]
            # One bit pattern for NaN, so that equal columns have equal bytes.
            found.setdefault(np.nan_to_num(np.concatenate(columns), nan=-1.0).tobytes(), []).append(method)
        return [IdenticalMethods(tuple(names)) for names in found.values()]

    @cached_property
    def compared(self) -> list[Compared]:
        """Every method at K, beside the baseline; empty without one."""
        if self.against is None:
            return []
        methods = self.scores.methods
        values = np.stack([self.scores.values(method, self.k) for method in methods], axis=1)
        differences = values - self.scores.values(self.against, self.k)[:, None]
        spread = intervals(np.concatenate([values, differences], axis=1), self.seed, self.resamples)
        low, high = _known(spread.low), _known(spread.high)
        found = []
        for index, method in enumerate(methods):
            own = mean(values[:, index]), low[index], high[index]
            if method == self.against:
                found.append(Compared(method, *own))
                continue
            test, other = sign_test(differences[:, index]), index + len(methods)
            gain = mean(differences[:, index]), low[other], high[other]
            found.append(Compared(method, *own, *gain, test.wins, test.losses, test.p))
        return found

    def by_budget(self, method: str, k: int, measure: str = "correct", is_random: bool = False) -> Floats:
        """A value per question; browsing at K=1 is the mean of all samples for every method that chooses (App. A.1)."""
        values = self.scores.values(method, k, measure, is_random)
        if k != 1 or is_random or method == SINGLE:
            return values
        return np.where(self.is_browsing, self.scores.values(MEAN_SINGLE, 1, measure), values)

    @cached_property
    def is_browsing(self) -> npt.NDArray[np.bool_]:
        """Which questions are of the browsing setting."""
        return np.array([facts.setting == BROWSING for facts in self.scores.questions])

    def accuracy_curves(self, is_random: bool = False) -> list[Curve]:
        """A curve per method, over the K for which it has values; identical methods are one, under all their names."""
        hidden = {name for group in self.identical for name in group.methods[1:]}
        labels = {group.first: group.label for group in self.identical}
        methods = {name: labels.get(name, name) for name in self.scores.methods if name not in hidden}
        return self._curves(methods, lambda name, k: self.by_budget(name, k, "correct", is_random))

    def gain_curves(self, is_random: bool = False) -> list[Curve]:
        """A curve per distinct method: accuracy above the baseline's, paired; empty without a baseline."""
        against = self.against
        if against is None:
            return []
        methods = {group.first: group.label for group in self.identical if against not in group.methods}

        def gains(name: str, k: int) -> Floats:
            own, base = (self.by_budget(each, k, "correct", is_random) for each in (name, against))
            return own - base

        return self._curves(methods, gains)

    def _curves(self, methods: dict[str, str], values_of: Callable[[str, int], Floats]) -> list[Curve]:
        wanted = [(name, k) for name in methods for k in self.scores.ks]
        if not wanted:
            return []
        values = np.stack([values_of(*each) for each in wanted], axis=1)
        spread = intervals(values, self.seed, self.resamples)
        found: dict[str, list[tuple[int, float, float, float]]] = {}
        for index, (name, k) in enumerate(wanted):
            middle = mean(values[:, index])
            if middle is not None:
                point = (k, middle, float(spread.low[index]), float(spread.high[index]))
                found.setdefault(methods[name], []).append(point)
        return [Curve(label, *zip(*points, strict=True)) for label, points in found.items()]

    @cached_property
    def cost_points(self) -> list[CostPoint]:
        """Methods that took time and could be judged."""
        found = []
        for cost in costs_at(self.scores, self.k):
            accuracy = mean(self.scores.values(cost.method, self.k))
            if cost.typical_seconds and accuracy is not None:
                found.append(CostPoint(cost.method, cost.typical_seconds, accuracy))
        return found

    @cached_property
    def calibrations(self) -> list[Calibration]:
        return calibrations(self.scores, self.k)

    @cached_property
    def escalations(self) -> list[EscalationCurve]:
        return self.scores.escalations.all(self.k)


def _known(values: Floats) -> Sequence[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
