"""A report: every figure by hand on a few questions, the files, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.evaluation.folders import POOLS, First, Last, Writer, asked, figures_of, folded, rows
from tracerank.errors import UsageError
from tracerank.evaluation.records import RecordFolder
from tracerank.evaluation.report import make_report
from tracerank.evaluation.report_tables import (
    budget_table,
    comparison_table,
    cost_table,
    coverage_table,
    main_table,
)
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.votes.voting import MajorityVote


def test_overall_weighs_questions_and_the_other_mean_weighs_datasets(tmp_path: Path) -> None:
    table = main_table(figures_of(folded(tmp_path, POOLS)))
    heads = [column.name for column in table.columns]
    assert heads == ["method", "nq", "gaia", "overall", "mean of means", "F1", "questions"]
    # Question 4 has no candidate and counts as wrong.
    assert rows(table)["majority"] == (pytest.approx(1 / 3), 0.0, 0.25, pytest.approx(1 / 6), 0.25, 4)
    assert list(rows(table)) == ["single", "majority", "trace", "oracle"]


def test_backbones_are_averaged_within_their_dataset(tmp_path: Path) -> None:
    one = folded(tmp_path / "a", [asked("1", "x")], ks=[1], backbone="small")
    other = folded(tmp_path / "b", [asked("1", "y"), asked("2", "y", dataset="gaia")], ks=[1], backbone="large")
    table = main_table(figures_of(one, other))
    assert [column.name for column in table.columns[1:4]] == ["nq small", "nq large", "gaia large"]
    assert rows(table)["majority"][3:5] == (pytest.approx(1 / 3), pytest.approx(0.25))


def test_differences_are_paired_and_come_with_a_sign_test(tmp_path: Path) -> None:
    pools = [asked(str(n), "y", "x") for n in range(6)] + [asked(str(n), "x", "y") for n in range(6, 8)]
    table = comparison_table(figures_of(folded(tmp_path, pools)))
    accuracy, low, high, difference, *_, better, worse, p = rows(table)["trace"]
    assert (accuracy, difference, better, worse) == (0.75, 0.5, 6, 2)
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low <= 0.75 <= high
    assert p == pytest.approx(2 * (1 + 8 + 28) / 256)
    assert rows(table)["majority"][3:] == (None,) * 6


def test_accuracy_is_coverage_times_selection(tmp_path: Path) -> None:
    figures = figures_of(folded(tmp_path, POOLS, methods=[MajorityVote(), Last(), Writer()]))
    for method, k, coverage, selection, accuracy, new in coverage_table(figures).rows:
        assert all(isinstance(value, float) for value in (coverage, selection, accuracy, new))
        assert accuracy == pytest.approx(coverage * selection + new)  # type: ignore[operator]
        assert (new == 0) is (method != "writer")
        assert coverage == {1: 0.25, 2: 0.5}[int(k or 0)]
    [row, *_] = coverage_table(figures_of(folded(tmp_path / "none", [asked("1", "y")]))).rows
    assert row[2:] == (0.0, None, 0.0, 0.0)


def test_browsing_with_one_rollout_is_the_mean_of_all_samples_for_every_method(tmp_path: Path) -> None:
    pools = [asked("1", "x", "y", "y", "y", setting=BROWSING)]
    budget = budget_table(figures_of(folded(tmp_path, pools, ks=[1, 4])))
    wanted = {"single": (1.0, 1.0), "mean-single": (0.25, 0.25), "majority": (0.25, 0.0), "pass@K": (0.25, 1.0)}
    assert {name: rows(budget)[name] for name in wanted} == wanted
    assert any("mean of all samples in every row but single" in line for line in budget.notes)


def test_costs_are_means_per_question(tmp_path: Path) -> None:
    cost = rows(cost_table(figures_of(folded(tmp_path, POOLS))))
    assert cost["trace"][1:] == (1.0, 10.0, 2.0)
    assert cost["majority"][1:4] == (None, None, None)


def test_a_run_with_failures_is_reported_and_an_interrupted_one_refused(tmp_path: Path) -> None:
    folder = folded(tmp_path, POOLS)
    lines = (folder / "records.jsonl").read_text().splitlines()
    (folder / "records.jsonl").unlink()
    kept = [line for line in lines if '"trace"' not in line or '"question_id":"1"' in line]
    (folder / "records.jsonl.part").write_text("\n".join(kept) + "\n")
    table = rows(main_table(figures_of(folder)))
    assert (table["trace"][-1], table["majority"][-1]) == (1, 4)
    (folder / "questions.jsonl").unlink()
    with pytest.raises(UsageError, match="interrupted; run the same `tracerank evaluate` again"):
        make_report([folder])


def test_the_files_hold_what_the_report_says(tmp_path: Path) -> None:
    report = make_report([folded(tmp_path / "votes", POOLS)])
    assert report.title == "4 questions of votes"
    report.write(tmp_path / "r")
    assert json.loads((tmp_path / "r" / "report.json").read_text()) == report.record()
    assert "| majority | 33.3 | 0.0 | 25.0 |" in (tmp_path / "r" / "report.md").read_text(encoding="utf-8")
    written = {path.name for path in (tmp_path / "r").iterdir()}
    assert written == {"index.html", "report.md", "report.json", *(f"{table.name}.csv" for table in report.tables)}
    assert "majority,0.3333333333333333,0.0,0.25," in (tmp_path / "r" / "main.csv").read_text()


BARE = Pool.of(Question("bare", "?"), [Rollout(0, "x")])


@pytest.mark.parametrize(("pools", "words"), [((), "no records"), ((BARE,), "no question has a label")])
def test_a_folder_without_records_or_labels_is_refused_in_a_line(
    pools: tuple[Pool, ...], words: str, tmp_path: Path
) -> None:
    with RecordFolder(tmp_path / "e", {}) as folder:
        assert len(list(folder.noting(pools))) == len(pools)
    if pools:
        folded(tmp_path / "e2", pools)
    with pytest.raises(UsageError, match=words) as error:
        make_report([tmp_path / ("e2" if pools else "e")])
    assert "\n" not in str(error.value)


def test_folders_that_were_labelled_by_different_rules_come_with_a_warning(tmp_path: Path) -> None:
    one = folded(tmp_path / "a", POOLS, config={"labels": "em"})
    other = folded(tmp_path / "b", POOLS, methods=[First()], config={"labels": "meaning"})
    assert "labelled by different rules" in (make_report([one, other]).warning or "")
