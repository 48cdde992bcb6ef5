"""Several evaluations as one matrix: which runs are one, what tokens cost, and the paper's averages."""

from itertools import combinations
from pathlib import Path

import pytest

from tests.evaluation.folders import POOLS, First, Last, asked, folded, rows, scores_of
from tracerank.errors import UsageError
from tracerank.evaluation.report_tables import Figures, cost_table, main_table, pass_at_k_mean
from tracerank.evaluation.scores import pass_at_k
from tracerank.votes.voting import MajorityVote


def test_folders_of_different_methods_are_laid_side_by_side(tmp_path: Path) -> None:
    one = folded(tmp_path / "a", POOLS, methods=[MajorityVote()])
    other = folded(tmp_path / "b", POOLS, methods=[Last()])
    both, whole = scores_of(one, other), scores_of(folded(tmp_path / "c", POOLS))
    assert rows(main_table(Figures.of(both))) == rows(main_table(Figures.of(whole)))


def test_two_runs_under_one_name_stand_apart_by_their_folders(tmp_path: Path) -> None:
    one = folded(tmp_path / "small", POOLS)
    other = folded(tmp_path / "large", POOLS, methods=[MajorityVote(), First()])
    scores = scores_of(one, other)
    assert scores.methods == ("single", "majority", "trace (small)", "trace (large)", "oracle")
    assert [scores.values(f"trace ({name})", 2)[0] for name in ("small", "large")] == [0.0, 1.0]
    assert rows(cost_table(Figures.of(scores)))["trace (small)"][1] == 1.0


def test_runs_that_chose_the_same_are_one(tmp_path: Path) -> None:
    made = [folded(tmp_path / name, POOLS) for name in ("a", "b")]
    assert scores_of(*made).methods == ("single", "majority", "trace", "oracle")


def test_a_selector_for_each_agent_is_one_row(tmp_path: Path) -> None:
    made = [folded(tmp_path / name, POOLS, backbone=name) for name in ("base", "sft")]
    assert scores_of(*made).methods == ("single", "majority", "trace", "oracle")


def test_pools_of_two_agents_without_names_are_not_mixed_up(tmp_path: Path) -> None:
    one, other = folded(tmp_path / "a", [asked("1", "x")]), folded(tmp_path / "b", [asked("1", "y")])
    with pytest.raises(UsageError, match="--backbone NAME"):
        scores_of(one, other)


def test_pass_at_k_equals_the_share_of_subsets_with_a_correct_sample() -> None:
    for samples in range(1, 6):
        for correct in range(samples + 1):
            for k in range(1, samples + 1):
                drawn = list(combinations([True] * correct + [False] * (samples - correct), k))
                assert pass_at_k(correct, samples, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))
    with pytest.raises(ValueError, match="expected"):
        pass_at_k(3, 2, 1)


def test_pass_at_k_counts_judged_samples_and_leaves_small_pools_out(tmp_path: Path) -> None:
    scores = scores_of(folded(tmp_path, [asked("1", "x", "y", None, "y"), asked("2", "x")]))
    assert pass_at_k_mean(scores.questions, 2) == (0.5, 1)
    assert pass_at_k_mean(scores.questions, 1) == (pytest.approx((0.25 + 1) / 2), 2)
    assert pass_at_k_mean(scores.questions, 8) == (None, 0)
