"""The tables of a report: about methods, then about the pools, whatever method decides. Nothing is rounded."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from statistics import fmean

import numpy as np

from tracerank.evaluation.calibration import calibration_tables
from tracerank.evaluation.escalation import escalation_curves, escalation_tables
from tracerank.evaluation.evaluate import ORACLE, SINGLE
from tracerank.evaluation.figures import Figures
from tracerank.evaluation.records import QuestionFacts
from tracerank.evaluation.scores import is_run_of, mean, pass_at_k
from tracerank.evaluation.tables import COUNT, Column, Table, Value, columns

TRACE = "trace"


def report_tables(figures: Figures) -> list[Table]:
    """Every table that the records allow."""
    return [
        main_table(figures),
        *([] if figures.against is None else [comparison_table(figures)]),
        budget_table(figures),
        coverage_table(figures),
        *pool_tables(figures.scores.questions, figures.k),
        *calibration_tables(figures.calibrations, figures.k),
        *escalation_tables(escalation_curves(figures.scores, [figures.k]), figures.k),
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
    trace = next((seconds for method, (seconds, *_) in costs.items() if is_run_of(method, TRACE)), None)
    return Table(
        "cost",
        f"cost per question at K={figures.k}, as recorded",
        columns(
            "method:text, seconds:precise, calls:number, prompt tokens:number, written tokens:number, "
            "time / TRACE:times"
        ),
        tuple(
            (method, seconds, *counts, seconds / trace if seconds is not None and trace else None)
            for method, (seconds, *counts) in costs.items()
        ),
        (
            "Vectors and replies that were in the cache took no time here; `tracerank lab cost` measures fresh "
            "encoding. Their tokens count.",
        ),
    )


def pool_tables(questions: Sequence[QuestionFacts], k: int) -> list[Table]:
    """Pass@K of each agent, and why samples among the first K are no candidates."""
    groups: dict[str, list[QuestionFacts]] = {}
    for facts in questions:
        groups.setdefault(facts.backbone or "all", []).append(facts)
    largest = max((len(facts.correct) for facts in questions), default=1)
    ks = [2**power for power in range(largest.bit_length())]
    passed: list[tuple[Value, ...]] = []
    excluded: list[tuple[Value, ...]] = []
    for name, own in groups.items():
        found = [pass_at_k_mean(own, each) for each in ks]
        passed.append((name, *(value for value, _ in found), found[-1][1]))
        reasons = Counter(reason for facts in own for reason in facts.dropped[:k])
        excluded += [
            (name, reason, count, count / reasons.total())
            for reason, count in reasons.most_common()
            if reason is not None
        ]
    heads = (
        *columns("rollouts of:text"),
        *(Column(f"K={each}") for each in ks),
        Column(f"questions at K={ks[-1]}", COUNT),
    )
    return [
        Table("pass_at_k", "pass@K in %, unbiased, from all samples", heads, tuple(passed)),
        Table(
            "exclusions",
            f"samples left out of the first {k}",
            columns("rollouts of:text, left out because:text, samples:count, share %"),
            tuple(excluded),
        ),
    ]


def pass_at_k_mean(questions: Iterable[QuestionFacts], k: int) -> tuple[float | None, int]:
    """The unbiased estimate over questions with at least K judged samples, and their number (App. D)."""
    judged = ([correct for correct in facts.correct if correct is not None] for facts in questions)
    # A soft label counts as right from one half on: the estimator needs whole samples.
    found = [pass_at_k(sum(one >= 0.5 for one in known), len(known), k) for known in judged if len(known) >= k]
    return mean(found), len(found)
