"""Answers grouped by meaning: pairs written by hand, and what holds for every pool."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracerank as tr
from tests.answers.meaning.meaning_pairs import APART, CORES, EQUAL, UNEQUAL
from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.comparing import linked
from tracerank.answers.meaning.grouping import answer_core, group_by_meaning
from tracerank.answers.meaning.pairs import pair_features, pair_weights
from tracerank.answers.meaning.reading import read_answer
from tracerank.answers.question_profile import read_question
from tracerank.methods import MethodOptions, load_method
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.voting import MajorityVote

QUESTION = "In what city was Leena Peisa born?"
ANSWERS = [
    "Vantaa",
    "She was born in Vantaa, just north of Helsinki.",
    "Helsinki, Finland.",
    "**Answer:** Vantaa (Swedish: Vanda), Finland",
    "The answer is Helsinki.",
    "I could not find it.",
    None,
    "Vantaa",
]
WORDS = (
    "Paris",
    "Rome",
    "the",
    "is",
    "capital",
    "1981",
    "not",
    "**",
    "Answer:",
    ",",
    ".",
    "(",
    "\n",
    "May 3",
    "O'Neil",
)
texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=40)


@pytest.mark.parametrize(("question", "a", "b"), EQUAL)
def test_other_words_for_the_same_answer_are_the_same(question: str, a: str, b: str) -> None:
    assert tr.same_answer(question, a, b)


@pytest.mark.parametrize(("question", "a", "b"), [*UNEQUAL, *APART])
def test_other_answers_are_not_the_same(question: str, a: str, b: str) -> None:
    assert not tr.same_answer(question, a, b)


@pytest.mark.parametrize(("question", "text", "core"), CORES)
def test_the_core_is_the_span_that_answers(question: str, text: str, core: str) -> None:
    assert answer_core(question, text).text == core


def test_long_answers_belong_to_what_they_assert_and_not_to_what_they_mention() -> None:
    assert group_by_meaning(QUESTION, ANSWERS) == (0, 0, 1, 0, 1, NO_GROUP, NO_GROUP, 0)


def test_groups_do_not_depend_on_the_order_of_the_answers() -> None:
    expected = dict(zip(range(len(ANSWERS)), group_by_meaning(QUESTION, ANSWERS), strict=True))
    for seed in range(10):
        order = list(expected)
        random.Random(seed).shuffle(order)
        groups = group_by_meaning(QUESTION, [ANSWERS[place] for place in order])
        for i, a in enumerate(order):
            for j, b in enumerate(order):
                assert (groups[i] == groups[j]) == (expected[a] == expected[b])


@given(st.lists(texts | st.none(), max_size=6), texts, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_any_answers_in_any_order_give_the_same_groups(
    answers: list[str | None], question: str, chance: random.Random
) -> None:
    groups = group_by_meaning(question, answers)
    order = list(range(len(answers)))
    chance.shuffle(order)
    again = group_by_meaning(question, [answers[place] for place in order])
    assert [groups[a] == groups[b] for a in order for b in order] == [x == y for x in again for y in again]
    assert [group for place, group in enumerate(groups) if group not in groups[:place] and group >= 0] == list(
        range(max(groups, default=-1) + 1)
    )


@given(texts, texts, texts)
@settings(deadline=None, max_examples=60)
def test_sameness_is_symmetric_and_an_answer_is_itself(question: str, a: str, b: str) -> None:
    assert tr.same_answer(question, a, b) == tr.same_answer(question, b, a)
    assert tr.same_answer(question, a, a) != abstains(a, question)


@given(texts, texts)
@settings(deadline=None, max_examples=100)
def test_the_core_stands_where_it_says(question: str, text: str) -> None:
    core = answer_core(question, text)
    assert text[core.start : core.end] == core.text


def test_the_level_chooses_how_strictly_answers_are_grouped() -> None:
    answers = ["Rembrandt", "The Night Watch was painted by Rembrandt van Rijn.", "rembrandt", "Rembrandt van Rijn"]
    question = "Who painted The Night Watch?"
    assert tr.group_answers(question, answers) == group_by_meaning(question, answers) == (0, 0, 0, 0)
    assert tr.group_answers(question, answers, level="default") == (0, 1, 0, 1)
    assert tr.group_answers(question, answers, "exact") == (0, 1, 0, 2)
    with pytest.raises(ValueError, match="meaning, exact, default"):
        tr.group_answers(question, answers, "fuzzy")


def test_aliases_join_groups_by_meaning() -> None:
    answers = ["Bombay", "Mumbai was it.", "Leopold", None, "Mumbai"]
    assert tr.group_answers("", answers, aliases=[("Leopold", "Mumbai")])[2] == tr.group_answers("", answers)[4]


def test_votes_by_meaning_are_a_method() -> None:
    question = tr.Question("q", QUESTION, ())
    pool = tr.Pool.of(question, [tr.Rollout(place, text) for place, text in enumerate(("Helsinki", *ANSWERS[:2]))])
    by_meaning = load_method("majority", MethodOptions(equality="meaning"))
    assert by_meaning.decide(pool).answer == "Vantaa"
    assert MajorityVote(MeaningGroups()).decide(pool).answer == "Vantaa"


NAMES = st.lists(
    st.sampled_from(("Anna", "Ana", "Lind", "Lindt", "River", "of", "Oslo", "Norway", "WHO", "Will", "Hal", "Otter")),
    min_size=1,
    max_size=4,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(st.sets(NAMES, min_size=2, max_size=12), st.sampled_from(("Who was it?", "Which city is it?", "Which river?")))
def test_pairs_that_are_left_out_change_no_group(names: set[str], question: str) -> None:
    answers = sorted(names)
    readings, weights = [read_answer(text, question) for text in answers], pair_weights()
    features, vetoed = pair_features(readings, read_question(question))
    probabilities = {pair: weights.probability(row) for pair, row in features.items()}
    groups = linked(range(len(answers)), probabilities, weights.threshold, vetoed)
    number = {place: group for group, members in enumerate(groups) for place in members}
    said = group_by_meaning(question, answers)
    told = [place for place, group in enumerate(said) if group >= 0]
    assert all((said[a] == said[b]) == (number[a] == number[b]) for a in told for b in told)
