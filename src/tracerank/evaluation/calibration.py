"""Whether a confidence of 80% is right four times in five: bins, Brier score and expected calibration error.

Only of methods that give a confidence; one that no decision carries has nothing to be checked.
"""

from dataclasses import dataclass

import numpy as np

from tracerank.evaluation.score_matrix import Floats, ScoreMatrix
from tracerank.evaluation.tables import COUNT, TEXT, Column, Table

BINS = 10
"""Of equal width, as in most studies; those without a question are left out."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Questions with about the same confidence."""

    confidence: float
    """Their mean."""
    accuracy: float
    questions: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """One method's confidences against what was right."""

    method: str
    questions: int
    """With a confidence and a judgement."""
    confidence: float
    accuracy: float
    brier: float
    """Mean squared distance between confidence and truth; 0 is perfect, 0.25 is what 50% for everything gives."""
    ece: float
    """Mean distance between confidence and accuracy of a bin, weighed by its questions."""
    bins: tuple[Bin, ...]


def calibrations(scores: ScoreMatrix, k: int) -> list[Calibration]:
    """Of every method whose decisions carry a confidence at K, with the first K rollouts."""
    found = (_calibration(method, scores, k) for method in scores.methods)
    return [each for each in found if each is not None]


def _calibration(method: str, scores: ScoreMatrix, k: int) -> Calibration | None:
    told, right = scores.values(method, k, "confidence"), scores.values(method, k)
    known = ~(np.isnan(told) | np.isnan(right))
    told, right = told[known], right[known]
    if not len(told):
        return None
    bins = _bins(told, right)
    ece = sum(each.questions * abs(each.confidence - each.accuracy) for each in bins) / len(told)
    brier = float(((told - right) ** 2).mean())
    return Calibration(method, len(told), float(told.mean()), float(right.mean()), brier, ece, bins)


def _bins(told: Floats, right: Floats) -> tuple[Bin, ...]:
    place = np.clip((told * BINS).astype(np.int64), 0, BINS - 1)
    return tuple(
        Bin(float(told[place == each].mean()), float(right[place == each].mean()), int((place == each).sum()))
        for each in np.unique(place)
    )


def calibration_tables(scores: ScoreMatrix, k: int) -> list[Table]:
    """The figures of all of them; no table where nobody gives a confidence."""
    rows = [
        (one.method, one.questions, one.confidence, one.accuracy, one.brier, one.ece) for one in calibrations(scores, k)
    ]
    if not rows:
        return []
    columns = (Column("method", TEXT), Column("questions", COUNT), Column("confidence"), Column("accuracy"))
    return [
        Table(
            "calibration",
            f"confidence against accuracy in % at K={k}",
            (*columns, Column("Brier"), Column("ECE")),
            tuple(rows),
            (
                f"Brier: mean squared distance between confidence and truth. ECE: mean distance between confidence and "
                f"accuracy in {BINS} bins of equal width, weighed by questions. Both in hundredths; 0 is best.",
            ),
        )
    ]
