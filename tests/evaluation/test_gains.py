"""Gains over the baseline are paired, and methods that never differ are one."""

from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.test_report import PLAN, POOLS, Last, folded, scores_of
from tracerank.evaluation.gains import alike, gain_curves, merged
from tracerank.evaluation.report import Curve, ReportPlan, accuracy_curves
from tracerank.evaluation.score_matrix import MEASURES, ScoreMatrix
from tracerank.votes.answer_groups import DefaultGroups
from tracerank.votes.voting import MajorityVote


def test_methods_that_are_right_on_the_same_questions_are_named_together(tmp_path: Path) -> None:
    methods = (MajorityVote(), MajorityVote(DefaultGroups()), Last())
    scores = scores_of(folded(tmp_path, POOLS, methods=methods))
    assert [group.label for group in alike(scores)] == ["majority = majority-default", "trace"]
    names = [curve.method for curve in merged(accuracy_curves(scores, PLAN), alike(scores))]
    assert names == ["single", "majority = majority-default", "trace", "oracle"]


def test_a_gain_is_the_mean_of_differences_with_the_interval_of_differences(tmp_path: Path) -> None:
    [curve] = gain_curves(scores_of(folded(tmp_path, POOLS)), PLAN)
    assert (curve.method, curve.ks) == ("trace", (1, 2))
    # With one rollout there is nothing to choose; with two, only question 1 and 2 change sides.
    assert curve.accuracy[0] == curve.low[0] == curve.high[0] == 0.0
    assert curve.low[1] <= curve.accuracy[1] <= curve.high[1]


def test_a_small_sure_gain_has_a_narrow_band_where_absolute_bands_are_wide() -> None:
    rng = np.random.default_rng(0)
    base = (rng.random(400) < 0.5).astype(float)
    better = base.copy()
    better[np.flatnonzero(base == 0)[:20]] = 1.0
    columns = {}
    for name, right in (("majority", base), ("selector", better)):
        column = np.full((400, len(MEASURES)), np.nan)
        column[:, MEASURES.index("correct")] = right
        columns[name, 4, False] = column
    scores = ScoreMatrix(tuple([None] * 400), columns)  # type: ignore[arg-type]
    [gain] = gain_curves(scores, ReportPlan(resamples=500))
    assert gain.accuracy == (pytest.approx(0.05),)
    assert 0 < gain.low[0] < gain.high[0] < 0.09
    absolute = accuracy_curves(scores, ReportPlan(resamples=500))
    assert absolute[0].high[0] > absolute[1].low[0]  # these overlap


def test_without_the_baseline_there_are_no_gains(tmp_path: Path) -> None:
    assert gain_curves(scores_of(folded(tmp_path, POOLS, methods=[Last()])), PLAN) == []


def test_merging_leaves_other_curves_alone() -> None:
    curves = [Curve("a", (1,), (0.5,), (0.4,), (0.6,))]
    assert merged(curves, []) == curves
