"""Choices that compare no answers."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders import browsed, found, opened, pool, pool_of, ranked, rollout
from tracerank.errors import TraceRankError
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Question, Rollout, View
from tracerank.votes.simple import FewestTools, Oracle, RandomRollout, SingleRollout, tool_calls


def test_a_single_rollout_is_the_first_even_where_it_found_nothing() -> None:
    decision = SingleRollout().decide(pool_of(rollout("Rome"), rollout("Paris", ranked("q", "chunk"))))
    assert (decision.answer, decision.sample_id, decision.scores) == ("Rome", 0, {0: 1.0})


def test_a_single_rollout_without_an_answer_is_not_replaced() -> None:
    decision = SingleRollout().decide(pool(None, "Paris"))
    assert (decision.answer, decision.sample_id, decision.dropped) == (None, None, {0: "no answer"})
    assert SingleRollout().decide(Pool(Question("q", "?"), ())).answer is None


def test_the_fewest_searches_win_and_ties_go_to_the_first() -> None:
    one, two = ranked("one", "chunk"), ranked("two")
    decision = FewestTools().decide(
        pool_of(rollout("Rome", one, two), rollout("Paris", one), rollout("Oslo", two, one))
    )
    assert (decision.answer, decision.scores) == ("Paris", {0: -2.0, 1: -1.0, 2: -2.0})
    assert FewestTools().decide(pool_of(rollout("Rome", one), rollout("Paris", one))).answer == "Rome"


def test_a_ranked_rollout_that_never_searched_cannot_win() -> None:
    decision = FewestTools().decide(pool_of(rollout("Rome"), rollout("Paris", ranked("q", "chunk"))))
    assert (decision.answer, decision.dropped) == ("Paris", {0: "no evidence (WebQA rule)"})


def test_pages_and_finds_count_in_browsing() -> None:
    searches = (browsed("q", opened("page"), found("part")), browsed(None, opened("orphan")))
    browsing = replace(rollout("Rome", *searches), setting=BROWSING)
    assert tool_calls(browsing) == 1 + 3
    assert tool_calls(replace(browsing, setting="webqa")) == 1
    # Where every event is on record, those that showed nothing count, too.
    views = tuple(View(event, "open", None, None, is_valid=False) for event in range(7))
    assert tool_calls(replace(browsing, views=views)) == 7


def test_a_random_rollout_is_the_same_again_and_differs_between_questions_and_seeds() -> None:
    pools = [Pool(Question(str(n), "?"), tuple(Rollout(i, "abc"[i]) for i in range(3))) for n in range(300)]
    first = [RandomRollout(0).decide(each).sample_id for each in pools]
    assert first == [RandomRollout(0).decide(each).sample_id for each in pools]
    assert first != [RandomRollout(1).decide(each).sample_id for each in pools]
    assert all(count > 70 for count in Counter(first).values())
    assert first[:8] == [1, 0, 1, 0, 2, 0, 0, 1], "the draw must not change between versions"


def test_the_oracle_takes_the_first_right_answer_by_label_or_by_reference() -> None:
    labelled = pool_of(rollout("Rome", label=0.0), rollout("Paris", label=1.0), rollout("paris", label=1.0))
    decision = Oracle().decide(labelled)
    assert (decision.answer, decision.sample_id, decision.scores) == ("Paris", 1, {0: 0.0, 1: 1.0, 2: 1.0})
    assert decision.note is not None
    referenced = Pool(Question("q", "?", ("Rome",)), (Rollout(0, "Paris"), Rollout(1, "the Rome")))
    assert Oracle().decide(referenced).sample_id == 1


def test_the_oracle_refuses_a_pool_of_which_nothing_is_known() -> None:
    with pytest.raises(TraceRankError, match="neither labels nor references"):
        Oracle().decide(pool("Paris"))
    assert Oracle().decide(pool(None)).sample_id is None
