"""A confidence fitted on the user's labelled pools, in the form that holds best on questions that were left out.

Every pool counts whole and in random subsets, so that a confidence holds for any number of rollouts. What a method
chooses stays as it is.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np

from tracerank.errors import UsageError
from tracerank.evaluation.calibration import MEASURES, Reliability, reliability
from tracerank.evaluation.labels import AUTO, Labelling
from tracerank.evaluation.tables import Table, columns
from tracerank.evidence.confidence import COLUMNS, Calibration, shipped_confidence, standing_in
from tracerank.evidence.fit import BUDGETS, folds_of
from tracerank.evidence.model import Bounds, Floats, Logistic, fit_logistic, sigmoid
from tracerank.methods import EVIDENCE, load_selector
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import question_key
from tracerank.votes.base import Decision, decide_stream
from tracerank.votes.folders import existing_folder, fitted_on, remember_fitted

AS_IT_IS, SHIFTED, LOGISTIC = "as it is", "temperature", "logistic"
MIN_QUESTIONS: Mapping[str, int] = MappingProxyType({SHIFTED: 20, LOGISTIC: 100})
"""Questions from which each form is tried: few can determine two numbers, but not a weight for each column."""
FOLDS = 5
TOWARD_SHIPPED = 10.0
"""Penalty of weights that leave the shipped ones, for standardised columns."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Returned answers with how they stand and whether they are right; one row a pool or subset."""

    standings: Floats
    """[cases, columns]"""
    known: Floats
    """The confidence today; NaN: none."""
    right: Floats
    weights: Floats
    """Those of a question add up to one."""
    questions: tuple[str, ...]
    """The key of each case's question."""

    def __len__(self) -> int:
        return len(self.right)

    @property
    def question_count(self) -> int:
        return len(set(self.questions))

    @property
    def is_enough(self) -> bool:
        """Whether a confidence can be fitted: there are enough questions, and answers of both kinds."""
        return self.question_count >= MIN_QUESTIONS[SHIFTED] and len(set(self.right.tolist())) == 2


def subsets_of(pool: Pool, seed: int = 0) -> list[Pool]:
    """The pool, one random rollout of it, and one random subset of each smaller budget."""
    rng = Random(crc32(f"{seed}|{pool.question.text}".encode()))
    sizes = [k for k in (1, *BUDGETS) if k < len(pool)]
    return [pool, *(Pool(pool.question, tuple(rng.sample(pool.rollouts, k))) for k in sizes)]


def cases_of(decided: Iterable[tuple[Pool, Decision]]) -> Cases:
    """Decisions on labelled pools as cases; what cannot be judged is left out."""
    questions, standings, known, right = list[str](), list[Floats](), list[float](), list[bool]()
    for pool, decision in decided:
        correct, standing = choice(pool, decision.sample_id).correct, standing_in(pool, decision)
        if correct is not None and standing is not None:
            questions.append(question_key(pool.question.text))
            standings.append(np.array([standing[name] for name in COLUMNS]))
            known.append(np.nan if decision.confidence is None else decision.confidence)
            right.append(correct > 0.5)
    counts = Counter(questions)
    return Cases(
        np.array(standings, np.float64).reshape(len(right), len(COLUMNS)),
        np.array(known, np.float64),
        np.array(right, np.float64),
        np.array([1 / counts[name] for name in questions], np.float64),
        tuple(questions),
    )


def fit_shifted(cases: Cases, start: Logistic) -> Logistic:
    """The log odds of a model, scaled and shifted: right for an agent that is better or worse than others."""
    odds = start.scores(cases.standings, COLUMNS)
    rows = np.stack([odds, np.ones(len(odds))], axis=1)
    bounds: Bounds = [(0.05, None), (None, None)]
    penalties, toward = np.array([3.0, 0.1]), np.array([1.0, 0.0])
    scale, shift = fit_logistic(rows, cases.right, cases.weights, penalties, toward, bounds).tolist()
    return Logistic({name: weight * scale for name, weight in start.weights.items()}, start.bias * scale + shift)


def fit_columns(cases: Cases, start: Logistic) -> Logistic:
    """Every column weighed anew, including the method's own scores, drawn toward the weights of a model."""
    variance = cases.standings.var(axis=0)
    rows = np.column_stack([cases.standings, np.ones(len(cases))])
    toward = np.array([*(start.weights.get(name, 0.0) for name in COLUMNS), start.bias])
    penalties = np.append(TOWARD_SHIPPED * np.where(variance > 1e-12, variance, 1.0), 0.1)
    *weights, bias = fit_logistic(rows, cases.right, cases.weights, penalties, toward).tolist()
    return Logistic(dict(zip(COLUMNS, weights, strict=True)), bias)


FORMS: Mapping[str, Callable[[Cases, Logistic], Logistic]] = MappingProxyType(
    {SHIFTED: fit_shifted, LOGISTIC: fit_columns}
)
"""From simple to free; an isotonic curve on top of the weights was worse on six sets of 499 to 625 questions."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The result of a calibration."""

    chosen: str
    """The form with the least log loss on questions that were left out."""
    calibration: Calibration | None
    """Fitted on all cases; None: the confidence of today is best."""
    held: Mapping[str, Reliability]
    """Form to its figures on questions that were left out."""
    questions: int
    cases: int
    saved_in: Path | None = None

    def table(self) -> Table:
        """A row a form."""
        rows = tuple(
            (f"{name} ←" if name == self.chosen else name, *one.record().values()) for name, one in self.held.items()
        )
        title = f"on questions that were left out: {self.questions:,} questions, {self.cases:,} pools and subsets"
        return Table("confidence", title, columns(f"form:text, {MEASURES}"), rows)

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return {
            "chosen": self.chosen,
            "held": {name: one.record() for name, one in self.held.items()},
            "confidence": None if self.calibration is None else self.calibration.model.record(),
            "questions": self.questions,
            "cases": self.cases,
            "saved_in": None if self.saved_in is None else str(self.saved_in),
        }


def best_calibration(cases: Cases) -> Calibrated:
    """The form with the least log loss on questions that were left out; ties go to the simpler one."""
    count = cases.question_count
    if not cases.is_enough:
        raise UsageError(
            f"{count:,} questions are too few to calibrate on, or all are right or all wrong; give at least "
            f"{MIN_QUESTIONS[SHIFTED]} labelled ones of both kinds that the method was not fitted on"
        )
    start = shipped_confidence().model
    fold_of = folds_of(cases.questions, FOLDS)
    held = {} if np.isnan(cases.known).any() else {AS_IT_IS: cases.known}
    for name, form in FORMS.items():
        if count >= MIN_QUESTIONS[name]:
            held[name] = np.zeros(len(cases))
            for fold in range(FOLDS):
                out = fold_of == fold
                fitted = form(replace(cases, weights=cases.weights * ~out), start)
                held[name][out] = list(map(sigmoid, fitted.scores(cases.standings[out], COLUMNS).tolist()))
    figures = {name: reliability(known, cases.right, cases.weights) for name, known in held.items()}
    chosen = min(figures, key=lambda name: round(figures[name].log_loss, 4))
    made = None
    if chosen != AS_IT_IS:
        summary = {"form": chosen, "questions": count, "cases": len(cases), **figures[chosen].record()}
        made = Calibration(FORMS[chosen](cases, start), summary, is_own=True)
    return Calibrated(chosen, made, figures, count, len(cases))


def calibrate(
    pools: Iterable[Pool],
    folder: str | Path = EVIDENCE,
    output: str | Path | None = None,
    *,
    labels: str | Labelling = AUTO,
    seed: int = 0,
) -> Calibrated:
    """Fit the confidence of the method in a folder, and save it there or in a copy of the folder.

    Questions that the method was fitted on are left out; those calibrated on are remembered with them.
    """
    source = existing_folder(folder)
    target = source if output is None else Path(output)
    if output is None and Path(folder).resolve() != source.resolve():
        raise UsageError(f"{folder}: comes with tracerank or from the hub and cannot be changed; add -o FOLDER")
    if output is not None and target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: already exists; choose another name")
    method, fitted = load_selector(source), fitted_on(source)
    labelling = labels if isinstance(labels, Labelling) else Labelling(labels)
    questions: list[str] = []

    def subsets() -> Iterator[Pool]:
        for pool in labelling.pools(pools):
            if pool not in fitted:
                questions.append(pool.question.text)
                yield from subsets_of(pool, seed)

    found = best_calibration(cases_of(decide_stream(method, subsets())))
    if found.calibration is None:
        return found
    if output is not None:
        shutil.copytree(source, target, dirs_exist_ok=True)
    remember_fitted(target, questions, fitted)
    found.calibration.save(target)
    return replace(found, saved_in=target)
