"""What methods gain over one of them, question by question; and which methods are one and the same on all questions.

Differences are paired: bands of two accuracies overlap long after their difference is sure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.evaluate import REFERENCES
from tracerank.evaluation.report import Curve, ReportPlan, baseline, budget_values
from tracerank.evaluation.score_matrix import Floats, ScoreMatrix, mean


@dataclass(frozen=True, slots=True)
class Alike:
    """Methods that are as right as each other on every question, for every K."""

    methods: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.methods[0]

    @property
    def label(self) -> str:
        return " = ".join(self.methods)


def alike(scores: ScoreMatrix) -> list[Alike]:
    """The methods without the references, those together that never differ."""
    found: list[tuple[list[str], list[Floats]]] = []
    for method in scores.methods:
        if method in REFERENCES:
            continue
        columns = [scores.values(method, k, "correct", is_random) for k in scores.ks for is_random in (False, True)]
        twin = next((names for names, own in found if _are_equal(own, columns)), None)
        if twin is None:
            found.append(([method], columns))
        else:
            twin.append(method)
    return [Alike(tuple(names)) for names, _ in found]


def _are_equal(own: Sequence[Floats], other: Sequence[Floats]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(own, other, strict=True))


def merged(curves: Sequence[Curve], groups: Sequence[Alike]) -> list[Curve]:
    """One curve for methods that are one, under all their names; the references stay as they are."""
    labels = {group.first: group.label for group in groups}
    hidden = {name for group in groups for name in group.methods[1:]}
    return [
        Curve(labels.get(curve.method, curve.method), curve.ks, curve.accuracy, curve.low, curve.high)
        for curve in curves
        if curve.method not in hidden
    ]


def gain_curves(scores: ScoreMatrix, plan: ReportPlan, is_random: bool = False) -> list[Curve]:
    """A curve per distinct method: accuracy above the baseline's, with the paired interval; none without a baseline."""
    against = baseline(scores, plan)
    others = [group for group in alike(scores) if against not in group.methods]
    if against is None or not others:
        return []
    wanted = [(group, k) for group in others for k in scores.ks]
    gains = [
        budget_values(scores, group.first, k, "correct", is_random)
        - budget_values(scores, against, k, "correct", is_random)
        for group, k in wanted
    ]
    spread = intervals(np.stack(gains, axis=1), plan.seed, plan.resamples)
    found: dict[str, list[tuple[int, float, float, float]]] = {}
    for place, (group, k) in enumerate(wanted):
        gain = mean(gains[place])
        if gain is not None:
            point = (k, gain, float(spread.low[place]), float(spread.high[place]))
            found.setdefault(group.label, []).append(point)
    return [Curve(label, *zip(*points, strict=True)) for label, points in found.items()]
