"""What takes a short cut on plain texts gives what the long way gives."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tracerank.answers.exact import normalize_text
from tracerank.evidence.text import Line, TextLines, line_of, words_of

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


MARKED = st.text("abS  the 10,'’`´_-–éÇ½™\u0301\x01я漢", max_size=20)


@given(st.lists(st.one_of(MARKED, st.sampled_from(("It's the 1,000", "the a an", "", "O'Neill")), ANY), max_size=6))
def test_texts_that_are_read_in_one_go_are_read_as_each_alone(texts: list[str]) -> None:
    lines = TextLines()
    lines.read(texts)
    for text in texts:
        assert (lines.of(text).text, lines.of(text).words) == (line_of(text).text, line_of(text).words)


@given(st.text("abS  the 10,'’`´_-–—“»éÇİſﬁ½²™…\u0301\u0323\u00a0я漢😀\ud800", max_size=40))
def test_a_long_text_has_the_words_of_any_other(text: str) -> None:
    long = f"{text} {'so it goes on ' * 80}{text}"
    line, words = line_of(long), words_of(long)
    for word in (*words, "the", "b", "10", "absent", "я", "?"):
        assert (word in line.held) == (word in Line(words).words), word
    assert line.text == f" {' '.join(words)} "
    assert line.words == Line(words).words


def test_every_character_of_a_long_text_is_read_as_in_a_short_one() -> None:
    filler = "x" * 1000
    for code in range(1 << 12):
        text = f"a{chr(code)}b {chr(code)}c'{chr(code)}s 1,{chr(code)}000"
        assert line_of(f"{text} {filler}").text == f"{line_of(text).text}{filler} ", hex(code)
