"""Reliability by hand: bins, Brier and ECE of a few confidences."""

from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.folders import Confident, asked, folded, scores_of
from tracerank.evaluation.calibration import (
    Answering,
    Calibration,
    answering,
    auroc,
    calibration_tables,
    calibrations,
    reliability,
)

SOME = [asked("1", "x"), asked("2", "y"), asked("3", "y")]
CONFIDENT = Confident(**{"1": 0.91, "2": 0.95, "3": 0.15})


def test_brier_log_loss_and_ece_are_those_of_the_definition(tmp_path: Path) -> None:
    [found] = calibrations(scores_of(folded(tmp_path, SOME, ks=[1], methods=[CONFIDENT])), 1)
    held = found.reliability
    assert held.brier == pytest.approx((0.09**2 + 0.95**2 + 0.15**2) / 3)
    assert held.base_brier == pytest.approx(1 / 3 * 2 / 3)
    assert held.log_loss == pytest.approx(-np.log([0.91, 0.05, 0.85]).mean())
    assert held.ece == pytest.approx((0.15 + 2 * 0.43) / 3)
    assert held.auroc == 0.5
    [table] = calibration_tables([found], 1)
    assert (table.rows[0][:2], table.rows[0][-1]) == (("confident", 3), 0.0)


def test_weights_count_as_if_cases_stood_there_several_times() -> None:
    confidences, right = np.array([0.2, 0.7, 0.9, 0.7]), np.array([0.0, 1.0, 1.0, 0.0])
    weighed = reliability(confidences, right, np.array([1.0, 2.0, 1.0, 1.0]))
    again = reliability(np.append(confidences, 0.7), np.append(right, 1.0))
    assert weighed.record() == pytest.approx(again.record())


def test_auroc_is_the_share_of_pairs_in_order() -> None:
    assert auroc(np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)) == pytest.approx(3.5 / 4)
    assert auroc(np.array([0.1, 0.5]), np.array([1.0, 1.0]), np.ones(2)) is None


ABSTAINING = Calibration(
    "vote",
    reliability(np.array([0.9, 0.8, 0.8, 0.4]), np.array([1.0, 1.0, 1.0, 0.0])),
    answering(np.array([0.9, 0.8, 0.8, 0.4]), np.array([1.0, 1.0, 1.0, 0.0]), 5),
)
"""Five questions, one of them without a confidence."""


def test_equal_confidences_are_answered_together_and_abstaining_counts_as_unanswered() -> None:
    assert ABSTAINING.curve == (Answering(0.9, 0.2, 1.0), Answering(0.8, 0.6, 1.0), Answering(0.4, 0.8, 0.75))
    assert ABSTAINING.at_precision(0.95) == Answering(0.8, 0.6, 1.0)
    assert ABSTAINING.at_precision(0.7) == Answering(0.4, 0.8, 0.75)
    assert ABSTAINING.sentence == "At 95% precision vote answers 60% of the questions (confidence 0.80 or more)."


def test_a_precision_out_of_reach_is_said() -> None:
    curve = answering(np.array([0.9]), np.array([0.0]), 1)
    never = Calibration("vote", reliability(np.array([0.9]), np.array([0.0])), curve)
    assert never.sentence == "vote reaches 95% precision at no confidence."
