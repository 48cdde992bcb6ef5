"""Records folded into tables about methods: main, measures, comparison, budgets, coverage and selection, cost.

Tables about the pools themselves are in ``pool_tables.py``; formatting is in ``tables.py``. Rounds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tracerank.evaluation.bootstrap import RESAMPLES, Intervals, intervals, sign_test
from tracerank.evaluation.calibration import calibration_tables
from tracerank.evaluation.escalation import escalation_tables
from tracerank.evaluation.evaluate import MEAN_SINGLE, ORACLE, REFERENCES, SINGLE
from tracerank.evaluation.metrics import long_horizon_mean
from tracerank.evaluation.pool_tables import pass_at_k_mean, pool_tables
from tracerank.evaluation.score_matrix import Floats, ScoreMatrix, costs_at, is_run_of, mean
from tracerank.evaluation.tables import COUNT, MONEY, NUMBER, POINTS, PRECISE, TEXT, TIMES, Column, Table, Value
from tracerank.pools.types import BROWSING

MAJORITY, PAPERS_MAJORITY = "majority", "majority-paper"
TRACE = "trace"
METHOD = Column("method", TEXT)


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What a report is about."""

    k: int | None = None
    """K of the tables that show one; None: the largest."""
    against: str = MAJORITY
    """The method that the others are compared with; where there is no ``majority``, the paper's stands in for it."""
    seed: int = 0
    resamples: int = RESAMPLES
    has_fitted: bool = False
    """Whether questions count that a selector was fitted on."""
    abstain_below: float | None = None
    """Confidence below which nothing would be answered; None: nobody asks."""


def report_tables(scores: ScoreMatrix, plan: ReportPlan) -> list[Table]:
    """Every table that the records allow."""
    k = plan.k or scores.ks[-1]
    tables = [main_table(scores, k), measures_table(scores, k)]
    if (against := baseline(scores, plan)) is not None:
        tables.append(comparison_table(scores, k, replace(plan, against=against)))
    tables += budget_tables(scores)
    tables.append(coverage_table(scores))
    tables += pool_tables(scores, k)
    tables += calibration_tables(scores, k, plan.abstain_below)
    tables += escalation_tables(scores, k)
    tables.append(cost_table(scores, k))
    return tables


def baseline(scores: ScoreMatrix, plan: ReportPlan) -> str | None:
    """What the records have of the method to compare with; None: nothing."""
    if plan.against in scores.methods:
        return plan.against
    votes = (MAJORITY, PAPERS_MAJORITY) if plan.against == MAJORITY else ()
    return next((run for vote in votes for run in scores.methods if is_run_of(run, vote)), None)


def main_table(scores: ScoreMatrix, k: int) -> Table:
    """Accuracy per dataset and backbone, question-weighted, and by the paper's long-horizon rule."""
    has_backbones = len({backbone for _, backbone in scores.cells}) > 1
    heads = [f"{dataset} {backbone}" if has_backbones else dataset for dataset, backbone in scores.cells]
    columns = [METHOD, *map(Column, heads), Column("overall"), Column("mean of means"), Column("questions", COUNT)]
    rows = []
    for method in scores.methods:
        values = scores.values(method, k)
        cells = [mean(values[chosen]) for chosen in scores.cells.values()]
        judged = int((~np.isnan(values)).sum())
        rows.append((method, *cells, mean(values), _long_horizon(scores, values), judged))
    return Table(
        "main",
        f"accuracy % at K={k}",
        tuple(columns),
        tuple(rows),
        (
            "overall: every question weighs the same. mean of means: over backbones within a dataset, then over "
            "datasets (the paper's long-horizon average). Questions without a candidate count as wrong.",
        ),
    )


def _long_horizon(scores: ScoreMatrix, values: Floats) -> float | None:
    found = {cell: mean(values[chosen]) for cell, chosen in scores.cells.items()}
    known = {cell: value for cell, value in found.items() if value is not None}
    return long_horizon_mean(known) if known else None


def measures_table(scores: ScoreMatrix, k: int) -> Table:
    """Accuracy of the returned string, of its group, and F1."""
    measures = ("correct", "group_correct", "f1")
    rows = [(method, *(mean(scores.values(method, k, name)) for name in measures)) for method in scores.methods]
    return Table(
        "measures",
        f"accuracy, accuracy of the chosen group and F1 in % at K={k}",
        (METHOD, Column("accuracy"), Column("group"), Column("F1")),
        tuple(rows),
        ("group: the best answer among those that the method takes for the same as the one it returns.",),
    )


def comparison_table(scores: ScoreMatrix, k: int, plan: ReportPlan) -> Table:
    """Differences from one method with paired bootstrap intervals and the exact sign test."""
    base = scores.values(plan.against, k)
    values = np.stack([scores.values(method, k) for method in scores.methods], axis=1)
    differences = values - base[:, None]
    spread = intervals(np.concatenate([values, differences], axis=1), plan.seed, plan.resamples)
    count = len(scores.methods)
    rows: list[tuple[Value, ...]] = []
    for place, method in enumerate(scores.methods):
        row: list[Value] = [method, mean(values[:, place]), *_bounds(spread, place)]
        if method == plan.against:
            rows.append((*row, None, None, None, None, None, None))
            continue
        test = sign_test(differences[:, place])
        row += [mean(differences[:, place]), *_bounds(spread, count + place), test.wins, test.losses, test.p]
        rows.append(tuple(row))
    return Table(
        "comparison",
        f"accuracy % at K={k} and difference from {plan.against} in points",
        (
            METHOD,
            *(Column("accuracy"), Column("low"), Column("high")),
            *(Column("difference", POINTS), Column("d low", POINTS), Column("d high", POINTS)),
            *(Column("better", COUNT), Column("worse", COUNT), Column("sign test p", PRECISE)),
        ),
        tuple(rows),
        (
            f"low, high: 95% bootstrap intervals ({plan.resamples:,} resamples of the questions, paired). better, "
            f"worse: questions on which the method beats {plan.against} and loses to it; p is two-sided and exact.",
        ),
    )


def _bounds(spread: Intervals, place: int) -> tuple[float | None, float | None]:
    low, high = float(spread.low[place]), float(spread.high[place])
    return (None, None) if np.isnan(low) else (low, high)


def budget_tables(scores: ScoreMatrix) -> list[Table]:
    """Accuracy and F1 against K: first K as in the paper, and the mean over random subsets where they were drawn."""
    tables = [_budget(scores, "budget", "accuracy % with the first K rollouts", "correct", False)]
    if any(mean(scores.values(method, k, "f1")) is not None for method in scores.methods for k in scores.ks):
        tables.append(_budget(scores, "budget_f1", "F1 % with the first K rollouts", "f1", False))
    if scores.has_subsets:
        tables.append(
            _budget(scores, "budget_random", "accuracy % with random K rollouts, mean over subsets", "correct", True)
        )
    return tables


def _budget(scores: ScoreMatrix, name: str, title: str, measure: str, is_random: bool) -> Table:
    rows: list[tuple[Value, ...]] = [
        (method, *(mean(budget_values(scores, method, k, measure, is_random)) for k in scores.ks))
        for method in scores.methods
    ]
    notes: tuple[str, ...] = ()
    if measure == "correct":
        rows.append(("pass@K", *(pass_at_k_mean(scores.questions, k)[0] for k in scores.ks)))
        notes = ("pass@K: unbiased estimate from all samples; oracle: whether these very K hold a right answer.",)
    if 1 in scores.ks and not is_random and _is_browsing(scores).any():
        notes += (
            f"K=1 of browsing pools: the mean of all samples in every row but {SINGLE}, which is the first rollout "
            "(App. A.1).",
        )
    return Table(name, title, (METHOD, *(Column(f"K={k}") for k in scores.ks)), tuple(rows), notes)


def budget_values(scores: ScoreMatrix, method: str, k: int, measure: str, is_random: bool) -> Floats:
    """A value per question; browsing at K=1 is the mean of all samples for whatever chooses (App. A.1)."""
    values = scores.values(method, k, measure, is_random)
    if k != 1 or is_random or method == SINGLE:
        return values
    return np.where(_is_browsing(scores), scores.values(MEAN_SINGLE, 1, measure), values)


def _is_browsing(scores: ScoreMatrix) -> npt.NDArray[np.bool_]:
    return np.fromiter((facts.setting == BROWSING for facts in scores.questions), np.bool_)


def coverage_table(scores: ScoreMatrix) -> Table:
    """A_K = C_K Pr(right | E_K): whether a right answer is there, and whether it is then chosen (App. G)."""
    rows: list[tuple[Value, ...]] = []
    for k in scores.ks:
        is_covered = scores.values(ORACLE, k) == 1  # E_K: max y_i = 1; an oracle that nobody could judge is not it
        for method in scores.methods:
            if method in REFERENCES:
                continue
            values = scores.values(method, k)
            is_known = ~np.isnan(values) & ~np.isnan(scores.values(ORACLE, k))
            covered = is_covered[is_known]
            chosen = mean(values[is_known & is_covered])
            outside = float(np.where(covered, 0.0, values[is_known]).mean()) if len(covered) else None
            rows.append((method, k, mean(covered), chosen, mean(values[is_known]), outside))
    return Table(
        "coverage",
        "accuracy = coverage × selection (+ right answers that no rollout gave), in %",
        (METHOD, Column("K", COUNT), Column("coverage"), Column("selection"), Column("accuracy"), Column("new")),
        tuple(rows),
        (
            "coverage: a rollout of the K is right. selection: the choice is right where one is. new: right answers "
            "beyond that, which only methods that write can give; 0 for all others.",
        ),
    )


def cost_table(scores: ScoreMatrix, k: int) -> Table:
    """What deciding took, per question, in this evaluation."""
    trace = next((mean(scores.values(run, k, "seconds")) for run in scores.methods if is_run_of(run, TRACE)), None)
    columns = [
        *(METHOD, Column("seconds", PRECISE), Column("calls", NUMBER), Column("prompt tokens", NUMBER)),
        *(Column("written tokens", NUMBER), Column("time / TRACE", TIMES)),
    ]
    if scores.currency is not None:
        columns += [Column(f"{scores.currency} a question", MONEY), Column(f"{scores.currency} per 1,000", MONEY)]
    rows = []
    for cost in costs_at(scores, k):
        tokens = (cost.calls, cost.prompt_tokens, cost.completion_tokens)
        money = () if scores.currency is None else (cost.money, cost.per_thousand)
        rows.append((cost.method, cost.seconds, *tokens, cost.relative_to(trace or 0.0), *money))
    return Table(
        "cost",
        f"cost per question at K={k}, as recorded",
        tuple(columns),
        tuple(rows),
        (
            "Vectors and replies that were in the cache took no time here; `tracerank cost` measures fresh encoding. "
            "Their tokens count, and so does their price.",
        ),
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """One method's accuracy against K, with its interval."""

    method: str
    ks: tuple[int, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def accuracy_curves(scores: ScoreMatrix, plan: ReportPlan, is_random: bool = False) -> list[Curve]:
    """A curve per method, over the K for which it has values."""
    wanted = [(method, k) for method in scores.methods for k in scores.ks]
    values = np.stack([budget_values(scores, method, k, "correct", is_random) for method, k in wanted], axis=1)
    spread = intervals(values, plan.seed, plan.resamples)
    found: dict[str, list[tuple[int, float, float, float]]] = {}
    for place, (method, k) in enumerate(wanted):
        accuracy = mean(values[:, place])
        if accuracy is not None:
            point = (k, accuracy, float(spread.low[place]), float(spread.high[place]))
            found.setdefault(method, []).append(point)
    return [Curve(method, *zip(*points, strict=True)) for method, points in found.items()]


@dataclass(frozen=True, slots=True)
class CostPoint:
    """One method's accuracy and seconds per question: the median, without what the first call loads."""

    method: str
    seconds: float
    accuracy: float


def cost_points(scores: ScoreMatrix, k: int) -> Sequence[CostPoint]:
    """Methods that took time and could be judged."""
    found = []
    for cost in costs_at(scores, k):
        accuracy = mean(scores.values(cost.method, k))
        if cost.typical_seconds and accuracy is not None:
            found.append(CostPoint(cost.method, cost.typical_seconds, accuracy))
    return found
