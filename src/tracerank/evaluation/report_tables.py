"""The tables of a report: about methods, then about the pools, whatever method decides. Nothing is rounded."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple

import numpy as np

from tracerank.evaluation.calibration import calibration_tables
from tracerank.evaluation.escalation import escalation_tables
from tracerank.evaluation.evaluate import ORACLE, SINGLE
from tracerank.evaluation.figures import Figures
from tracerank.evaluation.records import QuestionFacts
from tracerank.evaluation.scores import costs_at, is_run_of, long_horizon_mean, mean, pass_at_k
from tracerank.evaluation.tables import COUNT, MONEY, NUMBER, POINTS, PRECISE, TEXT, TIMES, Column, Table, Value

TRACE = "trace"
METHOD, AGENT = Column("method", TEXT), Column("rollouts of", TEXT)


def report_tables(figures: Figures) -> list[Table]:
    """Every table that the records allow."""
    scores, k = figures.scores, figures.k
    tables = [main_table(figures), measures_table(figures)]
    if figures.against is not None:
        tables.append(comparison_table(figures))
    tables += [*budget_tables(figures), coverage_table(figures), *pool_tables(scores.questions, k)]
    tables += calibration_tables(figures.calibrations, k, figures.abstain_below)
    tables += escalation_tables(figures.escalations, k, scores.currency)
    tables.append(cost_table(figures))
    return tables


def main_table(figures: Figures) -> Table:
    """Accuracy per dataset and backbone, question-weighted, and by the paper's long-horizon rule."""
    scores = figures.scores
    has_backbones = len({backbone for _, backbone in scores.cells}) > 1
    heads = [f"{dataset} {backbone}" if has_backbones else dataset for dataset, backbone in scores.cells]
    columns = [METHOD, *map(Column, heads), Column("overall"), Column("mean of means"), Column("questions", COUNT)]
    rows = []
    for method in scores.methods:
        values = scores.values(method, figures.k)
        cells = {cell: mean(values[chosen]) for cell, chosen in scores.cells.items()}
        known = {cell: value for cell, value in cells.items() if value is not None}
        means = long_horizon_mean(known) if known else None
        rows.append((method, *cells.values(), mean(values), means, int((~np.isnan(values)).sum())))
    return Table(
        "main",
        f"accuracy % at K={figures.k}",
        tuple(columns),
        tuple(rows),
        (
            "overall: every question has the same weight. mean of means: over backbones within a dataset, then over "
            "datasets (the paper's long-horizon average). Questions without a candidate count as wrong.",
        ),
    )


def measures_table(figures: Figures) -> Table:
    """Accuracy of the returned string, of its group, and F1."""
    scores, measures = figures.scores, ("correct", "group_correct", "f1")
    rows = [(name, *(mean(scores.values(name, figures.k, each)) for each in measures)) for name in scores.methods]
    return Table(
        "measures",
        f"accuracy, accuracy of the chosen group and F1 in % at K={figures.k}",
        (METHOD, Column("accuracy"), Column("group"), Column("F1")),
        tuple(rows),
        ("group: the best answer among those that the method counts as the same as the one it returns.",),
    )


def comparison_table(figures: Figures) -> Table:
    """Differences from one method with paired bootstrap intervals and the exact sign test."""
    return Table(
        "comparison",
        f"accuracy % at K={figures.k} and difference from {figures.against} in points",
        (
            METHOD,
            *(Column("accuracy"), Column("low"), Column("high")),
            *(Column("difference", POINTS), Column("d low", POINTS), Column("d high", POINTS)),
            *(Column("better", COUNT), Column("worse", COUNT), Column("sign test p", PRECISE)),
        ),
        tuple(astuple(one) for one in figures.compared),
        (
            f"low, high: 95% bootstrap intervals ({figures.resamples:,} resamples of the questions, paired). better, "
            f"worse: questions on which the method beats {figures.against} and loses to it; p is two-sided and exact.",
        ),
    )


def budget_tables(figures: Figures) -> list[Table]:
    """Accuracy and F1 against K: first K as in the paper, and the mean over random subsets where they were drawn."""
    tables = [_budget(figures, "budget", "accuracy % with the first K rollouts", "correct", False)]
    f1 = _budget(figures, "budget_f1", "F1 % with the first K rollouts", "f1", False)
    if any(value is not None for row in f1.rows for value in row[1:]):
        tables.append(f1)
    if figures.scores.has_subsets:
        title = "accuracy % with random K rollouts, mean over subsets"
        tables.append(_budget(figures, "budget_random", title, "correct", True))
    return tables


def _budget(figures: Figures, name: str, title: str, measure: str, is_random: bool) -> Table:
    scores = figures.scores
    rows: list[tuple[Value, ...]] = [
        (method, *(mean(figures.by_budget(method, k, measure, is_random)) for k in scores.ks))
        for method in scores.methods
    ]
    notes: tuple[str, ...] = ()
    if measure == "correct":
        rows.append(("pass@K", *(pass_at_k_mean(scores.questions, k)[0] for k in scores.ks)))
        notes = ("pass@K: unbiased estimate from all samples; oracle: whether these very K hold a right answer.",)
    if 1 in scores.ks and not is_random and figures.is_browsing.any():
        notes += (
            f"K=1 of browsing pools: the mean of all samples in every row but {SINGLE}, which is the first rollout "
            "(App. A.1).",
        )
    return Table(name, title, (METHOD, *(Column(f"K={k}") for k in scores.ks)), tuple(rows), notes)


def coverage_table(figures: Figures) -> Table:
    """A_K = C_K Pr(right | E_K): whether a right answer is there, and whether it is then chosen (App. G)."""
    scores = figures.scores
    rows: list[tuple[Value, ...]] = []
    for k in scores.ks:
        best = scores.values(ORACLE, k)
        is_covered = best == 1  # E_K: max y_i = 1
        for method in scores.choosers:
            values = scores.values(method, k)
            is_known = ~np.isnan(values) & ~np.isnan(best)
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


def cost_table(figures: Figures) -> Table:
    """The cost of deciding, per question, in this evaluation."""
    scores, k = figures.scores, figures.k
    trace = next((mean(scores.values(run, k, "seconds")) for run in scores.methods if is_run_of(run, TRACE)), None)
    money = [] if scores.currency is None else [f"{scores.currency} a question", f"{scores.currency} per 1,000"]
    columns = (
        *(METHOD, Column("seconds", PRECISE), Column("calls", NUMBER), Column("prompt tokens", NUMBER)),
        *(Column("written tokens", NUMBER), Column("time / TRACE", TIMES), *(Column(name, MONEY) for name in money)),
    )
    rows = []
    for cost in costs_at(scores, k):
        tokens = (cost.calls, cost.prompt_tokens, cost.completion_tokens)
        row = (cost.method, cost.seconds, *tokens, cost.relative_to(trace or 0.0), cost.money, cost.per_thousand)
        rows.append(row[: len(columns)])
    return Table(
        "cost",
        f"cost per question at K={k}, as recorded",
        columns,
        tuple(rows),
        (
            "Vectors and replies that were in the cache took no time here; `tracerank lab cost` measures fresh "
            "encoding. Their tokens count, and so does their price.",
        ),
    )


Groups = Sequence[tuple[str, Sequence[QuestionFacts]]]
"""Questions under the name that stands before their row."""


def pool_tables(questions: Iterable[QuestionFacts], k: int) -> list[Table]:
    """Pass@K, candidates and exclusions; what depends on a budget is of the first K samples."""
    groups: dict[str, list[QuestionFacts]] = {}
    for facts in questions:
        groups.setdefault(facts.backbone or "all", []).append(facts)
    found = list(groups.items())
    return [_pass_table(found), _candidates_table(found, k), _exclusion_table(found, k)]


def pass_at_k_mean(questions: Iterable[QuestionFacts], k: int) -> tuple[float | None, int]:
    """The unbiased estimate over questions with at least K judged samples, and their number (App. D)."""
    found = []
    for facts in questions:
        judged = [correct for correct in facts.correct if correct is not None]
        if len(judged) >= k:
            # A soft label counts as right from one half on: the estimator needs whole samples.
            found.append(pass_at_k(sum(correct >= 0.5 for correct in judged), len(judged), k))
    return mean(found), len(found)


def _pass_table(groups: Groups) -> Table:
    largest = max((len(facts.correct) for _, questions in groups for facts in questions), default=1)
    ks = [2**power for power in range(largest.bit_length()) if 2**power <= largest]
    rows: list[tuple[Value, ...]] = [
        (name, *(pass_at_k_mean(questions, k)[0] for k in ks), pass_at_k_mean(questions, ks[-1])[1])
        for name, questions in groups
    ]
    columns = (AGENT, *(Column(f"K={k}") for k in ks), Column(f"questions at K={ks[-1]}", COUNT))
    return Table("pass_at_k", "pass@K in %, unbiased, from all samples", columns, tuple(rows))


def _candidates_table(groups: Groups, k: int) -> Table:
    """What the retention rule leaves of the first K samples, and what that costs in coverage (App. E)."""
    rows: list[tuple[Value, ...]] = []
    for name, questions in groups:
        kept = [sum(reason is None for reason in facts.dropped[:k]) for facts in questions]
        samples = sum(len(facts.dropped[:k]) for facts in questions)
        bare = sum(count == 0 for facts in questions for count in facts.searches[:k])
        judged = [facts for facts in questions if any(correct is not None for correct in facts.correct)]
        before = mean([any(correct == 1 for correct in facts.correct[:k]) for facts in judged])
        after = mean([_is_covered(facts, k) for facts in judged])
        counts = (len(questions), samples, sum(kept), _share(sum(kept), len(questions)), kept.count(0))
        rows.append((name, *counts, _share(bare, samples), before, after))
    columns = (
        *(AGENT, Column("questions", COUNT), Column("samples", COUNT), Column("retained", COUNT)),
        *(Column("a question", NUMBER), Column("empty pools", COUNT), Column("without a search %")),
        *(Column("coverage %"), Column("after dropping %")),
    )
    return Table("candidates", f"what may be chosen among the first {k} samples", columns, tuple(rows))


def _is_covered(facts: QuestionFacts, k: int) -> bool:
    pairs = zip(facts.correct[:k], facts.dropped, strict=False)
    return any(correct == 1 and reason is None for correct, reason in pairs)


def _exclusion_table(groups: Groups, k: int) -> Table:
    """Why samples are no candidates."""
    rows: list[tuple[Value, ...]] = []
    for name, questions in groups:
        reasons = Counter(reason for facts in questions for reason in facts.dropped[:k] if reason is not None)
        samples = sum(len(facts.dropped[:k]) for facts in questions)
        rows += [(name, reason, count, _share(count, samples)) for reason, count in reasons.most_common()]
    columns = (AGENT, Column("left out because", TEXT), Column("samples", COUNT), Column("share %"))
    return Table("exclusions", f"samples left out of the first {k}", columns, tuple(rows))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
