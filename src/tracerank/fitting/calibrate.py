"""Confidence fitted on the user's own labelled pools, in the form that holds best on questions that were left out.

Every pool counts whole and in random subsets, so that a confidence holds for any number of rollouts. The selector's
choices stay as they are; questions that it was fitted on must be left out by the caller, as it is surer of these.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from types import MappingProxyType
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import UsageError
from tracerank.evaluation.calibration import Reliability, reliability
from tracerank.extras import needed
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import question_key
from tracerank.selectors.features.fit import BUDGETS, folds_of
from tracerank.selectors.meaning.confidence import (
    COLUMNS,
    Confidence,
    is_code,
    shipped_confidence,
    standing_in,
    stepped,
)
from tracerank.votes.base import decide_stream
from tracerank.votes.selector import Selector

Floats = NDArray[np.float64]

AS_IT_IS, SHIFTED, LOGISTIC, ISOTONIC = "as it is", "temperature", "logistic", "isotonic"
LEAST: Mapping[str, int] = MappingProxyType({SHIFTED: 20, LOGISTIC: 100, ISOTONIC: 300})
"""Questions from which each form is tried: fewer settle two numbers, but not a curve."""
FOLDS = 5
_TOWARD_SHIPPED = 10.0
"""Penalty of weights that leave the shipped ones, in standard deviations of their columns."""
_IMAGINED = 1.0
"""Questions as sure as they were told that each step is given besides its own: no run of luck makes it certain."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Returned answers with how they stand and whether they are right; one row a pool or subset."""

    standings: Floats
    """[cases, columns]"""
    told: Floats
    """What the selector says today; NaN: nothing."""
    right: Floats
    weights: Floats
    """A question's cases share one."""
    questions: tuple[str, ...]
    """What tells the question of each case."""
    longest: int
    """Words of the longest answer."""
    has_code: bool

    def __len__(self) -> int:
        return len(self.right)

    @property
    def asked(self) -> int:
        return len(set(self.questions))

    def take(self, where: NDArray[np.bool_]) -> "Cases":
        names = tuple(name for name, is_in in zip(self.questions, where.tolist(), strict=True) if is_in)
        rows = (self.standings[where], self.told[where], self.right[where], self.weights[where])
        return Cases(*rows, names, self.longest, self.has_code)


def subsets_of(pool: Pool, seed: int = 0) -> list[Pool]:
    """The pool, one random rollout of it, and one random subset for each smaller budget."""
    rng = Random(crc32(f"{seed}|{pool.question.text}".encode()))
    sizes = [k for k in (1, *BUDGETS) if k < len(pool)]
    return [pool, *(Pool(pool.question, tuple(rng.sample(pool.rollouts, k))) for k in sizes)]


def cases_of(selector: Selector, pools: Iterable[Pool], seed: int = 0) -> Cases:
    """What the selector returns on labelled pools and their subsets; what cannot be judged is left out."""
    rows: list[tuple[list[float], float, float, str]] = []
    longest, has_code = 1, False
    cut = (subset for pool in pools for subset in subsets_of(pool, seed))
    for pool, decision in decide_stream(selector, cut):
        right = choice(pool, decision.sample_id).correct
        standing = standing_in(pool, decision)
        if right is None or standing is None:
            continue
        answer = decision.answer or ""
        longest, has_code = max(longest, len(answer.split())), has_code or is_code(answer)
        told = np.nan if decision.confidence is None else decision.confidence
        rows.append(([standing[name] for name in COLUMNS], told, float(right > 0.5), question_key(pool.question.text)))
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[3]] = counts.get(row[3], 0) + 1
    return Cases(
        np.array([row[0] for row in rows], np.float64).reshape(len(rows), len(COLUMNS)),
        np.array([row[1] for row in rows], np.float64),
        np.array([row[2] for row in rows], np.float64),
        np.array([1 / counts[row[3]] for row in rows], np.float64),
        tuple(row[3] for row in rows),
        longest,
        has_code,
    )


def logistic(
    rows: Floats,
    right: Floats,
    weights: Floats,
    penalties: Floats,
    toward: Floats,
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
) -> Floats:
    """Weights of the columns: a logistic regression whose weights are drawn toward given ones."""
    with needed("fitting needs", "fit", UsageError):
        from scipy.optimize import minimize

    def loss(found: Floats) -> tuple[float, Floats]:
        odds = rows @ found
        away = found - toward
        value = (weights * (np.logaddexp(0, odds) - right * odds)).sum() + 0.5 * (penalties * away**2).sum()
        chances = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        return float(value), rows.T @ (weights * (chances - right)) + penalties * away

    return np.asarray(minimize(loss, toward.copy(), jac=True, method="L-BFGS-B", bounds=bounds).x, np.float64)


def fit_shifted(cases: Cases, start: Confidence) -> Confidence:
    """The log odds of what ships, stretched and shifted: right for an agent that is better or worse than others."""
    odds = _odds(cases, start)
    rows = np.stack([odds, np.ones(len(odds))], axis=1)
    found = logistic(
        rows, cases.right, cases.weights, np.array([3.0, 0.1]), np.array([1.0, 0.0]), [(0.05, None), (None, None)]
    )
    stretch, shift = found.tolist()
    weights = {name: weight * stretch for name, weight in start.weights.items()}
    return replace(start, weights=weights, bias=start.bias * stretch + shift, steps=())


def fit_logistic(cases: Cases, start: Confidence) -> Confidence:
    """Every column weighed anew, the method's own scores among them, each drawn toward what ships."""
    center, scale = cases.standings.mean(axis=0), cases.standings.std(axis=0)
    scale = np.where(scale > 1e-6, scale, 1.0)
    rows = np.column_stack([(cases.standings - center) / scale, np.ones(len(cases))])
    shipped = np.array([start.weights.get(name, 0.0) for name in COLUMNS])
    toward = np.append(shipped * scale, start.bias + shipped @ center)
    found = logistic(rows, cases.right, cases.weights, np.append(np.full(len(COLUMNS), _TOWARD_SHIPPED), 0.1), toward)
    weights = found[:-1] / scale
    bias = float(found[-1] - weights @ center)
    return replace(start, weights=dict(zip(COLUMNS, weights.tolist(), strict=True)), bias=bias, steps=())


def fit_isotonic(cases: Cases, start: Confidence) -> Confidence:
    """The logistic form, then whatever rising curve its chances turned out to follow."""
    model = fit_logistic(cases, start)
    chances = _chances(cases, model)
    order = np.argsort(chances, kind="stable")
    return replace(model, steps=_rising(chances[order], cases.right[order], cases.weights[order]))


def _rising(chances: Floats, right: Floats, weights: Floats) -> tuple[tuple[float, float], ...]:
    """Neighbours pooled until their shares rise: mean chance and share of each block."""
    blocks: list[list[float]] = []  # weight, right, chance
    for chance, is_right, weight in zip(chances.tolist(), right.tolist(), weights.tolist(), strict=True):
        blocks.append([weight, weight * is_right, weight * chance])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][0] >= blocks[-1][1] * blocks[-2][0]:
            last = blocks.pop()
            blocks[-1] = [one + other for one, other in zip(blocks[-1], last, strict=True)]
    steps = [
        (part / weight, (rights + _IMAGINED * part / weight) / (weight + _IMAGINED)) for weight, rights, part in blocks
    ]
    rising: list[tuple[float, float]] = []
    for at, share in steps:
        rising.append((at, max(share, rising[-1][1]) if rising else share))
    return tuple(rising)


def _odds(cases: Cases, model: Confidence) -> Floats:
    found: Floats = cases.standings @ np.array([model.weights.get(name, 0.0) for name in COLUMNS]) + model.bias
    return found


def _chances(cases: Cases, model: Confidence) -> Floats:
    chances = 1 / (1 + np.exp(-np.clip(_odds(cases, model), -30, 30)))
    return np.array([stepped(model.steps, chance) for chance in chances.tolist()], np.float64)


FORMS: Mapping[str, Callable[[Cases, Confidence], Confidence]] = MappingProxyType(
    {SHIFTED: fit_shifted, LOGISTIC: fit_logistic, ISOTONIC: fit_isotonic}
)
"""From simple to free."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What calibrating found."""

    chosen: str
    """The form that holds best on questions that were left out."""
    confidence: Confidence | None
    """Fitted on all cases; None: what the selector says today holds best."""
    held: Mapping[str, Reliability]
    """Form to how well it held on questions that were left out."""
    questions: int
    cases: int


def calibrate(cases: Cases, folds: int = FOLDS) -> Calibrated:
    """The form with the least log loss on questions that were left out; equals go to the simpler one."""
    if cases.asked < LEAST[SHIFTED] or len(set(cases.right.tolist())) < 2:
        raise UsageError(
            f"{cases.asked:,} questions are too few to calibrate on, or all are right or all wrong; give at least "
            f"{LEAST[SHIFTED]} labelled ones of both kinds that the selector was not fitted on"
        )
    start = replace(shipped_confidence(), longest=cases.longest, has_code=cases.has_code)
    tried = {name: form for name, form in FORMS.items() if cases.asked >= LEAST[name]}
    fold_of = folds_of(list(cases.questions), folds)
    held: dict[str, Floats] = {name: np.zeros(len(cases)) for name in tried}
    for fold in range(folds):
        inside, outside = cases.take(fold_of != fold), cases.take(fold_of == fold)
        for name, form in tried.items():
            held[name][fold_of == fold] = _chances(outside, form(inside, start))
    judge = partial(reliability, right=cases.right, weights=cases.weights)
    figures = {name: judge(told) for name, told in held.items()}
    if not np.isnan(cases.told).any():
        figures = {AS_IT_IS: judge(cases.told), **figures}
    chosen = min(figures, key=lambda name: round(figures[name].log_loss, 4))
    summary = {"form": chosen, "questions": cases.asked, "cases": len(cases)}
    if chosen == AS_IT_IS:
        return Calibrated(chosen, None, figures, cases.asked, len(cases))
    fitted = replace(tried[chosen](cases, start), training=summary | figures[chosen].record())
    return Calibrated(chosen, fitted, figures, cases.asked, len(cases))
