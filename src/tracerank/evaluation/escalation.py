"""What asking another method about unsure questions brought and cost, for every threshold up to that of the run.

The record of an escalated decision holds the first decision, so smaller thresholds need no further calls. Nothing is
known above the threshold of the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.evaluation.scores import Floats, ScoreMatrix, mean
from tracerank.evaluation.tables import Table, columns

STEPS = tuple(round(0.05 * step, 2) for step in range(1, 21))
"""Thresholds of the curve."""


@dataclass(frozen=True, slots=True)
class EscalationPoint:
    """The result of asking below one confidence."""

    below: float
    escalated: int
    share: float
    """Of all questions."""
    accuracy: float | None
    """Of all judged questions, also those that were not escalated; None: no question was judged."""
    recovered: float
    """Answers that were wrong before and are right now; labels between 0 and 1 count by what they gain."""
    lost: float
    """Answers that were right before and are wrong now."""
    calls: float | None
    """Of the other method; None: not counted."""
    tokens: float | None

    def each(self, cost: float | None) -> float | None:
        """The cost per recovered answer; None: unknown, or no answer was recovered."""
        return None if cost is None or not self.recovered else cost / self.recovered


@dataclass(frozen=True, slots=True)
class EscalationCurve:
    """One method with another one behind it, at one K."""

    method: str
    k: int
    questions: int
    below: float
    """The threshold of the run, where the curve ends."""
    before: float | None
    """Accuracy without the other method."""
    points: tuple[EscalationPoint, ...]

    @property
    def sentence(self) -> str:
        """The result of the run itself."""
        last = self.points[-1]
        made = (
            f"{self.method} at K={self.k}: {last.escalated:,} of {self.questions:,} questions ({last.share:.0%}) were "
            f"below {self.below:g}; recovered answers: {last.recovered:g}, lost: {last.lost:g}"
        )
        if self.before is not None and last.accuracy is not None:
            made += f"; {self.before:.1%} right before and {last.accuracy:.1%} after"
        calls, tokens = last.each(last.calls), last.each(last.tokens)
        if calls is not None and tokens is not None:
            made += f"; {calls:,.1f} calls and {tokens:,.0f} tokens per recovered answer"
        return made


def escalation_curves(scores: ScoreMatrix, ks: Sequence[int]) -> list[EscalationCurve]:
    """Of every method that escalated a question, with the first K rollouts."""
    found = (_curve(scores, method, k) for method in scores.choosers for k in ks)
    return [curve for curve in found if curve is not None]


def _curve(scores: ScoreMatrix, method: str, k: int) -> EscalationCurve | None:
    right, below, confidence, first = (
        scores.values(method, k, name) for name in ("correct", "below", "first_confidence", "first_correct")
    )
    is_escalated = ~np.isnan(below)
    if not is_escalated.any():
        return None
    before = np.where(is_escalated, first, right)
    unsure = np.where(np.isnan(confidence), -np.inf, confidence)  # no confidence is below every threshold
    decided = int((~np.isnan(right) | ~np.isnan(scores.values(method, k, "seconds"))).sum())
    costs = [scores.values(method, k, name) for name in ("other_calls", "other_tokens")]

    def point(threshold: float) -> EscalationPoint:
        is_asked = is_escalated & (unsure < threshold)
        count, gains = int(is_asked.sum()), np.nan_to_num(right - before)[is_asked]
        accuracy = mean(np.where(is_asked, right, before))
        recovered, lost = float(gains[gains > 0].sum()), float((-gains[gains < 0]).sum())
        spent = (_known_sum(cost[is_asked]) for cost in costs)
        return EscalationPoint(threshold, count, count / decided, accuracy, recovered, lost, *spent)

    last = point(float(np.nanmax(below)))
    points: list[EscalationPoint] = []
    for each in map(point, (step for step in STEPS if step < last.below)):
        # Those that ask about more questions than the one before, and about fewer than the run itself.
        if (points[-1].escalated if points else 0) < each.escalated < last.escalated:
            points.append(each)
    return EscalationCurve(method, k, decided, last.below, mean(before), (*points, last))


def _known_sum(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None


def escalation_tables(curves: Sequence[EscalationCurve], k: int) -> list[Table]:
    """A row for each threshold of each method; no table without escalation."""
    if not curves:
        return []
    heads = columns(
        "method:text, below:precise, escalated, accuracy, change:points, recovered:count, lost:count, calls:count, "
        "tokens:count, calls each:number, tokens each:number"
    )
    rows = []
    for curve in curves:
        for one in curve.points:
            change = None if one.accuracy is None or curve.before is None else one.accuracy - curve.before
            counts = (
                int(value) if value is not None and value.is_integer() else value
                for value in (one.recovered, one.lost, one.calls, one.tokens)
            )
            each = map(one.each, (one.calls, one.tokens))
            rows.append((curve.method, one.below, one.share, one.accuracy, change, *counts, *each))
    notes = (
        *(f"{curve.sentence}." for curve in curves),
        "escalated: share of the questions, in %. accuracy: of all, in %; change: from asking about none, in points. "
        "recovered, lost: wrong before and right now, and the reverse. each: per recovered answer. Smaller thresholds "
        "than the run's are computed from its records; those that ask about the same questions as the one before are "
        "left out. The best one here need not be the best for other questions.",
    )
    return [Table("escalation", f"asking another method below a confidence, at K={k}", heads, tuple(rows), notes)]
