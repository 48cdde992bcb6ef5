"""Anthropic messages: hosted search and fetch, the client's own tools, citations, and errors."""

import json
from typing import Any

import pytest

from tests.readers.shapes import shape
from tracerank.pools.types import BROWSING, WEBQA, Rollout
from tracerank.readers.base import Parsed
from tracerank.readers.calls.assembly import URL_ONLY
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.formats.chat import ChatReader
from tracerank.readers.formats.marked import SearchR1Reader
from tracerank.readers.formats.walked import ANTHROPIC, OPENAI_RESPONSES
from tracerank.readers.formats.webqa import WebQAReader

READER = ANTHROPIC
OTHERS = (CanonicalReader(), WebQAReader(), SearchR1Reader(), BrowsingReader(), OPENAI_RESPONSES, ChatReader())
Block = dict[str, Any]
A, B = "https://a.org/x", "https://b.org/y"


def text(words: str, *citations: Block) -> Block:
    return {"type": "text", "text": words, "citations": list(citations) or None}


def quote(url: str, title: str, words: str) -> Block:
    kind = "web_search_result_location"
    return {"type": kind, "url": url, "title": title, "cited_text": words, "encrypted_index": "e"}


def hosted(call_id: str, name: str, **arguments: Any) -> Block:
    return {"type": "server_tool_use", "id": call_id, "name": name, "input": arguments}


def hits(call_id: str, *urls: str) -> Block:
    hidden = {"type": "web_search_result", "encrypted_content": "c2VjcmV0", "page_age": None}
    found = [{**hidden, "url": url, "title": f"T {url[-1]}"} for url in urls]
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": found}


def fetched(call_id: str, url: str, **source: Any) -> Block:
    document = {"type": "document", "title": "T", "source": source, "citations": None}
    content = {"type": "web_fetch_result", "url": url, "retrieved_at": None, "content": document}
    return {"type": "web_fetch_tool_result", "tool_use_id": call_id, "content": content}


def error(kind: str, call_id: str) -> Block:
    return {"type": kind, "tool_use_id": call_id, "content": {"type": f"{kind}_error", "error_code": "unavailable"}}


def used(call_id: str, name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any, **fields: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def agent(*blocks: Block) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Block) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def record(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Which city?"}, *messages], **fields}


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*messages: dict[str, Any], **fields: Any) -> Rollout:
    return parse(record(*messages, **fields)).rollout


REPLY = (
    text("I will search."),
    hosted("s1", "web_search", query="capital of France"),
    hits("s1", A, B),
    hosted("s2", "web_fetch", url=B),
    fetched("s2", B, type="text", media_type="text/plain", data="Whole page"),
    text("The capital is "),
    text("Paris", quote(A, "T x", "Paris is the capital"), quote(A, "T x", "since 987")),
    text(".\n\nExact Answer: Paris\nConfidence: 90%"),
)


def test_a_message_as_the_anthropic_library_writes_it_is_read() -> None:
    types = pytest.importorskip("anthropic.types", reason="needs anthropic")
    message = types.Message.model_validate(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "stop_sequence": None, "content": list(REPLY),
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )  # fmt: skip
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Which city?"}]}]}
    for dump in (message.model_dump(mode="json"), json.loads(message.model_dump_json(exclude_none=True))):
        for row in (
            {**dump, "question": "Which city?"},
            {**asked, "response": dump},
            {"messages": [*asked["messages"], {"role": "assistant", "content": dump["content"]}], "response": dump},
            {"messages": json.dumps([*asked["messages"], {"role": "assistant", "content": dump["content"]}])},
            {"custom_id": "q1", "question": "Which city?", "result": {"type": "succeeded", "message": dump}},
        ):
            assert READER.recognises(row)
            assert not any(other.recognises(row) for other in OTHERS)
            parsed = parse(row)
            one = parsed.rollout
            assert (parsed.question.text, one.answer, one.confidence) == ("Which city?", "Paris", 0.9)
            assert one.setting == BROWSING
            assert shape(one) == [
                ("capital of France", ["search: T x Paris is the capital since 987", "search: T y", "open: Whole page"])
            ]
            assert [seen.status for seen in one.searches[0].evidence] == [URL_ONLY, URL_ONLY, None]
            assert [seen.url for seen in one.searches[0].evidence] == [A, B, B]
            assert "c2VjcmV0" not in repr(one)


def test_the_tools_of_a_client_return_text_parts_and_search_results() -> None:
    found = [
        {"type": "search_result", "source": A, "title": "T a", "content": [text("one"), text("two")]},
        {"type": "search_result", "source": "guide.md", "title": "T g", "content": [text("three")]},
    ]
    document = {
        "type": "document",
        "title": "T",
        "source": {"type": "text", "data": "Page", "media_type": "text/plain"},
    }
    one = rollout(
        agent(text("Let me look."), used("c1", "search", query="a"), used("c2", "search", query="b")),
        user(result("c2", found), result("c1", "plain words"), text("Go on.")),
        agent({"type": "thinking", "thinking": "secret", "signature": "s"}, used("c3", "fetch", url=B)),
        user(result("c3", [document])),
        agent(used("c4", "visit", url=A)),
        user(result("c4", [{"type": "text", "text": "Body"}, {"type": "text", "text": "rest"}])),
        agent(text("Paris")),
    )
    assert shape(one) == [
        ("a", ["search: plain words"]),
        ("b", ['search: (Title: "T a") one two', 'search: (Title: "T g") three', "open: Page", "open: Body rest"]),
    ]
    keys = [seen.document and seen.document.key for seen in one.searches[1].evidence]
    assert keys == [f"url:{A}", "doc:guide.md", f"url:{B}", f"url:{A}"]
    assert one.answer == "Paris"
    assert "secret" not in repr(one)


def test_failed_calls_are_no_evidence() -> None:
    one = rollout(
        agent(
            hosted("s1", "web_search", query="q"), error("web_search_tool_result", "s1"),
            hosted("s2", "web_fetch", url=A), error("web_fetch_tool_result", "s2"),
            used("c1", "search", query="c"),
        ),
        user(result("c1", "some words", is_error=True)),
        agent(text("Paris")),
    )  # fmt: skip
    assert shape(one) == [("q", []), ("c", [])]


def test_a_fetched_file_without_text_is_known_by_its_title_and_what_is_quoted() -> None:
    pdf = fetched("s1", A, type="base64", media_type="application/pdf", data="JVBERi0=")
    one = rollout(agent(hosted("s1", "web_fetch", url=A), pdf, text("Paris", quote(A, "T", "quoted words"))))
    (seen,) = one.searches[0].evidence
    assert (seen.text, seen.status, seen.tool) == ("T quoted words", URL_ONLY, "open")


def test_tools_of_the_vendor_that_do_not_research_are_no_searches() -> None:
    calls = hosted("s1", "tool_search_tool_bm25", query="weather tools"), hosted("s2", "code_execution", code="x")
    one = rollout(agent(*calls, hosted("s3", "web_search", query="q"), hits("s3", A), text("Paris")))
    assert (shape(one), one.setting) == ([("q", ["search: T x"])], WEBQA)


def test_servers_of_the_model_context_protocol_are_read() -> None:
    call = {"type": "mcp_tool_use", "id": "m1", "name": "search", "server_name": "s", "input": {"query": "q"}}
    back = {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [text("found")]}
    assert shape(rollout(agent(call, back, text("Paris")))) == [("q", ["search: found"])]
