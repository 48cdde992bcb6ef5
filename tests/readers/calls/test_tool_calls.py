"""What a call is called, what it was given, and which kind it is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers.tools import (
    TOOL_NAMES,
    Target,
    ToolCall,
    clean_name,
    kind_of_call,
    parse_arguments,
    queries_of,
    submitted_answer,
    targets_of,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("logged", "clean"),
    [
        ("search", "search"),
        ("functions.Search", "search"),
        ("browser.search<|channel|>commentary", "browser.search"),
        ("assistant<|channel|>analysis", "assistant"),
        ("shelljson", "shell"),
        ("parse_json", "parse_json"),
        ("Web Search", "web_search"),
        ("web-search", "web_search"),
        (None, ""),
        (7, ""),
    ],
)
def test_names_are_cleaned(logged: object, clean: str) -> None:
    assert clean_name(logged) == clean


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("search", {"query": "x"}, "search"),
        ("browser.search", {"query": "x"}, "search"),
        ("searchjson", {"query": "x"}, "search"),
        ("mcp__tavily__tavily-search", {"query": "x"}, "search"),
        ("local_knowledge_base_retrieval", {"user_query": "x"}, "search"),
        ("exa_search", {"query": "x"}, "search"),
        ("search", {}, "search"),
        ("visit", {"url": ["https://a.org"], "goal": "g"}, "open"),
        ("get_document", {"docid": "5"}, "open"),
        ("browser.open", {}, "open"),
        ("open", {"id": 3}, "open"),
        ("fetch", {"url": "https://a.org", "query": "what for"}, "open"),
        ("find_in_page", {"pattern": "x", "url": "https://a.org"}, "find"),
        ("browser.find", {"pattern": "x"}, "find"),
        # The keys decide where the name says nothing, or the opposite.
        ("my_corpus", {"query": "x"}, "search"),
        ("my_reader", {"url": "https://a.org", "query": "x"}, "open"),
        ("my_reader", {"docid": "9"}, "open"),
        ("search", {"url": "https://a.org"}, "open"),
        ("browse", {"query": "x"}, "search"),
        ("python", {"query": "x"}, "other"),
        ("run_sql_query", {"query": "SELECT 1"}, "other"),
        ("final_answer", {"answer": "x"}, "other"),
        ("update_todo", {"id": 3}, "other"),
        ("example", {"text": "x"}, "other"),
        ("", {}, "other"),
    ],
)
def test_a_call_is_classified_by_its_name_and_its_keys(name: str, arguments: dict[str, Any], kind: str) -> None:
    assert kind_of_call(name, arguments) == kind


def test_a_format_can_add_names_and_change_what_a_known_one_does() -> None:
    names = TOOL_NAMES.extended(search=("oracle", "python"), find=("lookup",))
    assert kind_of_call("oracle", {}, names) == "search"
    assert kind_of_call("python", {}, names) == "search"
    assert kind_of_call("lookup", {"keyword": "x"}, names) == "find"
    assert kind_of_call("search", {}, names) == "search"
    assert kind_of_call("oracle", {}) == "other"


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ({"query": "x"}, {"query": "x"}),
        ('{"query": "x"}', {"query": "x"}),
        ('"{\\"query\\": \\"x\\"}"', {"query": "x"}),
        ("{'query': 'x', 'n': None}", {"query": "x", "n": None}),
        ('{"query": "cut', {"query": "cut"}),
        ('[{"query": "x"}]', {"query": "x"}),
        ('{"query": "x"}<|call|>', {"query": "x"}),
        ('Sure! {"query": "x"}', {"query": "x"}),
        ("capital of France", {"input": "capital of France"}),
        ("time: the fourth dimension", {"input": "time: the fourth dimension"}),
        ('["a", "b"]', {"input": ["a", "b"]}),
        ("{broken", {}),
        ("", {}),
        (None, {}),
        ([], {}),
        (3, {"input": "3"}),
        ({1: 2}, {}),
    ],
)
def test_arguments_are_read_in_every_spelling(raw: object, arguments: dict[str, Any]) -> None:
    assert parse_arguments(raw) == arguments


def test_arguments_are_never_evaluated() -> None:
    assert parse_arguments("{'query': __import__('os').getcwd()}")["query"].startswith("__import__")


@given(JSON_VALUES | st.text(alphabet="{}[]\"':,quryl ", max_size=30))
def test_no_arguments_raise(raw: Any) -> None:
    arguments = parse_arguments(raw)
    assert all(isinstance(query, str) and query.strip() for query in queries_of(arguments))
    targets_of(arguments)
    assert kind_of_call(raw, arguments) in ("search", "open", "find", "other")
    assert kind_of_call("search", {"query": raw}) == "search"
    queries_of({"query": raw})
    targets_of({"url": raw, "id": raw})


@pytest.mark.parametrize(
    ("arguments", "queries"),
    [
        ({"query": "a"}, ("a",)),
        ({"query": ["a", " b ", "", None]}, ("a", "b")),
        ({"queries": '["a", "b"]'}, ("a", "b")),
        ({"queries": [{"query": "a"}, {"q": "b"}]}, ("a", "b")),
        ({"query": "", "q": "a"}, ("a",)),
        ({"user_query": "a"}, ("a",)),
        ({"__arg1": "a"}, ("a",)),
        ({"query": 1984}, ("1984",)),
        ({"query": {"x": 1}}, ()),
        ({"topn": 10}, ()),
    ],
)
def test_queries_may_be_one_or_many(arguments: dict[str, Any], queries: tuple[str, ...]) -> None:
    assert queries_of(arguments) == queries


def test_targets_are_addresses_ids_or_places() -> None:
    assert targets_of({"url": ["https://a.org", "https://b.org"], "goal": "g"}) == (
        Target("https://a.org", is_document_id=False),
        Target("https://b.org", is_document_id=False),
    )
    assert targets_of({"docid": 5}) == (Target("5", is_document_id=True),)
    assert targets_of({"id": 5}) == (Target("5", is_document_id=False),)
    assert targets_of({"cursor": 1}) == ()


def test_an_answer_may_be_handed_in_by_a_call() -> None:
    assert submitted_answer(ToolCall("final_answer", {"answer": " Paris "})) == "Paris"
    assert submitted_answer(ToolCall("functions.Finish", {"input": "Paris"})) == "Paris"
    assert submitted_answer(ToolCall("final_answer", {})) is None
    assert submitted_answer(ToolCall("search", {"answer": "Paris"})) is None
