"""How well confidences match accuracy, and what is gained by not answering where they are low.

Bins, Brier score, log loss and expected calibration error; then precision against the share of questions answered. Only
methods whose decisions carry a confidence are measured; fitting one is the matter of ``fitting/calibrate.py``.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tracerank.evaluation.scores import Floats, ScoreMatrix
from tracerank.evaluation.tables import Table, columns

BINS = 10
"""Of equal width, for the expected calibration error."""
PRECISION = 0.95
"""Share of right answers that a user may want."""
MEASURES = "confidence, accuracy, Brier, base rate, log loss:precise, ECE, AUROC"
"""The columns of ``Reliability.record``."""
_EPSILON = 1e-6
"""Confidences are clipped by it for the log loss."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidences against correctness."""

    questions: int
    """With a confidence and a judgement."""
    confidence: float
    accuracy: float
    brier: float
    """Mean squared distance between confidence and correctness; 0 is perfect, always saying 50% gives 0.25."""
    base_brier: float
    """Of always saying the accuracy."""
    log_loss: float
    ece: float
    """Mean distance between confidence and accuracy of a bin, weighted by questions."""
    auroc: float | None
    """Probability that a right answer has more confidence than a wrong one; None: all are right, or all wrong."""

    def record(self) -> dict[str, Any]:
        """The figures in plain values."""
        return {name: value for name, value in asdict(self).items() if name != "questions"}


def reliability(confidences: Floats, right: Floats, weights: Floats | None = None) -> Reliability:
    """Of some decisions, each with its weight; equal weights where none are given."""
    weights = np.ones(len(confidences)) if weights is None else weights / weights.mean()
    accuracy, clipped = float(np.average(right, weights=weights)), np.clip(confidences, _EPSILON, 1 - _EPSILON)
    losses = -(right * np.log(clipped) + (1 - right) * np.log(1 - clipped))
    bins = np.clip((confidences * BINS).astype(np.int64), 0, BINS - 1)
    # Of a bin: its weight times the distance of the means, which is that of the sums.
    gaps = np.bincount(bins, weights * (confidences - right), BINS)
    return Reliability(
        questions=len(confidences),
        confidence=float(np.average(confidences, weights=weights)),
        accuracy=accuracy,
        brier=float(np.average((confidences - right) ** 2, weights=weights)),
        base_brier=accuracy * (1 - accuracy),
        log_loss=float(np.average(losses, weights=weights)),
        ece=float(np.abs(gaps).sum()) / len(weights),
        auroc=auroc(confidences, right, weights),
    )


def auroc(confidences: Floats, right: Floats, weights: Floats) -> float | None:
    """The probability that a right answer has more confidence than a wrong one; ties count half."""
    values, index = np.unique(confidences, return_inverse=True)
    good = np.bincount(index, weights * right, len(values))
    bad = np.bincount(index, weights * (1 - right), len(values))
    if not good.sum() or not bad.sum():
        return None
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / (good.sum() * bad.sum()))


@dataclass(frozen=True, slots=True)
class Answering:
    """The result of answering only from a confidence on."""

    threshold: float
    """The lowest confidence that is answered with."""
    share: float
    """Answered, of all judged questions, also those without a confidence."""
    precision: float
    """Right, of the answered."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One method's confidences: how reliable they are, and what they are good for."""

    method: str
    reliability: Reliability
    curve: tuple[Answering, ...]
    """From the highest confidence to all that have one, a point for each distinct confidence."""

    def at_precision(self, wanted: float = PRECISION) -> Answering | None:
        """The point with most answers at which this share of them is right; None: there is none."""
        return next((point for point in reversed(self.curve) if point.precision >= wanted), None)

    @property
    def sentence(self) -> str:
        """What a user can do with it."""
        point = self.at_precision()
        if point is None:
            return f"{self.method} reaches {PRECISION:.0%} precision at no confidence."
        return (
            f"At {PRECISION:.0%} precision {self.method} answers {point.share:.0%} of the questions "
            f"(confidence {point.threshold:.2f} or more)."
        )


def calibrations(scores: ScoreMatrix, k: int) -> list[Calibration]:
    """Of every method whose decisions carry a confidence at K, with the first K rollouts."""
    found = []
    for method in scores.methods:
        confidences, right = scores.values(method, k, "confidence"), scores.values(method, k)
        judged = ~np.isnan(right)
        known = judged & ~np.isnan(confidences)
        if known.any():
            pair = confidences[known], right[known]
            found.append(Calibration(method, reliability(*pair), answering(*pair, int(judged.sum()))))
    return found


def answering(confidences: Floats, right: Floats, questions: int) -> tuple[Answering, ...]:
    """The curve of precision against the share of so many questions that are answered."""
    order = np.argsort(-confidences, kind="stable")
    confidences, rights = confidences[order], np.cumsum(right[order])
    ends = np.flatnonzero(np.append(np.diff(confidences) != 0, True))  # equals are answered together or not at all
    return tuple(
        Answering(float(confidences[end]), (end + 1) / questions, float(rights[end] / (end + 1)))
        for end in ends.tolist()
    )


def calibration_tables(found: Sequence[Calibration], k: int) -> list[Table]:
    """Reliability, and the share of questions that can be answered; no table without a confidence."""
    if not found:
        return []
    heads = columns(f"method:text, questions:count, {MEASURES}, at {PRECISION:.0%} right")
    rows = []
    for one in found:
        point = one.at_precision()
        figures = one.reliability.record().values()
        rows.append((one.method, one.reliability.questions, *figures, point.share if point else 0.0))
    notes = (
        "Brier: mean squared distance between confidence and correctness; base rate: the same of always saying the "
        f"accuracy. ECE: mean distance between confidence and accuracy in {BINS} bins of equal width, weighted by "
        "questions. AUROC: probability that a right answer has more confidence than a wrong one. All in hundredths "
        "but the log loss.",
        *(one.sentence for one in found),
        "The thresholds were chosen on these very questions: with few questions that flatters.",
    )
    return [Table("calibration", f"confidence against accuracy in % at K={k}", heads, tuple(rows), notes)]
