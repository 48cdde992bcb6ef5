"""Reliability by hand: bins, Brier and ECE of a few confidences."""

from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.test_report import PLAN, POOLS, asked, folded, scores_of
from tracerank.evaluation.calibration import Bin, calibration_tables, calibrations
from tracerank.evaluation.report import cost_points, report_tables
from tracerank.evaluation.score_matrix import MEASURES, ScoreMatrix, costs_at
from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool


class Sure:
    """Takes the first rollout and is the surer the later the question."""

    name = "sure"

    def decide(self, pool: Pool) -> Decision:
        told = {"1": 0.91, "2": 0.95, "3": 0.15}[pool.question.id]
        return Decision(pool.question.id, pool.rollouts[0].answer, 0, confidence=told)


def test_bins_brier_and_ece_are_those_of_the_definition(tmp_path: Path) -> None:
    pools = [asked("1", "x"), asked("2", "y"), asked("3", "y")]
    scores = scores_of(folded(tmp_path, pools, ks=[1], methods=[Sure()]))
    [found] = calibrations(scores, 1)
    low, high = found.bins
    assert low == Bin(pytest.approx(0.15), 0.0, 1)
    assert high == Bin(pytest.approx(0.93), 0.5, 2)
    assert found.brier == pytest.approx((0.09**2 + 0.95**2 + 0.15**2) / 3)
    assert found.ece == pytest.approx((0.15 + 2 * 0.43) / 3)
    [table] = calibration_tables(scores, 1)
    assert table.rows[0][:2] == ("sure", 3)
    assert "calibration" in {each.name for each in report_tables(scores, PLAN)}


def test_methods_without_a_confidence_are_left_out(tmp_path: Path) -> None:
    scores = scores_of(folded(tmp_path, POOLS))
    assert calibrations(scores, 2) == []
    assert calibration_tables(scores, 2) == []


def timed(*seconds: float) -> ScoreMatrix:
    column = np.full((len(seconds), len(MEASURES)), np.nan)
    column[:, MEASURES.index("seconds")] = seconds
    column[:, MEASURES.index("correct")] = 1.0
    return ScoreMatrix(tuple([None] * len(seconds)), {("slow", 2, False): column})  # type: ignore[arg-type]


def test_what_the_first_call_loads_does_not_move_the_time_of_a_method() -> None:
    [point] = cost_points(timed(5.0, 1.0, 1.0, 1.0), 2)
    assert point.seconds == 1.0
    [cost] = costs_at(timed(5.0, 1.0, 1.0, 1.0), 2)
    assert (cost.seconds, cost.typical_seconds) == (2.0, 1.0)


def test_times_that_are_all_on_the_first_of_a_block_are_averaged() -> None:
    [point] = cost_points(timed(8.0, 0.0, 0.0, 0.0), 2)
    assert point.seconds == 2.0
