"""What takes a short cut on plain texts gives what the long way gives."""

import math
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.answers.exact import normalize_text
from tracerank.evidence.text import MAX_TEXT, TextLines, content_words, rarity_of, words_of

ANY = st.text(st.sampled_from(" \t\n\u00a0\u2028\x1cab,.'’_-019Éé漢"), max_size=40)


@given(ANY)
def test_a_text_that_needs_no_change_is_found_out(text: str) -> None:
    assert normalize_text(text) == " ".join(unicodedata.normalize("NFC", text).split())


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_words_of_plain_texts_are_runs_of_letters_and_digits(text: str) -> None:
    plain = text.replace("'", " ").replace(",", " ")
    found = [word for word in re.findall(r"[^\W_]+", plain.lower()) if word not in ("a", "an", "the")]
    assert words_of(plain) == found


def test_a_sign_between_thousands_goes_and_any_other_parts() -> None:
    assert words_of("1,000,000 or 1,00 or a,1,234b 5,678") == ["1000000", "or", "1", "00", "or", "1", "234b", "5678"]


@given(st.text("abS  the 10,'’`´_-–—“»éÇİſﬁ½²™…\u0301\u0323\u00a0\u2009", max_size=40))
def test_signs_that_only_part_words_leave_the_words_as_they_are(text: str) -> None:
    """A letter of another script sends the text the long way."""
    assert [*words_of(text), "я"] == words_of(f"{text} я")


def test_a_text_is_read_once_and_cut_where_it_is_endless() -> None:
    lines = TextLines()
    assert lines.of("The Paris") is lines.of("The Paris")
    assert lines.of("The Paris").text == " paris "
    assert len(words_of("word " * MAX_TEXT)) == MAX_TEXT // 5


def test_a_word_is_the_rarer_the_fewer_texts_hold_it_and_never_weighs_nothing() -> None:
    lines = TextLines()
    texts = [lines.of(text) for text in ("Paris and Rome", "Paris", "Paris, Oslo")]
    assert rarity_of(texts, ["paris", "rome", "bern"]) == {
        word: pytest.approx(math.log(5 / (count + 1)) + 0.1) for word, count in (("paris", 3), ("rome", 1), ("bern", 0))
    }


def test_words_of_a_subject_are_those_that_carry_it_or_all_when_none_does() -> None:
    assert content_words(["who", "was", "ada"]) == ["ada"]
    assert content_words(["the", "who"]) == ["the"]
    assert content_words(["who", "was"]) == ["who", "was"]
