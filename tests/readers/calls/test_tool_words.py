"""What a tool that no table knows does, by its words; which argument says what to look for."""

from typing import Any

import pytest

from tracerank.readers.tools import (
    ToolCall,
    is_underway,
    kind_by_words,
    kind_of_call,
    queries_of,
    submitted_answer,
    targets_of,
    words_of,
)

URL = "https://a.org/x"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("searchWeb", {"search", "web"}),
        ("mcp__kb__lookup-docs", {"mcp", "kb", "lookup", "docs"}),
        ("kb.query", {"kb", "query"}),
        ("HTTPFetch2", {"http", "fetch", "2"}),
    ],
)
def test_a_name_is_split_into_words_in_any_spelling(name: str, words: set[str]) -> None:
    assert words_of(name) == words


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("lookup_docs", {"question": "x y"}, "search"),
        ("searchWeb", {"searchTerm": "x"}, "search"),
        ("look_up", {"what": "x"}, "search"),
        ("google_it", {"terms": "x"}, "search"),
        ("ask_archive", {"inquiry": "x"}, "search"),
        ("webSearch", {"searchQueries": ["x", "y"]}, "search"),
        ("run_search", {"words": "x"}, "search"),
        ("view_entry", {"entry": URL}, "open"),
        ("readPage", {"pageUrl": URL}, "open"),
        ("get_article", {"name": "Ada Lovelace"}, "open"),
        ("get_weather", {"city": "Paris"}, "other"),
        ("save_docs", {"text": "x"}, "other"),
        ("send_link", {"to": URL}, "other"),
        ("run_tests", {"folder": "web docs"}, "other"),
        ("lookup_docs", {"page": 3}, "other"),
    ],
)
def test_an_unknown_tool_is_known_by_its_words_and_by_what_it_is_given(
    name: str, arguments: dict[str, Any], kind: str
) -> None:
    assert kind_by_words(name, arguments) == kind
    assert kind_of_call(name, arguments) == kind


@pytest.mark.parametrize(
    ("arguments", "queries"),
    [
        ({"searchTerm": "x"}, ("x",)),
        ({"query_text": "x", "lang": "en"}, ("x",)),
        ({"searchQueries": ["x", "y"]}, ("x", "y")),
        ({"inquiry": "x", "top_k": 3}, ("x",)),
        ({"what": "x"}, ("x",)),
        ({"a": "some words", "b": "en"}, ("some words",)),
        ({"a": "some words", "b": "other words"}, ()),
        ({"site": URL}, ()),
    ],
)
def test_what_is_looked_for_stands_under_any_key(arguments: dict[str, Any], queries: tuple[str, ...]) -> None:
    assert queries_of(arguments) == queries


def test_an_address_is_a_target_under_any_key() -> None:
    assert [target.value for target in targets_of({"entryLocation": URL, "title": "x"})] == [URL]


def test_a_form_for_the_answer_hands_it_in_and_opens_no_page() -> None:
    form = ToolCall("final_result", {"answer": "Paris", "sources": [URL]})
    assert submitted_answer(form) == "Paris"
    assert kind_of_call(form.name, form.arguments) == "other"
    assert not is_underway(form.name, form.arguments)
    assert submitted_answer(ToolCall("check_answer", {"question": "q", "answer": "Paris"})) is None


def test_words_before_a_tool_that_nobody_knows_are_a_plan() -> None:
    assert is_underway("zorp", {"a": "b"})
    assert not is_underway("save_note", {"text": "b"})
    assert not is_underway("calculator", {"expression": "1+1"})
