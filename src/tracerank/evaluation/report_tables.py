"""The figures of a report as tables: about methods, then about the pools alone. Nothing is rounded.

Differences are paired, question by question: intervals of two accuracies overlap long after their difference is clear.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
import numpy.typing as npt

from tracerank.evaluation.bootstrap import RESAMPLES, intervals, sign_test
from tracerank.evaluation.calibration import Calibration, calibration_tables, calibrations
from tracerank.evaluation.escalation import escalations
from tracerank.evaluation.evaluate import MEAN_SINGLE, ORACLE, SINGLE
from tracerank.evaluation.records import QuestionFacts
from tracerank.evaluation.scores import ScoreMatrix, mean, pass_at_k
from tracerank.evaluation.tables import COUNT, Column, Table, Value, columns
from tracerank.pools.types import BROWSING

MAJORITY, PAPER_MAJORITY = "majority", "majority-paper"


@dataclass(frozen=True, slots=True)
class Compared:
    """One method's accuracy and its difference from the baseline, with 95% intervals; None: unknown."""

    method: str
    accuracy: float | None
    low: float | None
    high: float | None
    difference: float | None
    """None also for the baseline itself."""
    difference_low: float | None
    difference_high: float | None
    better: int | None
    """Questions on which the method beats the baseline."""
    worse: int | None
    p: float | None
    """Of the exact two-sided sign test."""


@dataclass(frozen=True)
class Figures:
    """The scores of a report, its K and the method that the others are compared with."""

    scores: ScoreMatrix
    k: int
    against: str | None
    """None: the records hold no such method."""
    resamples: int = RESAMPLES

    @classmethod
    def of(cls, scores: ScoreMatrix, k: int | None = None, against: str = MAJORITY, **options: int) -> "Figures":
        """At the largest K where none is given; the paper's vote stands in for a missing ``majority``."""
        names = (MAJORITY, PAPER_MAJORITY) if against == MAJORITY else ()
        runs = (run for name in names for run in scores.methods if run == name or run.startswith(f"{name} ("))
        return cls(scores, k or scores.ks[-1], against if against in scores.methods else next(runs, None), **options)

    @cached_property
    def compared(self) -> list[Compared]:
        """Every method at K, beside the baseline; empty without one."""
        if self.against is None:
            return []
        methods = self.scores.methods
        values = np.stack([self.scores.values(method, self.k) for method in methods], axis=1)
        differences = values - self.scores.values(self.against, self.k)[:, None]
        spread = intervals(np.concatenate([values, differences], axis=1), resamples=self.resamples)
        lows, highs = ([mean([value]) for value in side] for side in (spread.low, spread.high))
        found = []
        for index, method in enumerate(methods):
            accuracy = mean(values[:, index]), lows[index], highs[index]
            if method == self.against:
                found.append(Compared(method, *accuracy, *[None] * 3, *[None] * 3))
                continue
            own = differences[:, index]
            gain = mean(own), lows[index + len(methods)], highs[index + len(methods)]
            found.append(Compared(method, *accuracy, *gain, *sign_test(own)))
        return found

    def by_budget(self, method: str, k: int) -> float | None:
        """The accuracy; browsing at K=1 is the mean of all samples for every method that chooses (App. A.1)."""
        values = self.scores.values(method, k)
        if k == 1 and method != SINGLE:
            values = np.where(self.is_browsing, self.scores.values(MEAN_SINGLE, 1), values)
        return mean(values)

    @cached_property
    def is_browsing(self) -> npt.NDArray[np.bool_]:
        """Which questions are of the browsing setting."""
        return np.array([facts.setting == BROWSING for facts in self.scores.questions])

    @cached_property
    def calibrations(self) -> list[Calibration]:
        return calibrations(self.scores, self.k)


def report_tables(figures: Figures) -> list[Table]:
    """Every table that the records allow."""
    return [
        main_table(figures),
        *([] if figures.against is None else [comparison_table(figures)]),
        budget_table(figures),
        coverage_table(figures),
        pass_table(figures.scores.questions),
        *calibration_tables(figures.calibrations, figures.k),
        cost_table(figures),
    ]


def main_table(figures: Figures) -> Table:
    """Accuracy per dataset and backbone, question-weighted, and by the paper's long-horizon rule."""
    scores = figures.scores
    has_backbones = len({backbone for _, backbone in scores.cells}) > 1
    heads = [Column(f"{dataset} {backbone}" if has_backbones else dataset) for dataset, backbone in scores.cells]
    rows: list[tuple[Value, ...]] = []
    for method in scores.methods:
        values = scores.values(method, figures.k)
        cells = {cell: mean(values[own]) for cell, own in scores.cells.items()}
        by_dataset: dict[str, list[float]] = {}
        for (dataset, _), value in cells.items():
            if value is not None:
                by_dataset.setdefault(dataset, []).append(value)
        means, judged = mean([fmean(values) for values in by_dataset.values()]), int((~np.isnan(values)).sum())
        f1 = mean(scores.values(method, figures.k, "f1"))
        rows.append((method, *cells.values(), mean(values), means, f1, judged))
    return Table(
        "main",
        f"accuracy % at K={figures.k}",
        (*columns("method:text"), *heads, *columns("overall, mean of means, F1, questions:count")),
        tuple(rows),
        (
            "overall: every question has the same weight. mean of means: over backbones within a dataset, then over "
            "datasets (the paper's long-horizon average). Questions without a candidate count as wrong.",
        ),
    )


def comparison_table(figures: Figures) -> Table:
    """Differences from one method with paired bootstrap intervals and the exact sign test."""
    return Table(
        "comparison",
        f"accuracy % at K={figures.k} and difference from {figures.against} in points",
        columns(
            "method:text, accuracy, low, high, difference:points, d low:points, d high:points, better:count, "
            "worse:count, sign test p:precise"
        ),
        tuple(astuple(one) for one in figures.compared),
        (
            f"low, high: 95% bootstrap intervals ({figures.resamples:,} resamples of the questions, paired). better, "
            f"worse: questions on which the method beats {figures.against} and loses to it; p is two-sided and exact.",
        ),
    )


def budget_table(figures: Figures) -> Table:
    """Accuracy against K: the first K rollouts, as in the paper."""
    scores = figures.scores
    rows = ((method, *(figures.by_budget(method, k) for k in scores.ks)) for method in scores.methods)
    estimate = ("pass@K", *(pass_at_k_mean(scores.questions, k)[0] for k in scores.ks))
    browsing = (
        f"K=1 of browsing pools: the mean of all samples in every row but {SINGLE}, which is the first rollout "
        "(App. A.1).",
    )
    return Table(
        "budget",
        "accuracy % with the first K rollouts",
        (*columns("method:text"), *(Column(f"K={k}") for k in scores.ks)),
        (*rows, estimate),
        (
            "pass@K: unbiased estimate from all samples; oracle: whether these very K hold a right answer.",
            *(browsing if 1 in scores.ks and figures.is_browsing.any() else ()),
        ),
    )


def coverage_table(figures: Figures) -> Table:
    """A_K = C_K Pr(right | E_K): whether a right answer is there, and whether it is then chosen (App. G)."""
    scores = figures.scores
    rows: list[tuple[Value, ...]] = []
    for k in scores.ks:
        best = scores.values(ORACLE, k)
        for method in scores.choosers:
            values = scores.values(method, k)
            is_known = ~np.isnan(values) & ~np.isnan(best)
            is_covered, known = best[is_known] == 1, values[is_known]  # E_K: max y_i = 1
            new = mean(np.where(is_covered, 0.0, known))
            rows.append((method, k, mean(is_covered), mean(known[is_covered]), mean(known), new))
    return Table(
        "coverage",
        "accuracy = coverage × selection (+ right answers that no rollout gave), in %",
        columns("method:text, K:count, coverage, selection, accuracy, new"),
        tuple(rows),
        (
            "coverage: a rollout of the K is right. selection: the choice is right where one is. new: right answers "
            "beyond that, which only methods that write can give; 0 for all others.",
        ),
    )


def cost_table(figures: Figures) -> Table:
    """The mean cost of deciding a question, in this evaluation."""
    scores = figures.scores
    measures = ("seconds", "calls", "prompt_tokens", "completion_tokens")
    costs = {
        method: [mean(scores.values(method, figures.k, measure)) for measure in measures] for method in scores.choosers
    }
    return Table(
        "cost",
        f"cost per question at K={figures.k}, as recorded",
        columns("method:text, seconds:precise, calls:number, prompt tokens:number, written tokens:number"),
        tuple((method, *means) for method, means in costs.items()),
        (
            "Vectors and replies that were in the cache took no time here; `tracerank lab cost` measures fresh "
            "encoding. Their tokens count.",
            *(f"{one.sentence}." for one in escalations(scores, [figures.k])),
        ),
    )


def pass_table(questions: Sequence[QuestionFacts]) -> Table:
    """Pass@K of each agent."""
    groups: dict[str, list[QuestionFacts]] = {}
    for facts in questions:
        groups.setdefault(facts.backbone or "all", []).append(facts)
    largest = max((len(facts.correct) for facts in questions), default=1)
    ks = [2**power for power in range(largest.bit_length())]
    rows = []
    for name, own in groups.items():
        found = [pass_at_k_mean(own, k) for k in ks]
        rows.append((name, *(value for value, _ in found), found[-1][1]))
    heads = (*columns("rollouts of:text"), *(Column(f"K={k}") for k in ks), Column(f"questions at K={ks[-1]}", COUNT))
    return Table("pass_at_k", "pass@K in %, unbiased, from all samples", heads, tuple(rows))


def pass_at_k_mean(questions: Iterable[QuestionFacts], k: int) -> tuple[float | None, int]:
    """The unbiased estimate over questions with at least K judged samples, and their number (App. D)."""
    judged = ([correct for correct in facts.correct if correct is not None] for facts in questions)
    # A soft label counts as right from one half on: the estimator needs whole samples.
    found = [pass_at_k(sum(one >= 0.5 for one in known), len(known), k) for known in judged if len(known) >= k]
    return mean(found), len(found)
