"""Confidence fitted on one's own pools: what it mends, what it leaves, and when it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from tests.worlds import generate_pools
from tracerank.errors import UsageError
from tracerank.evidence.confidence import COLUMNS, shipped_confidence
from tracerank.fitting.calibrate import (
    AS_IT_IS,
    ISOTONIC,
    LEAST,
    LOGISTIC,
    SHIFTED,
    Cases,
    calibrate,
    cases_of,
    fit_isotonic,
    fit_shifted,
    subsets_of,
)
from tracerank.methods import load_selector

pytest.importorskip("scipy")


def cases(count: int, level: float, stretch: float = 1.0, seed: int = 0) -> Cases:
    """Answers whose true log odds are those of what ships, stretched and moved."""
    rng = np.random.default_rng(seed)
    shipped = shipped_confidence()
    standings = np.zeros((count, len(COLUMNS)))
    standings[:, 0] = rng.normal(0, 1.5, count)
    odds = standings[:, 0] * shipped.weights["agreement"] + shipped.bias
    right = (rng.random(count) < 1 / (1 + np.exp(-(stretch * odds + level)))).astype(np.float64)
    told = 1 / (1 + np.exp(-odds))
    return Cases(standings, told, right, np.ones(count), tuple(map(str, range(count))), 7, has_code=False)


def test_a_better_agent_than_those_known_is_lifted() -> None:
    strong = cases(400, level=1.5)
    made = calibrate(strong)
    assert made.chosen != AS_IT_IS
    assert made.confidence is not None
    assert made.held[made.chosen].ece < made.held[AS_IT_IS].ece / 2
    assert made.held[made.chosen].log_loss < made.held[AS_IT_IS].log_loss
    assert made.confidence.longest == 7
    assert made.confidence.training["questions"] == 400


def test_what_holds_already_is_left() -> None:
    assert calibrate(cases(300, level=0.0)).confidence is None


def test_a_stretch_and_a_shift_are_found() -> None:
    start = shipped_confidence()
    found = fit_shifted(cases(4000, level=-1.0, stretch=0.5), start)
    assert found.weights["agreement"] == pytest.approx(0.5 * start.weights["agreement"], rel=0.15)
    assert found.bias == pytest.approx(0.5 * start.bias - 1.0, abs=0.15)


def test_a_method_that_says_nothing_today_gets_a_confidence() -> None:
    silent = replace(cases(60, level=0.5), told=np.full(60, np.nan))
    made = calibrate(silent)
    assert set(made.held) == {SHIFTED}
    assert made.confidence is not None


def test_freer_forms_are_tried_with_more_questions() -> None:
    assert set(calibrate(cases(LEAST[LOGISTIC], 1.0)).held) == {AS_IT_IS, SHIFTED, LOGISTIC}
    assert set(calibrate(cases(LEAST[ISOTONIC], 1.0)).held) == {AS_IT_IS, SHIFTED, LOGISTIC, ISOTONIC}


def test_isotonic_steps_rise_and_are_never_certain() -> None:
    steps = fit_isotonic(cases(400, 3.0), shipped_confidence()).steps
    assert list(steps) == sorted(steps)
    shares = [share for _, share in steps]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] < 1


def test_too_few_questions_and_questions_of_one_kind_are_refused() -> None:
    with pytest.raises(UsageError, match="too few"):
        calibrate(cases(LEAST[SHIFTED] - 1, 0.0))
    with pytest.raises(UsageError, match="all are right or all wrong"):
        calibrate(replace(cases(50, 0.0), right=np.ones(50)))


def test_pools_count_whole_and_in_subsets_and_a_question_weighs_one() -> None:
    pools = list(generate_pools(6, seed=3, k=4))
    assert [len(subset) for subset in subsets_of(pools[0])] == [4, 1, 2, 3]
    found = cases_of(load_selector(), pools)
    assert len(found) == len(found.questions) == len(found.right)
    assert found.weights.sum() == pytest.approx(found.asked)
    assert found.asked <= 6
    assert not np.isnan(found.told).any()
