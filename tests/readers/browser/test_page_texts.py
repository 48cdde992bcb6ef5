"""Texts that need no cleaning are told from those that may."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.answers.exact import normalize_text
from tracerank.readers.browser.page_texts import needs_no_cleaning


def test_no_character_that_changes_or_cannot_be_seen_is_plain() -> None:
    for code in range(1 << 16):
        text = f"e{chr(code)}가{chr(code)}"
        if code != ord(" ") and needs_no_cleaning(text):
            assert text.isprintable(), hex(code)
            assert not chr(code).isspace(), hex(code)
            assert unicodedata.is_normalized("NFC", text), hex(code)
            assert not unicodedata.combining(chr(code)), hex(code)


@given(st.text(st.sampled_from("ab é–“”東ЖΩ  \t\u00a0e\u0301\u0327\u212b각\u1161😀\ud800")))
def test_what_needs_no_cleaning_stays_as_it_is(text: str) -> None:
    if needs_no_cleaning(f"<{text}>"):
        assert normalize_text(f"<{text}>") == f"<{text}>"


@pytest.mark.parametrize("text", ["Żubr – “Château” 1894", "東京 and Москва", "a b c"])
def test_ordinary_texts_need_no_cleaning(text: str) -> None:
    assert needs_no_cleaning(text)


@pytest.mark.parametrize("text", ["", "a  b", "a\nb", "e\u0301", "a\u00adb", "a\u00a0b", "x\ud800", "😀😀"])
def test_others_are_for_the_careful_way(text: str) -> None:
    assert not needs_no_cleaning(text)
