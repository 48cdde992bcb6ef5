"""Arguments that are almost JSON, and texts that only look like it."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers.sources.loose_json import NOT_JSON, load_after, load_json, load_loosely


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"query": "x"}', {"query": "x"}),
        ("{'query': 'x', 'topn': 3}", {"query": "x", "topn": 3}),
        ("{query: 'x', deep: true, rest: None,}", {"query": "x", "deep": True, "rest": None}),
        ('query="x", k=2.5', {"query": "x", "k": 2.5}),
        ("{'queries': ['a', \"b's\"], 'o': {'p': 1}}", {"queries": ["a", "b's"], "o": {"p": 1}}),
        ('{"query": "who said "hello" first"}', {"query": 'who said "hello" first'}),
        ("{'query': 'it's here'}", {"query": "it's here"}),
        ('{"query": "cut off in the mid', {"query": "cut off in the mid"}),
        (r'{"query": "a\nb\u00e9\"c", x: }', {"query": 'a\nbé"c', "x": ""}),
        ('{"url": https://a.org/b?c=1}', {"url": "https://a.org/b?c=1"}),
        ("just words", {}),
        ("https://a.org: x", {}),
        ("", {}),
    ],
)
def test_an_object_is_read_however_it_is_written(text: str, value: Any) -> None:
    assert load_loosely(text) == value


def test_a_key_is_found_in_the_middle_of_prose() -> None:
    text = 'I call it with "query": "capital of France", and url = "https://a.org"'
    assert load_after(text, frozenset(("query", "url"))) == {"query": "capital of France", "url": "https://a.org"}


def test_what_is_no_json_differs_from_null() -> None:
    assert load_json("null") is None
    assert load_json("nul") is NOT_JSON
    assert load_json("[" * 100_000) is NOT_JSON
    assert load_json('"\\ud800"') == "\ud800"


@given(st.text(alphabet="{}[]()\"'\\,:= \nab1", max_size=60))
def test_nothing_raises(text: str) -> None:
    load_loosely(text)
    load_after(text, frozenset("ab"))


@pytest.mark.parametrize("piece", ["{", "[", '"', "'", "\\", "a:", "a='", ',"', "a=[", "= ", " ", "](", "a.", 'a:"x" '])
def test_a_megabyte_of_anything_is_quick(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    load_loosely(text)
    load_loosely("{" + text)
    load_after(text, frozenset(("query",)))
    assert time.process_time() - start < 20
