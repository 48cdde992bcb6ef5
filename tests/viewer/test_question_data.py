"""What the page is told about a question: choices, agreement, labels, confidence, and who was dropped and why."""

from dataclasses import replace
from random import Random

import pytest

from tests.builders import pool, pool_of, ranked, rollout
from tests.viewer.pages import BRIDGE, bridge_pool, explained, voted
from tests.worlds import generate_pools
from tracerank.answers.equivalence import NO_GROUP
from tracerank.methods import load_method
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING
from tracerank.viewer.question_data import list_entry, question_data
from tracerank.votes.base import Decision
from tracerank.votes.explanation import explain_pool, explain_stream


def decided(pool: Pool, **fields: object) -> dict[str, object]:
    decision = Decision(pool.question.id, **fields)  # type: ignore[arg-type]
    return question_data(pool, explain_pool(pool, decision))


def test_selected_and_voted_answers_are_compared_as_the_vote_compares() -> None:
    three = pool("Rome", "Paris", "paris.")
    agreeing = decided(three, answer="paris.", sample_id=2, scores={0: 0.1, 1: 0.2, 2: 0.3})
    assert agreeing["agrees"]
    differing = decided(three, answer="Rome", sample_id=0, scores={0: 0.3, 1: 0.2, 2: 0.1})
    assert not differing["agrees"]
    assert differing["vote"]["answer"] == "Paris"  # type: ignore[index]


def test_a_calibrated_confidence_goes_before_any_stand_in() -> None:
    data = decided(pool("a", "b"), answer="a", sample_id=0, scores={0: 2.0, 1: 1.0}, confidence=0.83)
    assert data["confidence"] == {"value": 0.83, "kind": "confidence"}


def test_votes_stand_in_by_agreement_and_scores_by_their_softmax() -> None:
    [data] = voted([pool("a", "a", "b", None)])
    assert data["confidence"] == {"value": pytest.approx(2 / 3), "kind": "agreement"}
    [data] = explained([bridge_pool()], BROWSING)
    assert data["confidence"]["kind"] == "score share"
    assert 0 < data["confidence"]["value"] < 1


def test_labels_references_and_drop_reasons_are_told() -> None:
    [data] = voted([bridge_pool()])
    assert data["references"] == ["Ines Tarrow"]
    assert data["selected"]["right"] == 1.0
    assert [one["label"] for one in data["rollouts"]] == [1.0, 1.0, 0.0, None]
    assert [one["dropped"] for one in data["rollouts"]] == [None, None, None, "no answer"]
    assert data["rollouts"][3]["searches"][0]["evidence"][0]["text"] == data["texts"].index(BRIDGE)


def test_a_newly_written_answer_belongs_to_no_rollout() -> None:
    data = decided(pool("a", "b"), answer="c", sample_id=None)
    assert data["selected"]["sample"] is None  # type: ignore[index]
    assert all(one["score"] is None and one["dropped"] is None for one in data["rollouts"])  # type: ignore[attr-defined]
    assert list_entry(data)["votes"] == 0


def test_an_unreadable_rollout_keeps_its_place_and_its_reason() -> None:
    broken = pool_of(rollout("a", ranked("q", "x")), rollout("b"))
    broken = Pool(broken.question, (broken.rollouts[0], replace(broken.rollouts[1], problem="line 7 is not JSON")))
    [data] = explained([broken])
    assert [one["dropped"] for one in data["rollouts"]] == [None, "line 7 is not JSON"]


WORDINGS = ("{}", "{}.", "It is {}.", "The answer is {}.", "**{}**", "Based on the pages, the answer is {}.")


@pytest.mark.parametrize("name", ["evidence", "majority", "weighted", "single"])
def test_groups_votes_and_agreement_are_those_of_the_decisions(name: str) -> None:
    rng = Random(3)
    method, vote = load_method(name), load_method("majority")
    for made in generate_pools(12, seed=11, k=8):
        worded = (replace(one, answer=one.answer and rng.choice(WORDINGS).format(one.answer)) for one in made.rollouts)
        made = Pool(made.question, tuple(worded))
        ((_, explanation),) = explain_stream(method, [made])
        data, decision, voted = question_data(made, explanation, vote), method.decide(made), vote.decide(made)
        candidates = [one for one in data["rollouts"] if one["dropped"] is None]
        group = {one["sample"] for one in candidates if one["group"] == data["selected"]["group"] != NO_GROUP}
        if decision.group:
            assert group == set(decision.group)
            assert data["agrees"] == (voted.sample_id in decision.group)
        assert (data["selected"]["sample"], data["vote"]["sample"]) == (decision.sample_id, voted.sample_id)
        assert list_entry(data)["votes"] == len(group)


@pytest.mark.parametrize(
    ("answer", "core"),
    [
        ("Paris", None),
        ("one two three four five six seven eight", None),
        ("I have read all of the pages, and the answer is Paris.", "Paris"),
        ("Paris\n", "Paris"),
        (None, None),
    ],
    ids=["brief", "just brief", "long", "two lines", "no answer"],
)
def test_a_long_or_broken_answer_is_shown_with_its_core(answer: str | None, core: str | None) -> None:
    [data] = voted([pool(answer)])
    assert data["rollouts"][0]["core"] == core
