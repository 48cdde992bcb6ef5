"""What is read in one answer: values, clauses, polarity, options, and how much of a long text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracerank.answers.meaning import reading
from tracerank.answers.meaning.reading import MAX_SENTENCES, read_answer
from tracerank.answers.meaning.values import likeness, tokens
from tracerank.answers.meaning.words import word_likeness
from tracerank.answers.question_profile import CHOICE, DATE, NUMBER, POLAR, WHERE, WHO, read_question

CHOICES = "Which is older, the Tower or the Abbey?"
PARTS = (
    *("united states", "united  kingdom", "great", "britain", "nyc", "per cent", "two hundred", "a dozen", "May", "3"),
    *("River", "(Oslo)", "-", ",", "it's", "U.S.", "first", "twenties", "The", "é", "?", "x" * 260),
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the 3rd of May, 1997", "@1997-5-3"),
        ("May 3, 1997", "@1997-5-3"),
        ("1997-05-03", "@1997-5-3"),
        ("the third of August 1769", "@1769-8-3"),
        ("May 1997", "@1997-5"),
        ("25 September", "@-9-25"),
        ("in '81", "@1981"),
        ("nineteen eighty-one", "@1981"),
        ("1.5 million", "#1500000"),
        ("two hundred and five", "#205"),
        ("the seventies", "1970s"),
    ],
)
def test_values_are_found_inside_text(text: str, value: str) -> None:
    assert value in tokens(text)


def test_values_agree_at_the_coarser_granularity_and_when_rounded() -> None:
    assert likeness("@1997-5-3", "@1997-5")
    assert likeness("#977633", "#978000")
    assert not likeness("@1997-5-3", "@1997-6")
    assert not likeness("#21", "#22")


@pytest.mark.parametrize(
    ("a", "b"), [("danish", "denmark"), ("nick", "nicholas"), ("abtidoon", "aptidon"), ("j", "john")]
)
def test_words_that_name_the_same_are_alike(a: str, b: str) -> None:
    assert word_likeness(a, b) >= 0.6
    assert word_likeness(a, b) == word_likeness(b, a)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (CHOICES, CHOICE),
        ("Are both rivers in Asia?", POLAR),
        ("When was it built?", DATE),
        ("How many are there?", NUMBER),
        ("Who built it?", WHO),
        ("Where is it?", WHERE),
    ],
)
def test_the_kind_of_a_question_is_read(question: str, kind: str) -> None:
    assert read_question(question).kind == kind


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        ("The Tower", 0),
        ("the Abbey is older", 1),
        ("I read about both.", -1),
    ],
)
def test_the_option_that_an_answer_chooses_is_read(answer: str, option: int) -> None:
    assert read_answer(answer, CHOICES).option == option


@pytest.mark.parametrize(
    ("answer", "polarity"),
    [("Yes, they are.", 1), ("The answer is: no", -1), ("Only one of them is.", -1), ("Both are.", 1)],
)
def test_yes_and_no_are_read_from_reasons(answer: str, polarity: int) -> None:
    assert read_answer(answer, "Are both rivers in Asia?").polarity == polarity


@pytest.mark.parametrize("part", ["Paris is it. ", "((((", "**a** ", "Answer: x\n", ", and the ", "1 ", "A. ", "'s a "])
def test_of_a_hostile_long_text_a_bounded_part_is_read(part: str) -> None:
    reading = read_answer(part * (400_000 // len(part)), "Where is it?")
    assert len(reading.clauses) <= 200 * MAX_SENTENCES
    assert len(reading.cores) <= 6


NAMES = st.lists(
    st.sampled_from(
        [
            "the",
            "The",
            "Paris",
            "of",
            "new",
            "York",
            "City",
            "in",
            "1997",
            "May",
            "3",
            "not",
            "Danish",
            "who",
            "is",
            "O",
            "Anna-Lena",
            "before",
            "and",
            "a",
            "son",
            "no",
            "yes",
            "Texas",
            ",",
            ".",
        ]
    ),
    min_size=1,
    max_size=8,
).map(lambda words: " ".join(words).replace(" ,", ",").replace(" .", "."))


@given(
    NAMES,
    st.sampled_from([CHOICES, "Who built it?", "Are both rivers in Asia?", "When was it?", "", "Where in Texas?"]),
)
@settings(deadline=None, max_examples=300)
def test_a_few_plain_words_are_read_by_the_short_way_as_by_the_long_one(text: str, question: str) -> None:
    asking = read_question(question)
    quick = reading._read_name(text.strip(), asking)
    assert quick is None or quick == reading._read_text(text.strip(), asking)


@given(st.lists(st.sampled_from(PARTS), max_size=7).map(" ".join))
def test_mere_words_are_read_as_among_signs(text: str) -> None:
    """A sign that no word holds sends the text the long way, and parts nothing."""
    assert tokens(text) == tokens(f"{text} *")
