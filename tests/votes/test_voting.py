"""Majority voting."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import pool
from tracerank.answers.exact import normalize_answer
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.answer_groups import AnswerGrouping, DefaultGroups, ExactGroups, WithoutAbstentions
from tracerank.votes.voting import ANSWERED, MajorityVote


def test_the_largest_group_of_equal_answers_wins_by_its_first_member() -> None:
    decision = MajorityVote().decide(pool("Rome", "the Paris", "Paris.", "Oslo"))
    assert (decision.answer, decision.sample_id) == ("the Paris", 1)
    assert decision.scores == {0: 1.0, 1: 2.0, 2: 2.0, 3: 1.0}


# With groupings and forms.


def test_a_grouping_gathers_the_votes_of_different_forms() -> None:
    answers = ("Rome", "Rome", "1 May 2020", "May 1, 2020", "2020-05-01")
    assert MajorityVote().decide(pool(*answers)).answer == "Rome"
    decision = MajorityVote(DefaultGroups()).decide(pool(*answers))
    assert (decision.answer, decision.scores) == ("1 May 2020", {0: 2.0, 1: 2.0, 2: 3.0, 3: 3.0, 4: 3.0})


def test_abstentions_are_left_out_unless_the_papers_grouping_is_asked_for() -> None:
    given_pool = pool("I don't know", "i don't know.", "Paris, France", "Paris")
    paper = MajorityVote(ExactGroups()).decide(given_pool)
    assert (paper.answer, paper.group, paper.note) == ("I don't know", (0, 1), None)
    decision = MajorityVote().decide(given_pool)
    assert (decision.answer, decision.group) == ("Paris, France", (2,))
    assert decision.scores == {0: 0.0, 1: 0.0, 2: 1.0, 3: 1.0}


@pytest.mark.parametrize("grouping", [None, DefaultGroups()], ids=lambda given: given.name if given else "none")
def test_where_everybody_abstains_the_papers_rule_decides_and_the_note_says_so(grouping: AnswerGrouping | None) -> None:
    decision = MajorityVote(grouping).decide(pool("unknown", "N/A", "I don't know.", "i don't know"))
    assert (decision.answer, decision.group, decision.note) == ("I don't know.", (2, 3), "every rollout abstains")
    assert decision.scores == {0: 1.0, 1: 1.0, 2: 2.0, 3: 2.0}
    tied = MajorityVote(grouping).decide(pool("unknown", "N/A"))
    assert (tied.answer, tied.group, tied.note) == ("unknown", (0,), "every rollout abstains")


def test_the_question_decides_what_an_abstention_is() -> None:
    answers = (Rollout(0, "None"), Rollout(1, "None"), Rollout(2, "7"))
    vote = MajorityVote()
    assert vote.decide(Pool(Question("q", "How many goals did he score?"), answers)).answer == "None"
    assert vote.decide(Pool(Question("q", "Who wore the shirt?"), answers)).answer == "7"


@pytest.mark.parametrize(("form", "sample_id"), [("first", 1), ("shortest", 2), ("longest", 3), ("commonest", 2)])
def test_the_form_of_the_winner_is_a_separate_choice(form: str, sample_id: int) -> None:
    answers = ("Oslo", "It is Paris.", "Paris", "The capital of France is Paris.", "paris")
    decision = MajorityVote(DefaultGroups(), form).decide(pool(*answers))
    assert decision.sample_id == sample_id
    assert decision.answer == answers[sample_id]


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="first, shortest, longest, commonest"):
        MajorityVote(form="prettiest")


def test_votes_are_named_by_what_differs_from_the_default() -> None:
    assert MajorityVote().name == MajorityVote(WithoutAbstentions()).name == "majority"
    assert MajorityVote(ExactGroups()).name == "majority-paper"
    assert MajorityVote(DefaultGroups(), "shortest").name == "majority-default-shortest"


@given(st.lists(st.sampled_from(["Paris", "paris.", "the", "?!", " ", "Rome", "a Rome", None, "5", "$5"]), max_size=8))
def test_the_papers_vote_counts_normalised_answers(answers: list[str | None]) -> None:
    given_pool = Pool(Question("q", "?"), tuple(Rollout(i, a and a.strip()) for i, a in enumerate(answers)))
    kept = given_pool.retained(ANSWERED).kept
    votes = Counter(normalize_answer(one.answer) for one in kept)
    wanted = {one.sample_id: float(votes[normalize_answer(one.answer)]) for one in kept}
    assert MajorityVote(ExactGroups()).decide(given_pool).scores == wanted
