"""The page says of groups, votes and the vote what the decisions themselves say."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.builders import pool
from tests.viewer.pages import selector
from tests.worlds import generate_pools
from tracerank.answers.equivalence import NO_GROUP
from tracerank.methods import load_method, load_selector
from tracerank.pools.pool import Pool
from tracerank.pools.types import WEBQA
from tracerank.viewer.question_data import list_entry, question_data
from tracerank.votes.base import Method
from tracerank.votes.explanation import explain_stream

WORDINGS = ("{}", "{}.", "It is {}.", "The answer is {}.", "**{}**", "Based on the pages, the answer is {}.")


@pytest.fixture(scope="module")
def pools() -> list[Pool]:
    """Generated pools whose answers are worded differently by every rollout."""
    rng = Random(3)
    return [_reworded(made, rng) for made in generate_pools(20, seed=11, k=8)]


def _reworded(made: Pool, rng: Random) -> Pool:
    return Pool(
        made.question,
        tuple(
            one if one.answer is None else replace(one, answer=rng.choice(WORDINGS).format(one.answer))
            for one in made.rollouts
        ),
    )


def shown(method: Method, pools: Sequence[Pool]) -> list[dict[str, Any]]:
    vote = load_method("majority")
    return [question_data(pool, explanation, vote) for pool, explanation in explain_stream(method, pools)]


METHODS = ("evidence", "majority", "majority-paper", "weighted", "single")


@pytest.mark.parametrize("name", METHODS)
def test_groups_votes_and_vote_differs_are_those_of_the_decisions(name: str, pools: list[Pool]) -> None:
    method, vote = load_method(name), load_method("majority")
    for made, data in zip(pools, shown(method, pools), strict=True):
        decision, voted = method.decide(made), vote.decide(made)
        candidates = [one for one in data["rollouts"] if one["dropped"] is None]
        group = {one["sample"] for one in candidates if one["group"] == data["selected"]["group"] != NO_GROUP}
        if decision.group:
            assert group == set(decision.group)
            assert data["agrees"] == (voted.sample_id in decision.group)
            assert list_entry(data)["votes"] == len(decision.group)
        assert data["selected"]["sample"] == decision.sample_id
        assert data["vote"]["sample"] == voted.sample_id
        assert list_entry(data)["votes"] == len(group)


def test_a_vote_by_exact_words_keeps_the_groups_that_it_counted(pools: list[Pool]) -> None:
    vote = load_method("majority")
    for data in shown(vote, pools):
        sizes = {one["group"]: one["score"] for one in data["rollouts"] if one["group"] != NO_GROUP}
        for number, votes in sizes.items():
            assert sum(one["group"] == number for one in data["rollouts"]) == votes


def test_wordings_of_one_meaning_are_one_answer_for_the_shipped_selector() -> None:
    made = pool("Paris", "It is Paris.", "The answer is Paris.", "Rome")
    [data] = shown(load_selector(), [made])
    assert len({one["group"] for one in data["rollouts"]}) == 2
    assert (data["agrees"], list_entry(data)["votes"]) == (True, 3)


def test_a_method_without_groups_is_shown_by_meaning() -> None:
    made = pool("Paris", "It is Paris.", "Rome")
    [data] = shown(selector(WEBQA), [made])
    assert len({one["group"] for one in data["rollouts"]} - {NO_GROUP}) <= 2
