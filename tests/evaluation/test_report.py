"""Records folded into tables: every figure by hand on a few questions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import evaluate
from tracerank.evaluation.pool_tables import pass_at_k_mean
from tracerank.evaluation.prices import Prices, PriceTable
from tracerank.evaluation.record_folder import RecordFolder, read_evaluation
from tracerank.evaluation.report import (
    ReportPlan,
    accuracy_curves,
    budget_tables,
    comparison_table,
    cost_points,
    coverage_table,
    main_table,
    measures_table,
    report_tables,
)
from tracerank.evaluation.score_matrix import ScoreMatrix, score_matrix
from tracerank.evaluation.tables import Table, Value
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.votes.answer_groups import ExactGroups
from tracerank.votes.base import Decision, Method
from tracerank.votes.voting import MajorityVote

PLAN = ReportPlan(resamples=200)


def asked(name: str, *answers: str | None, dataset: str = "nq", setting: str = "webqa") -> Pool:
    """The right answer is "x"."""
    rollouts = [Rollout(n, answer, setting=setting) for n, answer in enumerate(answers)]
    return Pool.of(Question(name, "?", ("x",), dataset), rollouts)


class Last:
    """Takes the last rollout, and says that a model was asked."""

    name = "trace"

    def decide(self, pool: Pool) -> Decision:
        last = pool.rollouts[-1]
        return Decision(pool.question.id, last.answer, last.sample_id, usage=Usage(10, 2, 1))


class Writer:
    """Writes the right answer, whether a rollout has it or not."""

    name = "writer"

    def decide(self, pool: Pool) -> Decision:
        return Decision(pool.question.id, "x", None)


class First(Last):
    """The same name, another choice."""

    def decide(self, pool: Pool) -> Decision:
        return replace(super().decide(pool), answer=pool.rollouts[0].answer, sample_id=0)


def folded(
    folder: Path,
    pools: Sequence[Pool],
    ks: Sequence[int] = (1, 2),
    methods: Sequence[Method] = (MajorityVote(), Last()),
    backbone: str | None = None,
    subsets: int = 0,
    config: Mapping[str, Any] | None = None,
) -> Path:
    with RecordFolder(folder, config or {}) as target:
        noted = target.noting(pools, max(ks), backbone)
        for record in evaluate(methods, noted, ks, backbone=backbone, subsets=subsets):
            target.write(record)
    return folder


def scores_of(*folders: Path) -> ScoreMatrix:
    return score_matrix([read_evaluation(folder) for folder in folders])


def rows(table: Table) -> dict[str, tuple[Value, ...]]:
    return {str(row[0]): row[1:] for row in table.rows}


POOLS = (asked("1", "x", "y"), asked("2", "y", "x"), asked("3", "y", "y", dataset="gaia"), asked("4", None, None))


def test_overall_weighs_questions_and_the_other_mean_weighs_datasets(tmp_path: Path) -> None:
    table = main_table(scores_of(folded(tmp_path, POOLS)), 2)
    assert [column.name for column in table.columns] == [
        "method",
        "nq",
        "gaia",
        "overall",
        "mean of means",
        "questions",
    ]
    # Question 4 has no candidate and counts as wrong.
    assert rows(table)["majority"] == (pytest.approx(1 / 3), 0.0, 0.25, pytest.approx(1 / 6), 4)
    assert list(rows(table)) == ["single", "majority", "trace", "oracle"]


def test_backbones_are_averaged_within_their_dataset(tmp_path: Path) -> None:
    one = folded(tmp_path / "a", [asked("1", "x")], ks=[1], backbone="small")
    other = folded(tmp_path / "b", [asked("1", "y"), asked("2", "y", dataset="gaia")], ks=[1], backbone="large")
    table = main_table(scores_of(one, other), 1)
    assert [column.name for column in table.columns[1:4]] == ["nq small", "nq large", "gaia large"]
    assert rows(table)["majority"][3:5] == (pytest.approx(1 / 3), pytest.approx(0.25))


def test_folders_of_different_methods_are_laid_side_by_side(tmp_path: Path) -> None:
    one = folded(tmp_path / "a", POOLS, methods=[MajorityVote()])
    other = folded(tmp_path / "b", POOLS, methods=[Last()])
    assert rows(main_table(scores_of(one, other), 2)) == rows(main_table(scores_of(folded(tmp_path / "c", POOLS)), 2))


def test_two_runs_under_one_name_stand_apart_by_their_labels(tmp_path: Path) -> None:
    one = folded(tmp_path / "small", POOLS, config={"label": "8B"})
    other = folded(tmp_path / "large", POOLS, methods=[MajorityVote(), First()])
    scores = scores_of(one, other)
    assert scores.methods == ("single", "majority", "trace (8B)", "trace (large)", "oracle")
    table = rows(main_table(scores, 2))
    assert table["trace (8B)"][2] == table["trace (large)"][2] == 0.25
    assert [scores.values(f"trace ({name})", 2)[0] for name in ("8B", "large")] == [0.0, 1.0]
    cost = rows(next(table for table in report_tables(scores, PLAN) if table.name == "cost"))
    assert cost["trace (8B)"][4] == 1.0


def test_folders_of_the_same_name_are_told_apart_by_their_parents(tmp_path: Path) -> None:
    one = folded(tmp_path / "a" / "e", POOLS)
    other = folded(tmp_path / "b" / "e", POOLS, methods=[First()])
    assert {"trace (a/e)", "trace (b/e)"} < set(scores_of(one, other).methods)
    alike = [
        folded(tmp_path / name / "x" / "e", POOLS, methods=[method]) for name, method in (("c", First()), ("d", Last()))
    ]
    assert {"trace (e #1)", "trace (e #2)"} < set(scores_of(*alike).methods)


def test_two_models_that_chose_alike_are_two_runs_and_one_model_is_one(tmp_path: Path) -> None:
    made = [
        folded(tmp_path / name, POOLS, config={"label": name, "models": {"trace": model, "majority": None}})
        for name, model in (("a", "one"), ("b", "other"), ("c", "one"))
    ]
    assert scores_of(*made[:2]).methods == ("single", "majority", "trace (a)", "trace (b)", "oracle")
    assert scores_of(made[0], made[2]).methods == ("single", "majority", "trace", "oracle")


def test_a_selector_for_each_agent_is_one_row_unless_labels_say_otherwise(tmp_path: Path) -> None:
    def made(name: str, label: str | None) -> Path:
        config = {"label": label, "models": {"trace": name, "majority": None}}
        return folded(tmp_path / f"{name}-{label}", POOLS, backbone=name, config=config)

    assert scores_of(made("base", None), made("sft", None)).methods == ("single", "majority", "trace", "oracle")
    apart = scores_of(made("base", "x"), made("sft", "y")).methods
    assert apart == ("single", "majority", "trace (x)", "trace (y)", "oracle")


def test_the_papers_vote_stands_in_for_the_vote_in_comparisons(tmp_path: Path) -> None:
    scores = scores_of(folded(tmp_path, POOLS, methods=[MajorityVote(ExactGroups()), Last()]))
    table = next(table for table in report_tables(scores, PLAN) if table.name == "comparison")
    assert "difference from majority-paper" in table.title


def test_prices_are_those_of_the_model_that_was_asked(tmp_path: Path) -> None:
    models = {"trace": "http://there#big", "majority": None}
    folder = folded(tmp_path, POOLS, config={"models": models})
    table = PriceTable({"big": Prices(1_000_000.0, 500_000.0), "*": Prices(0.0, 0.0)}, "EUR")
    scores = score_matrix([read_evaluation(folder)], table)
    cost = next(table for table in report_tables(scores, PLAN) if table.name == "cost")
    assert [column.name for column in cost.columns[-2:]] == ["EUR a question", "EUR per 1,000"]
    assert rows(cost)["trace"][-2:] == (11.0, 11_000.0)
    assert rows(cost)["majority"][-2:] == (None, None)
    without = next(table for table in report_tables(scores_of(folder), PLAN) if table.name == "cost")
    assert without.columns == cost.columns[:-2]


def test_pools_of_two_agents_without_names_are_not_mixed_up(tmp_path: Path) -> None:
    one, other = folded(tmp_path / "a", [asked("1", "x")]), folded(tmp_path / "b", [asked("1", "y")])
    with pytest.raises(UsageError, match="--backbone NAME"):
        scores_of(one, other)


def test_differences_are_paired_and_come_with_a_sign_test(tmp_path: Path) -> None:
    pools = [asked(str(n), "y", "x") for n in range(6)] + [asked(str(n), "x", "y") for n in range(6, 8)]
    table = comparison_table(scores_of(folded(tmp_path, pools)), 2, PLAN)
    accuracy, low, high, difference, *_, better, worse, p = rows(table)["trace"]
    assert (accuracy, difference, better, worse) == (0.75, 0.5, 6, 2)
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low <= 0.75 <= high
    assert p == pytest.approx(2 * (1 + 8 + 28) / 256)
    assert rows(table)["majority"][3:] == (None,) * 6


def test_accuracy_is_coverage_times_selection(tmp_path: Path) -> None:
    scores = scores_of(folded(tmp_path, POOLS, methods=[MajorityVote(), Last(), Writer()]))
    for method, k, coverage, selection, accuracy, new in coverage_table(scores).rows:
        assert all(isinstance(value, float) for value in (coverage, selection, accuracy, new))
        assert accuracy == pytest.approx(coverage * selection + new)  # type: ignore[operator]
        assert (new == 0) is (method != "writer")
        assert coverage == {1: 0.25, 2: 0.5}[int(k or 0)]


def test_without_coverage_there_is_no_selection(tmp_path: Path) -> None:
    [row, *_] = coverage_table(scores_of(folded(tmp_path, [asked("1", "y")]))).rows
    assert row[2:] == (0.0, None, 0.0, 0.0)


def test_browsing_with_one_rollout_is_the_mean_of_all_samples_for_every_method(tmp_path: Path) -> None:
    pools = [asked("1", "x", "y", "y", "y", setting=BROWSING)]
    [budget, *_] = budget_tables(scores_of(folded(tmp_path, pools, ks=[1, 4])))
    assert rows(budget)["majority"] == (0.25, 0.0)
    assert rows(budget)["trace"] == (0.25, 0.0)
    assert rows(budget)["pass@K"] == (0.25, 1.0)
    assert rows(budget)["single"] == (1.0, 1.0)
    assert rows(budget)["mean-single"] == (0.25, 0.25)
    assert any("mean of all samples in every row but single" in line for line in budget.notes)


def test_random_subsets_are_averaged_within_a_question_first(tmp_path: Path) -> None:
    pools = [asked("1", "x", "x", "x", "x"), asked("2", "y", "y", "y", "y")]
    tables = {table.name: table for table in budget_tables(scores_of(folded(tmp_path, pools, subsets=4)))}
    assert rows(tables["budget_random"])["majority"] == (0.5, 0.5)


def test_pass_at_k_counts_judged_samples_and_leaves_small_pools_out(tmp_path: Path) -> None:
    scores = scores_of(folded(tmp_path, [asked("1", "x", "y", None, "y"), asked("2", "x")]))
    assert pass_at_k_mean(scores.questions, 2) == (0.5, 1)
    assert pass_at_k_mean(scores.questions, 1) == (pytest.approx((0.25 + 1) / 2), 2)
    assert pass_at_k_mean(scores.questions, 8) == (None, 0)


def test_group_accuracy_counts_a_better_form_of_the_same_answer(tmp_path: Path) -> None:
    class Grouped(MajorityVote):
        def decide(self, pool: Pool) -> Decision:
            return replace(super().decide(pool), group=(0, 1))

    table = measures_table(scores_of(folded(tmp_path, [asked("1", "y", "x")], methods=[Grouped()])), 2)
    assert rows(table)["majority"] == (0.0, 1.0, 0.0)


def test_candidates_exclusions_and_coverage_after_dropping_are_counted(tmp_path: Path) -> None:
    tables = {table.name: table for table in report_tables(scores_of(folded(tmp_path, POOLS)), PLAN)}
    [(_, questions, samples, retained, _, empty, bare, before, after)] = tables["candidates"].rows
    assert (questions, samples, retained, empty, bare) == (4, 8, 0, 4, 1.0)
    assert (before, after) == (0.5, 0.0)  # not one rollout has evidence
    assert [row[1:3] for row in tables["exclusions"].rows] == [("no evidence (WebQA rule)", 6), ("no answer", 2)]


def test_costs_are_means_per_question_and_relative_to_trace(tmp_path: Path) -> None:
    scores = scores_of(folded(tmp_path, POOLS))
    cost = rows(next(table for table in report_tables(scores, PLAN) if table.name == "cost"))
    assert cost["trace"][1:] == (1.0, 10.0, 2.0, 1.0)
    assert cost["majority"][1:4] == (None, None, None)
    assert {point.method for point in cost_points(scores, 2)} == {"majority", "trace"}


def test_curves_lie_within_their_bands(tmp_path: Path) -> None:
    for curve in accuracy_curves(scores_of(folded(tmp_path, POOLS)), PLAN):
        assert curve.ks == (1, 2)
        assert np.all(np.array(curve.low) <= curve.accuracy)
        assert np.all(np.array(curve.accuracy) <= curve.high)


def test_an_unfinished_evaluation_is_reported_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = folded(tmp_path, POOLS)
    path = folder / "records.jsonl"
    lines = [line for line in path.read_text().splitlines() if '"trace"' not in line or '"question_id": "1"' in line]
    path.write_text("\n".join(lines) + "\n")
    table = rows(main_table(scores_of(folder), 2))
    assert table["trace"][-1] == 1
    assert table["majority"][-1] == 4
