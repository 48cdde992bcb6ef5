"""What asking another method about unsure questions brought and cost, for every threshold up to that of the run.

The record of an escalated decision holds the first decision, so smaller thresholds need no further calls. Nothing is
known above the threshold of the run.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tracerank.evaluation.records import Record
from tracerank.evaluation.tables import COUNT, MONEY, NUMBER, POINTS, PRECISE, TEXT, Column, Table, Value
from tracerank.pools.subsets import FIRST

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
    money: float | None

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

    def record(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(slots=True)
class _Run:
    """The decisions of one method at one K."""

    questions: int = 0
    settled: list[float] = field(default_factory=list)
    """Correctness of the judged decisions that were not escalated."""
    asked: list[tuple[Record, float | None]] = field(default_factory=list)
    """Escalated decisions, and what they cost."""


class EscalationCurves:
    """Collects records and makes a curve of every method that escalated a question, with the first K rollouts."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], _Run] = {}

    def add(self, record: Record, money: float | None = None) -> None:
        """One more record; ``money`` is the price of its tokens."""
        if record.subset != FIRST or (record.seconds is None and record.correct is None):
            return
        run = self._runs.setdefault((record.method, record.k), _Run())
        run.questions += 1
        if record.escalated is not None:
            run.asked.append((record, money))
        elif record.correct is not None:
            run.settled.append(record.correct)

    def all(self, k: int | None = None) -> list[EscalationCurve]:
        """In the order of the methods, K ascending; of one K alone where it is given."""
        methods = list(dict.fromkeys(method for method, _ in self._runs))
        keys = sorted(self._runs, key=lambda key: (methods.index(key[0]), key[1]))
        return [_curve(*key, self._runs[key]) for key in keys if self._runs[key].asked and k in (None, key[1])]


def _curve(method: str, k: int, run: _Run) -> EscalationCurve:
    below = max(record.escalated.below for record, _ in run.asked if record.escalated)
    found = [_point(run, step) for step in (*(step for step in STEPS if step < below), below)]
    # The run itself, and of the others those that ask about more questions than the one before.
    asking = [0, *(point.escalated for point in found)]
    points = [
        point for at, point in enumerate(found) if point.below == below or asking[at] < point.escalated < asking[-1]
    ]
    return EscalationCurve(method, k, run.questions, below, _point(run, -1.0).accuracy, tuple(points))


def _point(run: _Run, below: float) -> EscalationPoint:
    values, gains, costs = list(run.settled), [], []
    for record, money in run.asked:
        first = record.escalated
        assert first is not None
        # No confidence is unsure, whatever the threshold; a negative one asks about nothing.
        is_asked = below >= 0 and (first.confidence is None or first.confidence < below)
        value = record.correct if is_asked else first.correct
        values += [] if value is None else [value]
        if is_asked:
            known = [count for count in (first.prompt_tokens, first.completion_tokens) if count is not None]
            costs.append((first.calls, sum(known) if known else None, money))
            has_both = record.correct is not None and first.correct is not None
            gains.append((record.correct or 0.0) - (first.correct or 0.0) if has_both else 0.0)
    calls, tokens, spent = (_sum([cost[index] for cost in costs]) for index in range(3))
    return EscalationPoint(
        below,
        len(gains),
        len(gains) / max(1, run.questions),
        sum(values) / len(values) if values else None,
        float(sum(gain for gain in gains if gain > 0)),
        float(sum(-gain for gain in gains if gain < 0)),
        calls,
        tokens,
        spent,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(sum(known)) if known else None


def escalation_tables(curves: Sequence[EscalationCurve], k: int, currency: str | None) -> list[Table]:
    """A row for each threshold of each method; no table without escalation."""
    if not curves:
        return []
    columns = [
        *(Column("method", TEXT), Column("below", PRECISE), Column("escalated"), Column("accuracy")),
        *(Column("change", POINTS), Column("recovered", COUNT), Column("lost", COUNT), Column("calls", COUNT)),
        *(Column("tokens", COUNT), Column("calls each", NUMBER), Column("tokens each", NUMBER)),
        *([] if currency is None else [Column(f"{currency} each", MONEY)]),
    ]
    rows = [_row(curve, point)[: len(columns)] for curve in curves for point in curve.points]
    notes = (
        *(f"{curve.sentence}." for curve in curves),
        "escalated: share of the questions, in %. accuracy: of all, in %; change: from asking about none, in points. "
        "recovered, lost: wrong before and right now, and the reverse. each: per recovered answer. Smaller thresholds "
        "than the run's are computed from its records; those that ask about the same questions as the one before are "
        "left out. The best one here need not be the best for other questions.",
    )
    return [
        Table("escalation", f"asking another method below a confidence, at K={k}", tuple(columns), tuple(rows), notes)
    ]


def _row(curve: EscalationCurve, point: EscalationPoint) -> tuple[Value, ...]:
    change = None if point.accuracy is None or curve.before is None else point.accuracy - curve.before
    counts = (_whole(value) for value in (point.recovered, point.lost, point.calls, point.tokens))
    each = (point.each(cost) for cost in (point.calls, point.tokens, point.money))
    return (curve.method, point.below, point.share, point.accuracy, change, *counts, *each)


def _whole(value: float | None) -> Value:
    return int(value) if value is not None and value.is_integer() else value
