"""What can be said of any method's decision: who saw what, how it weighs, and which answers count as one."""

import pytest

from tests.builders import browsed, opened, pool, pool_of, ranked, rollout
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.explanation import Called, ReadWeights, explain, explain_pool, explain_stream
from tracerank.votes.voting import MajorityVote


class Own:
    """A method of a user, which explains nothing, under a name of ours."""

    name = "trace"

    def decide(self, pool: Pool) -> Decision:
        first = pool.rollouts[0]
        return Decision(pool.question.id, first.answer, first.sample_id, {one.sample_id: 0.5 for one in pool.rollouts})


def test_texts_and_documents_that_other_rollouts_saw_are_counted() -> None:
    shared, alone = "seen by both", "seen by one"
    found = pool_of(
        rollout("Paris", ranked("q", shared, alone), ranked("r", shared)),
        rollout("Rome", ranked("q", shared)),
    )
    explanation = explain_pool(found, Own().decide(found))
    assert [(seen.search, seen.index, seen.same_text) for seen in explanation.rollouts[0].evidence] == [
        (0, 0, 1),
        (0, 1, 0),
        (1, 0, 1),
    ]
    assert not explanation.has_weights
    assert explanation.selected is explanation.rollouts[0]
    assert [seen.evidence.text for seen in explanation.rollouts[0].strongest(2)] == [shared, alone]
    pages = pool_of(
        rollout("a", browsed("q", opened("one part", "https://x.org/p"))),
        rollout("b", browsed("q", opened("another part", "https://x.org/p"))),
    )
    (seen,) = explain_pool(pages, Own().decide(pages)).rollouts[0].evidence
    assert (seen.same_text, seen.same_document) == (0, 1)


def test_the_strongest_evidence_is_that_with_most_weight_each_text_once() -> None:
    one = rollout("Paris", ranked("q", "a", "b"), ranked("r", "a", "c"))
    weights = {0: ReadWeights((0.1, 0.2), ((0.2, 0.3), (0.2, 0.0)))}
    explanation = explain([one], Decision("q", "Paris", 0, {0: 1.0}), weights)
    assert explanation.has_weights
    assert [seen.evidence.text for seen in explanation.rollouts[0].strongest(2)] == ["a", "b"]
    assert explanation.rollouts[0].search_weights == (0.1, 0.2)


def test_groups_are_those_of_a_method_that_groups() -> None:
    said = pool("Paris", "Rome", "Paris.", "unknown")
    [(_, voted)] = explain_stream(MajorityVote(), [said])
    assert voted.groups == {0: 0, 1: 1, 2: 0, 3: -1}
    [(_, own)] = explain_stream(Own(), [said])
    assert (own.groups, own.reasons, own.decision.answer) == ({}, (), "Paris")


@pytest.mark.parametrize("method", [MajorityVote(), Own()])
def test_a_method_under_another_name_decides_and_explains_the_same(method: MajorityVote | Own) -> None:
    said = [pool("Paris", "Rome"), pool("Oslo")]
    called = Called(method, "mine")
    assert called.name == "mine"
    assert list(called.iter_decisions(said)) == [called.decide(one) for one in said] == [*map(method.decide, said)]
    assert list(explain_stream(called, said)) == list(explain_stream(method, said))


def test_a_written_answer_belongs_to_no_rollout() -> None:
    explanation = explain_pool(pool("Paris"), Decision("q", "Lyon", None, {0: 1.0}))
    assert explanation.selected is None
