"""Why a feature selector chose: texts that hold the answer, and what set it apart."""

import numpy as np
import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tracerank.pools.pool import Pool
from tracerank.selectors.features.compute import feature_table
from tracerank.selectors.features.model import FeatureModel, LinearScorer
from tracerank.selectors.features.selector import FeatureSelector, reasons
from tracerank.selectors.features.support import grounds
from tracerank.selectors.features.table import FAMILIES, FAMILY_MEANINGS, NAMES
from tracerank.votes.explanation import SUPPORT

QUESTION = "What is the capital of Norway?"
NEAR, FAR, ELSE = "Oslo is the capital of Norway.", "A ferry leaves Oslo at noon.", "Bergen lies in the west."


def weighing() -> FeatureSelector:
    """A selector that likes votes and support."""
    weights = np.array([float(name in ("vote_share", "own_found", "own_window")) for name in NAMES])
    return FeatureSelector(FeatureModel(((LinearScorer(np.zeros(len(NAMES)), np.ones(len(NAMES)), weights), 1.0),)))


def norway() -> Pool:
    return pool_of(
        rollout("Oslo", ranked("capital", FAR, ELSE), ranked("Norway", NEAR, NEAR)),
        rollout("Bergen", ranked("capital", FAR)),
        rollout("I do not know.", ranked("capital", NEAR)),
        question=QUESTION,
    )


def test_texts_weigh_by_whether_they_hold_the_answer_next_to_what_was_asked() -> None:
    oslo, bergen, nothing = grounds(QUESTION, norway().rollouts)
    assert oslo[NEAR] > oslo[FAR] > oslo[ELSE] == 0.0
    assert sum(oslo.values()) == pytest.approx(1.0)
    assert bergen == {FAR: 0.0}
    assert nothing == {NEAR: 0.0}


def test_yes_and_no_weigh_what_the_question_is_about() -> None:
    (weights,) = grounds("Is Oslo the capital of Norway?", (rollout("Yes", ranked("q", NEAR, ELSE)),))
    assert weights[NEAR] > weights[ELSE]


def test_an_explanation_is_of_the_very_decision_and_says_what_its_weights_are() -> None:
    selector, each = weighing(), norway()
    ((same, explanation),) = selector.explain_stream([each])
    assert same is each
    assert explanation.decision == selector.decide(each)
    assert explanation.weights_are == SUPPORT
    assert explanation.selected is not None
    assert explanation.selected.strongest(1)[0].evidence.text == NEAR
    of_text = [seen.weight for seen in explanation.selected.evidence if seen.evidence.text == NEAR]
    assert of_text[0] == of_text[1]  # the same text twice shares its weight


def test_reasons_add_up_to_the_difference_of_the_linear_scores() -> None:
    model, each = weighing().model, norway()
    table = feature_table(QUESTION, each.rollouts[:2])
    (linear,) = (scorer for scorer, _ in model.scorers if scorer.kind == "linear")
    scores = linear.scores(table.values)
    found = reasons(model, table)
    assert sum(reason.gain for reason in found) == pytest.approx(abs(scores[0] - scores[1]), abs=0.05 * len(FAMILIES))
    assert [reason.gain for reason in found] == sorted((reason.gain for reason in found), reverse=True)


def test_every_family_can_be_said_in_words() -> None:
    assert set(FAMILY_MEANINGS) == set(FAMILIES)


@pytest.mark.parametrize("each", [pool(), pool("Oslo"), pool("Oslo", "oslo"), pool("unknown", "N/A"), pool(None)])
def test_without_another_answer_there_are_no_reasons(each: Pool) -> None:
    ((_, explanation),) = weighing().explain_stream([each])
    assert explanation.reasons == ()
