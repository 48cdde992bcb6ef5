"""How reliable agents are, and a vote that weighs them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.mixed import MIXED, mixed_pools
from tracerank.pools.correctness import choice
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.agents import LABELLED_FLOOR, AgentTally, Reliabilities
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.base import Method
from tracerank.votes.fitted_vote import UNWEIGHED, FittedVote
from tracerank.votes.voting import MajorityVote

PLAIN = MajorityVote(MeaningGroups(), "commonest")


def tally_of(pools: Sequence[Pool]) -> AgentTally:
    tally = AgentTally()
    for pool in pools:
        tally.add(pool)
    return tally


def right(method: Method, pools: Sequence[Pool]) -> float:
    return sum(choice(pool, method.decide(pool).sample_id).correct or 0.0 for pool in pools) / len(pools)


def changed(pools: Sequence[Pool], **fields: object) -> list[Pool]:
    return [Pool.of(pool.question, [replace(one, **fields) for one in pool.rollouts]) for pool in pools]


def town(answer: str | None, agent: str | None, sample: int) -> Rollout:
    return Rollout(sample, answer, agent=agent)


def of(*votes: tuple[str | None, str | None]) -> Pool:
    rollouts = [town(answer, agent, sample) for sample, (agent, answer) in enumerate(votes)]
    return Pool.of(Question("q", "In which town was the fair held?"), rollouts)


def test_twenty_labelled_questions_order_the_agents_and_gain_on_others() -> None:
    found = tally_of(mixed_pools(20, MIXED)).labelled()
    assert found.weight("able") == 1.0 > found.weight("fair") > found.weight("poor") >= LABELLED_FLOOR
    others = mixed_pools(300, MIXED, seed=2)
    assert right(FittedVote.of_agents(found), others) >= right(PLAIN, others) + 0.1


def test_agreement_alone_orders_the_agents_and_gains_too() -> None:
    pools = changed(mixed_pools(200, MIXED), label=None)
    tally = tally_of(pools)
    assert tally.objection() is None
    found = tally.estimated()
    assert found.weight("able") == 1.0 > found.weight("fair") > found.weight("poor")
    judged = mixed_pools(200, MIXED)
    assert right(FittedVote.of_agents(found), judged) >= right(PLAIN, judged) + 0.1


def test_agents_that_do_not_clearly_differ_weigh_about_the_same() -> None:
    equal = tally_of(mixed_pools(20, dict.fromkeys("abcd", 0.6))).labelled()
    assert min(map(equal.weight, "abcd")) > 0.8


@pytest.mark.parametrize(
    ("pools", "why"),
    [
        ([], "no rollout names its agent"),
        (mixed_pools(60, {"able": 0.9, "poor": 0.3}), "2 agents answer beside others 20 times or more; at least 3"),
        (mixed_pools(4, {"able": 0.9, "poor": 0.3}), "0 agents answer beside others 20 times or more; at least 3"),
        (mixed_pools(49, MIXED), "in 49 pools several agents answer; at least 50"),
        (mixed_pools(100, dict.fromkeys("abcd", 0.7)), "too alike"),
        # One good agent among many that err together agrees least with the others.
        (mixed_pools(100, {"able": 0.8} | dict.fromkeys("abcdefg", 0.5), together=tuple("abcdefg")), "too alike"),
        (mixed_pools(100, dict.fromkeys("abcd", 0.02)), "too seldom"),
    ],
    ids=["none", "two", "too few answers", "few pools", "equal", "err together", "all wrong"],
)
def test_agreement_is_no_basis_where_it_cannot_tell(pools: list[Pool], why: str) -> None:
    assert why in str(tally_of(pools).objection())


def test_more_votes_of_less_reliable_agents_win_where_they_weigh_more() -> None:
    vote = FittedVote.of_agents(Reliabilities({"able": 0.8, "poor": 0.3}, 0.5, 0.2))
    assert vote.decide(of(("poor", "Oslo"), ("able", "Lima"))).answer == "Lima"
    assert vote.decide(of(("poor", "Oslo"), ("able", "Lima"), ("poor", "Oslo"))).answer == "Lima"
    decision = vote.decide(of(("poor", "Oslo"), ("able", "Lima"), ("poor", "Oslo"), ("poor", "oslo")))
    assert (decision.answer, decision.group) == ("Oslo", (0, 2, 3))


def test_an_agent_that_is_not_known_weighs_as_the_mean_of_all() -> None:
    vote = FittedVote.of_agents(Reliabilities({"able": 0.8, "poor": 0.3}, 0.5, 0.2))
    for agent in ("other", None):
        assert vote.decide(of(("poor", "Oslo"), (agent, "Lima"))).answer == "Lima"
        assert vote.decide(of((agent, "Oslo"), ("able", "Lima"))).answer == "Lima"


def test_without_a_known_agent_it_is_the_plain_vote_and_says_so() -> None:
    vote = FittedVote.of_agents(Reliabilities({"able": 0.8}, 0.8, 0.2))
    decision = vote.decide(of((None, "Oslo"), ("other", "Lima"), (None, "Lima")))
    assert (decision.answer, decision.note) == ("Lima", UNWEIGHED)
    assert vote.decide(of(("able", "Oslo"))).note is None
    assert vote.decide(of((None, None))).answer is None


def test_names_that_differ_by_a_run_are_agents_of_their_own() -> None:
    tally = tally_of([of(("gpt_run1", "Oslo"), ("gpt_run2", "Oslo")), of(("gpt_run1", "Oslo"), ("gpt_run2", "Lima"))])
    assert [(one.agent, one.answers, one.agreement) for one in tally.figures()] == [
        ("gpt_run1", 2, 0.5),
        ("gpt_run2", 2, 0.5),
    ]


def test_abstentions_and_answers_of_the_same_agent_do_not_count_as_agreement() -> None:
    pool = of(("a", "Oslo"), ("a", "Oslo"), ("b", "Lima"), ("c", "I don't know"), (None, "Oslo"))
    assert [(one.agent, one.answers, one.agreement) for one in tally_of([pool]).figures()] == [
        ("a", 2, 0.0),
        ("b", 1, 0.0),
    ]


def test_one_agent_has_no_figures() -> None:
    assert tally_of([of(("a", "Oslo"), ("a", "Lima"))]).figures() == []


def test_files_stand_for_agents_where_no_rollout_names_one() -> None:
    pools = changed(mixed_pools(60, MIXED), agent=None)
    found = tally_of(pools).labelled()
    assert (found.are_by_file, found.weight("able")) == (True, 1.0)
    assert FittedVote.of_agents(found).decide(pools[0]).note is None
    runs = [
        Pool.of(
            pool.question, [replace(one, source=f"{pool.question.id}_{one.sample_id}.json:1") for one in pool.rollouts]
        )
        for pool in pools
    ]
    assert not tally_of(runs).are_by_file
    assert tally_of(runs).figures() == []
