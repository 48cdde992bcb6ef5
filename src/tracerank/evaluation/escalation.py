"""What asking another method about unsure questions brought and cost; the records hold the first decision, too."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.evaluation.scores import Floats, ScoreMatrix, mean


@dataclass(frozen=True, slots=True)
class EscalationResult:
    """One method with another one behind it, at one K."""

    method: str
    k: int
    questions: int
    below: float
    """The other method is asked below this confidence."""
    escalated: int
    before: float | None
    """Accuracy without the other method; None: no question was judged."""
    accuracy: float | None
    recovered: float
    """Answers that were wrong before and are right now; labels between 0 and 1 count by what they gain."""
    lost: float
    """Answers that were right before and are wrong now."""
    calls: float | None
    """Of the other method; None: not counted."""
    tokens: float | None

    @property
    def sentence(self) -> str:
        """The result in a line."""
        made = (
            f"{self.method} at K={self.k}: {self.escalated:,} of {self.questions:,} questions "
            f"({self.escalated / self.questions:.0%}) were below {self.below:g}; recovered answers: "
            f"{self.recovered:g}, lost: {self.lost:g}"
        )
        if self.before is not None and self.accuracy is not None:
            made += f"; {self.before:.1%} right before and {self.accuracy:.1%} after"
        if self.calls is not None and self.tokens is not None and self.recovered:
            calls, tokens = self.calls / self.recovered, self.tokens / self.recovered
            made += f"; {calls:,.1f} calls and {tokens:,.0f} tokens per recovered answer"
        return made


def escalations(scores: ScoreMatrix, ks: Sequence[int]) -> list[EscalationResult]:
    """Of every method that escalated a question, with the first K rollouts."""
    found = (_escalation(scores, method, k) for method in scores.choosers for k in ks)
    return [result for result in found if result is not None]


def _escalation(scores: ScoreMatrix, method: str, k: int) -> EscalationResult | None:
    right, below, first, seconds, calls, tokens = (
        scores.values(method, k, name)
        for name in ("correct", "below", "first_correct", "seconds", "other_calls", "other_tokens")
    )
    is_escalated = ~np.isnan(below)
    if not is_escalated.any():
        return None
    before = np.where(is_escalated, first, right)
    gains = np.nan_to_num(right - before)
    return EscalationResult(
        method,
        k,
        questions=int((~np.isnan(right) | ~np.isnan(seconds)).sum()),
        below=float(np.nanmax(below)),
        escalated=int(is_escalated.sum()),
        before=mean(before),
        accuracy=mean(right),
        recovered=float(gains[gains > 0].sum()),
        lost=float(-gains[gains < 0].sum()),
        calls=_known_sum(calls),
        tokens=_known_sum(tokens),
    )


def _known_sum(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else None
