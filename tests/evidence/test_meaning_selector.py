"""The selector by meaning: its folder, the wording that it returns, its reasons."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import pool_of, ranked, rollout
from tracerank.errors import CheckpointError, UsageError
from tracerank.evidence.selector import EvidenceSelector, member_of
from tracerank.methods import FormName, MethodOptions, load_method, load_selector
from tracerank.selectors.features.selector import NOBODY_ANSWERED, FeatureSelector
from tracerank.votes.folders import SHIPPED, folder_of
from tracerank.votes.voting import FORMS

QUESTION = "When did the expedition reach the pole?"
WORDINGS = ("14 December 1911", "December 14, 1911", "December 14, 1911", "It reached the pole on 14 December 1911.")


def test_the_commonest_wording_is_returned_unless_another_form_is_wanted() -> None:
    pool = pool_of(*(rollout(answer) for answer in WORDINGS), question=QUESTION)
    answers = {form: load_method("selector", MethodOptions(form=form)).decide(pool).answer for form in FormName}
    assert answers == {"commonest": WORDINGS[1], "shortest": WORDINGS[0], "longest": WORDINGS[3], "first": WORDINGS[0]}
    assert load_selector().decide(pool).answer == WORDINGS[1]
    assert set(FormName) == set(FORMS)


def test_of_wordings_that_are_equally_common_the_one_near_the_question_is_returned() -> None:
    members = [rollout("a song"), rollout("the blue song"), rollout("red song")]
    assert member_of(members, "commonest", "Who sang the blue song?").answer == "the blue song"
    assert member_of(members[::-1], "commonest", "Who sang the blue song?").answer == "the blue song"


def test_words_around_the_core_make_no_wording_nearer_to_the_question() -> None:
    members = [rollout("Yes, Oslo is larger than Bergen."), rollout("Yes")]
    assert member_of(members, "commonest", "Is Oslo larger than Bergen?").answer == "Yes"


def test_a_form_that_there_is_not_and_a_selector_without_forms_are_refused(tmp_path: Path) -> None:
    selector = EvidenceSelector.load(folder_of(SHIPPED))
    with pytest.raises(UsageError, match="form must be one of"):
        selector.of_form("prettiest")
    with pytest.raises(UsageError, match="chooses the wording itself"):
        FeatureSelector(selector.model).of_form("first")


def test_a_saved_selector_decides_as_before(tmp_path: Path) -> None:
    selector = EvidenceSelector.load(folder_of(SHIPPED))
    selector.save(tmp_path)
    pool = pool_of(rollout("Oslo", ranked("capital", "Oslo is the capital.")), rollout("Bergen"), rollout("Bergen"))
    assert load_selector(tmp_path).decide(pool) == selector.decide(pool)


def test_features_of_another_version_are_refused(tmp_path: Path) -> None:
    EvidenceSelector.load(folder_of(SHIPPED)).save(tmp_path)
    about = json.loads((tmp_path / "selector.json").read_text())
    (tmp_path / "selector.json").write_text(json.dumps(about | {"features": 99}))
    with pytest.raises(CheckpointError, match="fit again"):
        load_selector(tmp_path)


def test_where_everybody_abstains_the_first_is_returned_and_without_answers_nobody() -> None:
    selector = load_selector()
    silent = selector.decide(pool_of(rollout("I don't know"), rollout("unknown")))
    assert (silent.sample_id, silent.note) == (0, NOBODY_ANSWERED)
    assert selector.decide(pool_of(rollout(None), rollout(""))).sample_id is None


def test_reasons_name_families_and_the_evidence_that_holds_the_answer_is_read() -> None:
    held = ranked("capital of Norway", "Oslo is the capital of Norway.", "Bergen is wet.")
    pool = pool_of(rollout("Oslo", held), rollout("Bergen", held), question="What is the capital of Norway?")
    explained = load_selector().explain(pool)
    assert explained.decision.answer == "Oslo"
    assert {reason.name for reason in explained.reasons} & {"support", "chains"}


def test_deciding_with_what_ships_imports_no_torch() -> None:
    script = (
        "import sys, tracerank as tr; from tracerank.pools.types import Rollout, Question;"
        "load_selector().decide(tr.Pool.of(Question('q', 'Who?'), [Rollout(0, 'A'), Rollout(1, 'B')]));"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_ships_is_small_and_says_what_it_was_fitted_on() -> None:
    for name in ("default", "browsing"):
        folder = folder_of(name)
        assert sum(path.stat().st_size for path in folder.iterdir()) < 2_000_000
        about = json.loads((folder / "selector.json").read_text())
        assert (about["kind"], about["equality"]) == ("meaning", "meaning")
        assert about["training"]["real"] == ["r1_searcher", "fireact", "knowagent"]
    assert isinstance(load_selector(), EvidenceSelector)
