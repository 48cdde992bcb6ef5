"""A confidence fitted on labelled pools: what it corrects, what it leaves, where it is saved, when it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.worlds import generate_pools
from tracerank.errors import UsageError
from tracerank.evidence.confidence import COLUMNS, read_confidence, shipped_confidence
from tracerank.evidence.model import sigmoid
from tracerank.fitting.calibrate import (
    AS_IT_IS,
    LOGISTIC,
    MIN_QUESTIONS,
    SHIFTED,
    Cases,
    best_calibration,
    calibrate,
    cases_of,
    fit_shifted,
    subsets_of,
)
from tracerank.methods import EVIDENCE, load_method, load_selector
from tracerank.votes.base import decide_stream
from tracerank.votes.fitted_vote import FittedVote
from tracerank.votes.folders import fitted_on
from tracerank.votes.voting import MajorityVote


def cases(count: int, level: float, stretch: float = 1.0, seed: int = 0) -> Cases:
    """Answers whose true log odds are the shipped ones, scaled and shifted."""
    rng = np.random.default_rng(seed)
    model = shipped_confidence().model
    standings = np.zeros((count, len(COLUMNS)))
    standings[:, 0] = rng.normal(0, 1.5, count)
    odds = standings[:, 0] * model.weights[COLUMNS[0]] + model.bias
    right = (rng.random(count) < 1 / (1 + np.exp(-(stretch * odds + level)))).astype(np.float64)
    known = np.array([sigmoid(one) for one in odds.tolist()])
    return Cases(standings, known, right, np.ones(count), tuple(map(str, range(count))))


def test_a_better_agent_than_those_known_gets_more_confidence() -> None:
    made = best_calibration(cases(400, level=1.5))
    assert made.chosen != AS_IT_IS
    assert made.calibration is not None
    assert made.held[made.chosen].ece < made.held[AS_IT_IS].ece / 2
    assert made.held[made.chosen].log_loss < made.held[AS_IT_IS].log_loss
    assert made.calibration.training["questions"] == 400
    assert made.table().rows[0][0] == AS_IT_IS


def test_what_holds_already_stays() -> None:
    made = best_calibration(cases(300, level=0.0))
    assert (made.chosen, made.calibration, made.saved_in) == (AS_IT_IS, None, None)


def test_a_scale_and_a_shift_are_found() -> None:
    start = shipped_confidence().model
    found = fit_shifted(cases(4000, level=-1.0, stretch=0.5), start)
    assert found.weights[COLUMNS[0]] == pytest.approx(0.5 * start.weights[COLUMNS[0]], rel=0.15)
    assert found.bias == pytest.approx(0.5 * start.bias - 1.0, abs=0.15)


def test_freer_forms_are_tried_with_more_questions() -> None:
    assert set(best_calibration(cases(MIN_QUESTIONS[LOGISTIC] - 1, 1.0)).held) == {AS_IT_IS, SHIFTED}
    assert set(best_calibration(cases(MIN_QUESTIONS[LOGISTIC], 1.0)).held) == {AS_IT_IS, SHIFTED, LOGISTIC}
    silent = replace(cases(60, level=0.5), known=np.full(60, np.nan))
    assert set(best_calibration(silent).held) == {SHIFTED}


@pytest.mark.parametrize("wrong", [cases(MIN_QUESTIONS[SHIFTED] - 1, 0.0), replace(cases(50, 0.0), right=np.ones(50))])
def test_too_few_questions_and_questions_of_one_kind_are_refused(wrong: Cases) -> None:
    with pytest.raises(UsageError, match="too few to calibrate on, or all are right or all wrong"):
        best_calibration(wrong)


def test_pools_count_whole_and_in_subsets_and_a_question_weighs_one() -> None:
    pools = list(generate_pools(6, seed=3, k=4))
    assert [len(subset) for subset in subsets_of(pools[0])] == [4, 1, 2, 3]
    found = cases_of(decide_stream(load_method(), (subset for pool in pools for subset in subsets_of(pool))))
    assert len(found) == len(found.questions) == len(found.right)
    assert found.weights.sum() == pytest.approx(found.question_count)
    assert np.isnan(found.known).all()  # what ships states no confidence without labels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    FittedVote(MajorityVote()).save(tmp_path / "vote")
    return tmp_path / "vote"


def test_a_folder_is_calibrated_in_place_or_as_a_copy_and_remembers_its_questions(folder: Path, tmp_path: Path) -> None:
    pools = list(generate_pools(60, seed=3, k=4))
    made = calibrate(pools, folder, tmp_path / "copy")
    assert made.saved_in == tmp_path / "copy"
    assert read_confidence(folder) is None
    assert read_confidence(tmp_path / "copy") == made.calibration
    assert all(pool in fitted_on(tmp_path / "copy") for pool in pools)
    before, after = (load_selector(each).decide(pools[0]) for each in (folder, tmp_path / "copy"))
    assert (before.answer, before.sample_id) == (after.answer, after.sample_id)
    assert before.confidence != after.confidence
    assert calibrate(pools, folder).saved_in == folder
    with pytest.raises(UsageError, match="too few"):  # all of its questions are known to it now
        calibrate(pools, folder)


def test_what_ships_is_never_changed_and_nothing_is_overwritten(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="add -o FOLDER"):
        calibrate([], EVIDENCE)
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="already exists"):
        calibrate([], EVIDENCE, tmp_path)
