"""What an answer looks like, and what kind of answer a question asks for."""

from zlib import crc32

import numpy as np
import pytest

from tracerank.answers.question_profile import read_question
from tracerank.evidence.forms import form_of
from tracerank.evidence.kinds import KINDS, asks_yes_or_no, cues_of, kind_model, kind_of
from tracerank.evidence.text import TextLines

WHO = "Who was it?"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("yes", "polar"),
        ("1999", "year"),
        ("1999年", "year"),
        ("1999 bc", "number"),
        ("2199", "number"),
        ("May 1990", "date"),
        ("5월 3일", "date"),
        ("12 old people", "number"),
        ("12 people were there", "with digits"),
        ("B12 vitamin", "with digits"),
        ("hundred old men", "number"),
        ("three old men there", "words of 3+"),
        ("Ada", "name of 1"),
        ("Ada King Lovelace", "name of 3"),
        ("Ada King Lovelace Byron", "name of 4+"),
        ("Duke of Leeds", "name of 3"),
        ("of", "words of 1"),
        ("river bank", "words of 2"),
        ("old river bank", "words of 3+"),
        ("Ada the poet", "mixed of 2-3"),
        ("Ada in old halls", "mixed of 4+"),
        ("one two three four five six seven eight", "words of 3+"),
        ("it was on one long day in old halls", "sentence"),
    ],
)
def test_the_kind_of_an_answer_is_read_of_its_words(answer: str, kind: str) -> None:
    assert kind_of(form_of(answer, 0, (0,), read_question(WHO)), TextLines().of(WHO)) == kind


def test_an_answer_that_the_question_names_is_an_option_where_it_names_two() -> None:
    for question, kind in (("Is Leeds or York older?", "option"), ("Who left Leeds?", "in question")):
        assert kind_of(form_of("Leeds", 0, (0,), read_question(question)), TextLines().of(question)) == kind


@pytest.mark.parametrize(
    ("question", "kind", "asks_polar"),
    [
        ("When was it built?", "year", False),
        ("How many people live there?", "number", False),
        ("Who wrote it?", "name of 2", False),
        ("Is it old?", "polar", True),
        ("Is it old or new?", "option", False),
        ("Name the old town", None, None),
        ("wann war das", None, None),
    ],
)
def test_a_question_raises_the_kind_that_it_asks_for(question: str, kind: str | None, asks_polar: bool | None) -> None:
    lifts = kind_model().log_probabilities(question) - kind_model().log_prior
    assert kind is None or KINDS[int(lifts.argmax())] == kind
    assert asks_yes_or_no(question) is asks_polar
    assert np.exp(kind_model().log_probabilities(question)).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("question", "cues"),
    [
        (
            "In which old town or city is it?",
            "first in; last it; end is it; any in; any which; any old; any town; any or; any city; any is; any it; or; "
            "asks which; asks which old; asks which old town; which then old; which then town; which then or; "
            "which then city; which then is; at 1 of which",
        ),
        (
            "Old is old",
            "first old; last old; end is old; any old; any is; no question word",
        ),
        ("Is it", "first is; last it; end is it; any is; any it; no question word polar"),
        ("b c d e f g h i who", "at 5 of who"),
        ("", ""),
        ("谁", ""),
    ],
)
def test_cues_are_the_words_around_the_question_word(question: str, cues: str) -> None:
    found = cues_of(question)
    wanted = [crc32(cue.encode()) for cue in cues.split("; ") if cue]
    assert found[-1:] == wanted if len(wanted) == 1 else found == wanted
