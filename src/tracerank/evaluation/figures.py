"""What tables and charts of a report share: its K and baseline, and differences from it.

Differences are paired, question by question: intervals of two accuracies overlap long after their difference is clear.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracerank.evaluation.bootstrap import RESAMPLES, intervals, sign_test
from tracerank.evaluation.calibration import Calibration, calibrations
from tracerank.evaluation.evaluate import MEAN_SINGLE, SINGLE
from tracerank.evaluation.scores import ScoreMatrix, is_run_of, mean
from tracerank.pools.types import BROWSING

MAJORITY, PAPER_MAJORITY = "majority", "majority-paper"


@dataclass(frozen=True, slots=True)
class Compared:
    """One method's accuracy and its difference from the baseline, with 95% intervals; None: unknown."""

    method: str
    accuracy: float | None
    low: float | None
    high: float | None
    difference: float | None
    """None also for the baseline itself."""
    difference_low: float | None
    difference_high: float | None
    better: int | None
    """Questions on which the method beats the baseline."""
    worse: int | None
    p: float | None
    """Of the exact two-sided sign test."""


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
    def compared(self) -> list[Compared]:
        """Every method at K, beside the baseline; empty without one."""
        if self.against is None:
            return []
        methods = self.scores.methods
        values = np.stack([self.scores.values(method, self.k) for method in methods], axis=1)
        differences = values - self.scores.values(self.against, self.k)[:, None]
        spread = intervals(np.concatenate([values, differences], axis=1), self.seed, self.resamples)
        lows, highs = ([mean([value]) for value in side] for side in (spread.low, spread.high))
        found = []
        for index, method in enumerate(methods):
            accuracy = mean(values[:, index]), lows[index], highs[index]
            if method == self.against:
                found.append(Compared(method, *accuracy, *[None] * 3, *[None] * 3))
                continue
            own = differences[:, index]
            gain = mean(own), lows[index + len(methods)], highs[index + len(methods)]
            found.append(Compared(method, *accuracy, *gain, *sign_test(own)))
        return found

    def by_budget(self, method: str, k: int) -> float | None:
        """The accuracy; browsing at K=1 is the mean of all samples for every method that chooses (App. A.1)."""
        values = self.scores.values(method, k)
        if k == 1 and method != SINGLE:
            values = np.where(self.is_browsing, self.scores.values(MEAN_SINGLE, 1), values)
        return mean(values)

    @cached_property
    def is_browsing(self) -> npt.NDArray[np.bool_]:
        """Which questions are of the browsing setting."""
        return np.array([facts.setting == BROWSING for facts in self.scores.questions])

    @cached_property
    def calibrations(self) -> list[Calibration]:
        return calibrations(self.scores, self.k)
