"""What asking another method about unsure questions brought and cost, for every threshold up to the one that was asked.

A record of an escalated decision holds what stood before, so a smaller threshold is told from records alone: nothing is
asked again. Above the threshold of the run nobody knows, because nobody asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracerank.evaluation.score_matrix import Floats, ScoreMatrix, mean
from tracerank.evaluation.tables import COUNT, MONEY, NUMBER, POINTS, PRECISE, TEXT, Column, Table, Value

Flags = npt.NDArray[np.bool_]
STEPS = tuple(round(0.05 * step, 2) for step in range(1, 21))
"""Thresholds of the curve."""


@dataclass(frozen=True, slots=True)
class EscalationPoint:
    """What comes of asking below one confidence."""

    below: float
    escalated: int
    share: float
    """Of all questions."""
    accuracy: float | None
    """Of all judged questions, also those that were not escalated; None: nobody was judged."""
    recovered: float
    """Answers that were wrong before and are right now; labels between 0 and 1 count by what they gain."""
    lost: float
    """The other way round."""
    calls: float | None
    """Of the other method; None: nobody counted."""
    tokens: float | None
    money: float | None

    def each(self, cost: float | None) -> float | None:
        """The cost for one recovered answer; None: none was, or nobody counted."""
        return None if cost is None or not self.recovered else cost / self.recovered


@dataclass(frozen=True, slots=True)
class EscalationCurve:
    """One method with another one behind it."""

    method: str
    questions: int
    below: float
    """The threshold of the run, where the curve ends."""
    before: float | None
    """Accuracy without the other method."""
    points: tuple[EscalationPoint, ...]

    @property
    def sentence(self) -> str:
        """What the run itself brought."""
        last = self.points[-1]
        told = (
            f"{self.method}: {last.escalated:,} of {self.questions:,} questions ({last.share:.0%}) were below "
            f"{self.below:g}; recovered answers: {last.recovered:g}, lost: {last.lost:g}"
        )
        if self.before is not None and last.accuracy is not None:
            told += f"; {self.before:.1%} right before and {last.accuracy:.1%} after"
        calls, tokens = last.each(last.calls), last.each(last.tokens)
        if calls is not None and tokens is not None:
            told += f"; {calls:,.1f} calls and {tokens:,.0f} tokens a recovered answer"
        return told


def escalation_curves(scores: ScoreMatrix, k: int) -> list[EscalationCurve]:
    """Of every method that escalated a question at K, with the first K rollouts."""
    return [_curve(scores, method, k) for method in scores.methods if _was_asked(scores, method, k).any()]


def _was_asked(scores: ScoreMatrix, method: str, k: int) -> Flags:
    asked: Flags = ~np.isnan(scores.values(method, k, "below"))
    return asked


def _curve(scores: ScoreMatrix, method: str, k: int) -> EscalationCurve:
    asked = _was_asked(scores, method, k)
    after = scores.values(method, k)
    before = np.where(asked, scores.values(method, k, "first_correct"), after)
    # No confidence is unsure, whatever the threshold.
    told = np.where(np.isnan(first := scores.values(method, k, "first_confidence")), -1.0, first)
    below = float(np.nanmax(scores.values(method, k, "below")))
    thresholds = [*(step for step in STEPS if step < below), below]
    decided: Flags = ~np.isnan(scores.values(method, k, "seconds")) | ~np.isnan(after)
    found = [_point(scores, method, k, step, asked & (told < step), before, after, decided) for step in thresholds]
    # The run itself, and of others those that ask about more questions than the one before.
    asking = [0, *(point.escalated for point in found)]
    points = [
        point for at, point in enumerate(found) if point.below == below or asking[at] < point.escalated < asking[-1]
    ]
    return EscalationCurve(method, int(decided.sum()), below, mean(before), tuple(points))


def _point(
    scores: ScoreMatrix, method: str, k: int, below: float, here: Flags, before: Floats, after: Floats, decided: Flags
) -> EscalationPoint:
    gains = np.nan_to_num((after - before)[here])
    costs = {name: _sum(scores.values(method, k, name)[here]) for name in ("second_calls", "money")}
    tokens = [_sum(scores.values(method, k, name)[here]) for name in ("second_prompt", "second_written")]
    known = [count for count in tokens if count is not None]
    return EscalationPoint(
        below,
        int(here.sum()),
        float(here.sum() / max(1, decided.sum())),
        mean(np.where(here, after, before)),
        float(gains[gains > 0].sum()),
        float(-gains[gains < 0].sum()) + 0.0,
        costs["second_calls"],
        sum(known) if known else None,
        costs["money"],
    )


def _sum(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None


def escalation_tables(scores: ScoreMatrix, k: int) -> list[Table]:
    """A row for each threshold of each method; no table where nobody escalated."""
    curves = escalation_curves(scores, k)
    if not curves:
        return []
    columns = [
        *(Column("method", TEXT), Column("below", PRECISE), Column("escalated"), Column("accuracy")),
        *(Column("change", POINTS), Column("recovered", COUNT), Column("lost", COUNT), Column("calls", COUNT)),
        *(Column("tokens", COUNT), Column("calls each", NUMBER), Column("tokens each", NUMBER)),
    ]
    if scores.currency is not None:
        columns.append(Column(f"{scores.currency} each", MONEY))
    rows = [_row(curve, point, scores.currency is not None) for curve in curves for point in curve.points]
    return [
        Table(
            "escalation",
            f"asking another method below a confidence, at K={k}",
            tuple(columns),
            tuple(rows),
            (
                *(f"{curve.sentence}." for curve in curves),
                "escalated: share of the questions, in %. accuracy: of all, in %; change: from asking nobody, in "
                "points. recovered, lost: wrong before and right now, and the other way round. each: for one recovered "
                "answer. Thresholds below the one of the run are told from its records; those that ask about the same "
                "questions as the one before are left out. The best one here is no promise for other questions.",
            ),
        )
    ]


def _row(curve: EscalationCurve, point: EscalationPoint, has_money: bool) -> tuple[Value, ...]:
    change = None if point.accuracy is None or curve.before is None else point.accuracy - curve.before
    counts = (_whole(value) for value in (point.recovered, point.lost, point.calls, point.tokens))
    each = (point.each(point.calls), point.each(point.tokens))
    found: Sequence[Value] = (curve.method, point.below, point.share, point.accuracy, change, *counts, *each)
    return (*found, point.each(point.money)) if has_money else tuple(found)


def _whole(value: float | None) -> Value:
    return int(value) if value is not None and value.is_integer() else value
