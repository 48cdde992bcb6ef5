"""Which answers are one form, how it is written, and the words around it in a text."""

import pytest

from tracerank.answers.meaning.grouping import MAX_ANSWERS
from tracerank.answers.question_profile import read_question
from tracerank.evidence.forms import commonest, form_key, form_of, near, spelling, windows
from tracerank.evidence.text import Line


def test_answers_of_signs_alone_stay_apart_and_others_follow_the_papers_normalisation() -> None:
    assert form_key("The Paris!") == form_key("paris") != form_key("Rome")
    assert len({form_key("?"), form_key(" ! "), form_key("the"), form_key("a")}) == 4
    assert form_key(" ! ") == form_key("!")


def test_the_commonest_spelling_is_taken_and_of_equals_the_one_with_a_capital() -> None:
    assert spelling({"paris": 2, "Paris": 1}) == "paris"
    assert spelling({"paris": 1, "Paris": 1}) == "Paris"


def test_of_very_many_answers_the_commonest_are_compared_in_their_order() -> None:
    many = {f"answer {number}": [number] * (1 if number < 3 else 2) for number in range(MAX_ANSWERS + 2)}
    assert commonest(many) == ["answer 0", *list(many)[3:]]
    few = dict(list(many.items())[:MAX_ANSWERS])
    assert commonest(few) == list(few)


@pytest.mark.parametrize(
    ("answer", "question", "is_polar", "size"),
    [
        ("yes", "Who?", True, 1),
        ("No, never", "Was it old?", True, 2),
        ("No Name", "Who was it?", False, 2),
        ("東京都庁", "Who?", False, 2),
        ("?", "Who?", False, 1),
    ],
)
def test_a_form_is_yes_or_no_where_that_may_be_meant_and_counts_words_as_a_reader_does(
    answer: str, question: str, is_polar: bool, size: int
) -> None:
    form = form_of(answer, 0, (0,), read_question(question))
    assert (form.is_polar, form.size) == (is_polar, size)


def test_windows_hold_160_characters_on_either_side_of_the_first_three_occurrences() -> None:
    text = Line(["before", *["mid"] * 40, "paris", *["last"] * 32, "behind", *["far"] * 40])
    assert list(windows(text, " paris ")) == [{"mid", "|", "last"}]
    assert near(text, " paris ") == {"mid", "paris", "last"}
    assert near(text, " rome ") == frozenset()
    assert near(Line(["paris", *["last"] * 32, "behind", *["far"] * 40]), " paris ") == {"paris", "last"}
    assert near(Line(["before", *["mid"] * 40, "paris"]), " paris ") == {"mid", "paris"}
    assert len(list(windows(Line(["paris", "or"] * 5), " paris "))) == 3
