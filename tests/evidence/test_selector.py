"""The selector that ships: the wording that it returns, its folder, its explanations."""

import json
from pathlib import Path

import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tracerank.errors import CheckpointError, UsageError
from tracerank.evidence.model import Logistic
from tracerank.evidence.selector import COMMONEST, NO_ANSWERS, EvidenceSelector, member_of
from tracerank.evidence.table import COLUMNS, FAMILIES, evidence_table
from tracerank.methods import MethodOptions, load_method, load_selector
from tracerank.pools.pool import Pool
from tracerank.votes.explanation import SUPPORT
from tracerank.votes.folders import SHIPPED, folder_of
from tracerank.votes.voting import FORMS

QUESTION = "When did the expedition reach the pole?"
WORDINGS = ("14 December 1911", "December 14, 1911", "December 14, 1911", "It reached the pole on 14 December 1911.")
NEAR, FAR, ELSE = "Oslo is the capital of Norway.", "A ferry leaves Oslo at noon.", "Bergen lies in the west."


def norway() -> Pool:
    return pool_of(
        rollout("Oslo", ranked("capital", FAR, ELSE), ranked("Norway", NEAR, NEAR)),
        rollout("Bergen", ranked("capital", FAR)),
        rollout("I do not know.", ranked("capital", NEAR)),
        question="What is the capital of Norway?",
    )


def test_the_commonest_wording_is_returned_unless_another_form_is_wanted() -> None:
    found = pool_of(*(rollout(answer) for answer in WORDINGS), question=QUESTION)
    answers = {form: load_method("evidence", MethodOptions(form=form)).decide(found).answer for form in FORMS}
    assert answers == {"commonest": WORDINGS[1], "shortest": WORDINGS[0], "longest": WORDINGS[3], "first": WORDINGS[0]}
    assert load_selector().decide(found).answer == WORDINGS[1]
    with pytest.raises(UsageError, match="form must be one of"):
        load_selector().of_form("prettiest")


@pytest.mark.parametrize(
    ("question", "answers", "wanted"),
    [
        ("Who sang the blue song?", ("a song", "the blue song", "red song"), "the blue song"),
        ("Is Oslo larger than Bergen?", ("Yes, Oslo is larger than Bergen.", "Yes"), "Yes"),  # cores are compared
        ("Q?", ("bb", "aa", "c"), "c"),
        ("Q?", ("bb", "aa"), "aa"),
    ],
)
def test_of_equally_common_wordings_the_one_near_the_question_is_returned(
    question: str, answers: tuple[str, ...], wanted: str
) -> None:
    members = [rollout(answer) for answer in answers]
    assert {member_of(order, COMMONEST, question).answer for order in (members, members[::-1])} == {wanted}


def test_every_answered_rollout_is_a_candidate_and_has_a_score() -> None:
    found = pool_of(rollout("Paris"), rollout(None), rollout("I don't know"), rollout("Rome", ranked("x", "y")))
    decision = load_selector().decide(found)
    assert decision.scores.keys() == {0, 2, 3}
    assert decision.scores[2] == 0
    assert sum(decision.scores.values()) == pytest.approx(1)
    assert decision.dropped == {1: "no answer"}


def test_where_every_rollout_abstains_the_first_is_returned() -> None:
    silent = load_selector().decide(pool_of(rollout("I don't know"), rollout("unknown")))
    assert (silent.sample_id, silent.note, silent.group) == (0, NO_ANSWERS, (0,))
    assert load_selector().decide(pool_of(rollout(None), rollout(""))).sample_id is None


def test_a_saved_selector_decides_as_before(tmp_path: Path) -> None:
    selector = EvidenceSelector.load(folder_of(SHIPPED))
    selector.save(tmp_path)
    assert load_selector(tmp_path).decide(norway()) == load_selector().decide(norway())
    assert EvidenceSelector.load(tmp_path).training == selector.training


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"features": 99}, "features of version 99.*fit again"),
        ({"weights": {"moon_phase": 1.0}, "checksum": None}, "no column is called moon_phase"),
        ({"weights": {"log_votes": 1.0}}, "another checksum"),
        ({"weights": {"log_votes": "x"}}, "damaged"),
        ({"weights": [1.0]}, "damaged"),
        ({"weights": {"log_votes": float("nan")}, "checksum": None}, "finite"),
        ({"training": 3}, "damaged"),
        ({"format": "tracerank-features/1"}, "this version reads 'tracerank-evidence/1'"),
        ({"kind": "oracle"}, "kind 'oracle'"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    load_selector().save(tmp_path)
    about = json.loads((tmp_path / "selector.json").read_text())
    (tmp_path / "selector.json").write_text(json.dumps(about | change))
    with pytest.raises(CheckpointError, match=complaint):
        load_selector(tmp_path)


def test_an_explanation_is_of_the_very_decision_and_weighs_texts_that_hold_the_answer() -> None:
    each = norway()
    explanation = load_selector().explain(each)
    assert explanation.decision == load_selector().decide(each)
    assert explanation.weights_are == SUPPORT
    weights = [{seen.evidence.text: seen.weight or 0.0 for seen in one.evidence} for one in explanation.rollouts]
    # A text that holds the answer weighs a quarter, and one more with all of the question's words around it.
    assert weights[0] == pytest.approx({FAR: 0.25 / 1.5, ELSE: 0.0, NEAR: 1.25 / 1.5 / 2})
    assert weights[1][FAR] == weights[2][NEAR] == 0  # one does not hold its answer, one abstains
    assert sum(seen.weight or 0.0 for seen in explanation.rollouts[0].evidence) == pytest.approx(1)
    assert explanation.selected is not None
    assert explanation.selected.strongest(1)[0].evidence.text == NEAR


def test_yes_and_no_weigh_what_the_question_is_about() -> None:
    asked = pool_of(rollout("Yes", ranked("q", NEAR, ELSE)), question="Is Oslo the capital of Norway?")
    near, other = (seen.weight or 0.0 for seen in load_selector().explain(asked).rollouts[0].evidence)
    assert near > other


def test_reasons_add_up_to_the_difference_of_the_scores() -> None:
    model = Logistic({"vote_share": 1.0, "bridge_near": 0.5, "chain_recall": 2.0})
    each = norway()
    found = EvidenceSelector(model).explain(each).reasons
    oslo, bergen = sorted(model.scores(evidence_table(each.question.text, each.rollouts).values, COLUMNS))[::-1]
    assert sum(reason.gain for reason in found) == pytest.approx(oslo - bergen, abs=0.05 * len(FAMILIES))
    assert [reason.gain for reason in found] == sorted((reason.gain for reason in found), reverse=True)
    assert {reason.name for reason in load_selector().explain(each).reasons} & {"support"}


def test_a_gain_below_a_twentieth_is_no_reason() -> None:
    each = pool("Oslo", "Oslo", "Bergen")  # a third of the votes more
    reasons = [EvidenceSelector(Logistic({"vote_share": weight})).explain(each).reasons for weight in (0.14, 0.16)]
    assert [[reason.name for reason in found] for found in reasons] == [[], ["votes"]]


@pytest.mark.parametrize("each", [pool(), pool("Oslo"), pool("Oslo", "oslo"), pool("unknown", "N/A"), pool(None)])
def test_without_another_answer_there_are_no_reasons(each: Pool) -> None:
    assert load_selector().explain(each).reasons == ()


def test_what_ships_is_one_small_folder() -> None:
    folder = folder_of(SHIPPED)
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "selector.json",
        "confidence.json",
        "stopping.json",
    }
    assert sum(path.stat().st_size for path in folder.iterdir()) < 20_000
    assert isinstance(load_selector(), EvidenceSelector)
