"""Whether a confidence of 80% is right four times in five, and what is gained by keeping silent where it is low.

Bins, Brier score, log loss and expected calibration error; then precision against the share of questions that are
answered. Only of methods that give a confidence; one that no decision carries has nothing to be checked.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tracerank.evaluation.score_matrix import Floats, ScoreMatrix
from tracerank.evaluation.tables import COUNT, PRECISE, TEXT, Column, Table

BINS = 10
"""Of equal width, as in most studies; those without a question are left out."""
PRECISIONS = (0.8, 0.9, 0.95, 0.99)
"""Shares of right answers that somebody may ask for."""
SAID = 0.95
"""The one that a sentence says."""
_SURE = 1e-6
"""A certainty that was wrong costs as much as one chance in a million."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Questions with about the same confidence."""

    confidence: float
    """Their mean."""
    accuracy: float
    questions: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Confidences against what was right."""

    questions: int
    """With a confidence and a judgement."""
    confidence: float
    accuracy: float
    brier: float
    """Mean squared distance between confidence and truth; 0 is perfect, 0.25 is what 50% for everything gives."""
    base_brier: float
    """The same of whoever says the accuracy for everything."""
    log_loss: float
    ece: float
    """Mean distance between confidence and accuracy of a bin, weighed by its questions."""
    auroc: float | None
    """How often a right answer has more confidence than a wrong one; None: all are right, or all wrong."""
    bins: tuple[Bin, ...]

    def record(self) -> dict[str, Any]:
        """The figures in plain values."""
        return {name: value for name, value in asdict(self).items() if name not in ("bins", "questions")}


def reliability(told: Floats, right: Floats, weights: Floats | None = None) -> Reliability:
    """Of some decisions, each with its weight; all count the same where none is given."""
    weights = np.ones(len(told)) if weights is None else weights
    whole = weights.sum()
    accuracy = float(weights @ right / whole)
    sure = np.clip(told, _SURE, 1 - _SURE)
    losses = -(right * np.log(sure) + (1 - right) * np.log(1 - sure))
    bins, ece = [], 0.0
    place = np.clip((told * BINS).astype(np.int64), 0, BINS - 1)
    for each in np.unique(place).tolist():
        own = place == each
        share = weights[own].sum()
        found = Bin(float(weights[own] @ told[own] / share), float(weights[own] @ right[own] / share), int(own.sum()))
        bins.append(found)
        ece += float(share / whole) * abs(found.confidence - found.accuracy)
    return Reliability(
        len(told),
        float(weights @ told / whole),
        accuracy,
        float(weights @ (told - right) ** 2 / whole),
        accuracy * (1 - accuracy),
        float(weights @ losses / whole),
        ece,
        auroc(told, right, weights),
        tuple(bins),
    )


def auroc(told: Floats, right: Floats, weights: Floats | None = None) -> float | None:
    """The chance that a right one is told above a wrong one; ties count half."""
    weights = np.ones(len(told)) if weights is None else weights
    values, place = np.unique(told, return_inverse=True)
    good = np.bincount(place, weights * right, len(values))
    bad = np.bincount(place, weights * (1 - right), len(values))
    if not good.sum() or not bad.sum():
        return None
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / (good.sum() * bad.sum()))


@dataclass(frozen=True, slots=True)
class Answering:
    """What comes of answering only from a confidence on."""

    threshold: float
    """Least confidence that is answered with."""
    share: float
    """Of all judged questions, also those without a confidence, that are answered."""
    precision: float
    """Of these, what is right."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """One method's confidences: how true they are, and what they are good for."""

    method: str
    reliability: Reliability
    curve: tuple[Answering, ...]
    """From the surest questions to all that have a confidence, one point for each confidence told."""

    def at_precision(self, wanted: float) -> Answering | None:
        """Where most questions are answered and this share of the answers is right; None: nowhere."""
        return next((point for point in reversed(self.curve) if point.precision >= wanted), None)

    def from_confidence(self, least: float) -> Answering | None:
        """What comes of keeping silent below a confidence; None: nothing is answered."""
        return next((point for point in reversed(self.curve) if point.threshold >= least), None)

    @property
    def sentence(self) -> str:
        """What a user can do with it."""
        point = self.at_precision(SAID)
        if point is None:
            return f"{self.method} reaches {SAID:.0%} precision at no confidence."
        return (
            f"At {SAID:.0%} precision {self.method} answers {point.share:.0%} of the questions "
            f"(confidence {point.threshold:.2f} or more)."
        )


def calibrations(scores: ScoreMatrix, k: int) -> list[Calibration]:
    """Of every method whose decisions carry a confidence at K, with the first K rollouts."""
    found = (_calibration(method, scores, k) for method in scores.methods)
    return [each for each in found if each is not None]


def _calibration(method: str, scores: ScoreMatrix, k: int) -> Calibration | None:
    told, right = scores.values(method, k, "confidence"), scores.values(method, k)
    judged = ~np.isnan(right)
    known = judged & ~np.isnan(told)
    if not known.any():
        return None
    curve = answering(told[known], right[known], int(judged.sum()))
    return Calibration(method, reliability(told[known], right[known]), curve)


def answering(told: Floats, right: Floats, questions: int) -> tuple[Answering, ...]:
    """The curve of precision against the share of so many questions that are answered."""
    order = np.argsort(-told, kind="stable")
    told, rights = told[order], np.cumsum(right[order])
    ends = np.flatnonzero(np.append(np.diff(told) != 0, True))  # equals are answered together or not at all
    return tuple(
        Answering(float(told[end]), (end + 1) / questions, float(rights[end] / (end + 1))) for end in ends.tolist()
    )


def calibration_tables(scores: ScoreMatrix, k: int, abstain_below: float | None = None) -> list[Table]:
    """The figures of all of them; no table where nobody gives a confidence."""
    found = calibrations(scores, k)
    return [_reliability_table(found, k), _abstaining_table(found, k, abstain_below)] if found else []


def _reliability_table(found: Sequence[Calibration], k: int) -> Table:
    figures = [(one.method, one.reliability) for one in found]
    columns = (Column("method", TEXT), Column("questions", COUNT), Column("confidence"), Column("accuracy"))
    return Table(
        "calibration",
        f"confidence against accuracy in % at K={k}",
        (*columns, Column("Brier"), Column("base rate"), Column("log loss", PRECISE), Column("ECE"), Column("AUROC")),
        tuple(
            (name, one.questions, one.confidence, one.accuracy, one.brier, one.base_brier, *_others(one))
            for name, one in figures
        ),
        (
            "Brier: mean squared distance between confidence and truth; base rate: the same of saying the accuracy for "
            f"every question. ECE: mean distance between confidence and accuracy in {BINS} bins of equal width, "
            "weighed by questions. AUROC: how often a right answer is told surer than a wrong one. All in hundredths "
            "but the log loss.",
        ),
    )


def _others(one: Reliability) -> tuple[float, float, float | None]:
    return one.log_loss, one.ece, one.auroc


def _abstaining_table(found: Sequence[Calibration], k: int, least: float | None) -> Table:
    heads = [Column(f"at {precision:.0%} right") for precision in PRECISIONS]
    if least is not None:
        heads += [Column(f"from {least:g}"), Column("of these right")]
    rows = []
    for one in found:
        points = [one.at_precision(precision) for precision in PRECISIONS]
        row: list[str | float | None] = [one.method, *(0.0 if point is None else point.share for point in points)]
        if least is not None:
            point = one.from_confidence(least)
            row += [0.0 if point is None else point.share, None if point is None else point.precision]
        rows.append(tuple(row))
    return Table(
        "abstaining",
        f"share of the questions that can be answered, in %, by confidence at K={k}",
        (Column("method", TEXT), *heads),
        tuple(rows),
        (
            *(one.sentence for one in found),
            "Confidences are put where these questions would have had them: with few questions that flatters.",
        ),
    )
