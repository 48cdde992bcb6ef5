"""LangChain messages in three serialisations, with artifacts, content blocks, and the steps of an executor."""

import json
from collections.abc import Callable
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
from tracerank.readers.formats.walked import ANTHROPIC, LANGCHAIN, OPENAI_RESPONSES
from tracerank.readers.formats.webqa import WebQAReader

READER = LANGCHAIN
OTHERS = (
    CanonicalReader(), WebQAReader(), SearchR1Reader(), BrowsingReader(), OPENAI_RESPONSES, ANTHROPIC,
    ChatReader(),
)  # fmt: skip
Message = dict[str, Any]
A, B = "https://a.org/x", "https://b.org/y"


def human(content: Any) -> Message:
    return {"type": "human", "content": content}


def ai(content: Any = "", *calls: Message, **fields: Any) -> Message:
    return {"type": "ai", "content": content, "tool_calls": list(calls), **fields}


def call(call_id: str, name: str, **arguments: Any) -> Message:
    return {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}


def tool(call_id: str, content: Any, **fields: Any) -> Message:
    return {"type": "tool", "content": content, "tool_call_id": call_id, "status": "success", **fields}


SEARCHED = (ai("", call("c1", "search", query="q")), tool("c1", "found"))


def record(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"messages": [human("Which city?"), *messages], **fields}


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*messages: Any, **fields: Any) -> Rollout:
    return parse(record(*messages, **fields)).rollout


def serialisations() -> list[Callable[[Any], Any]]:
    messages = pytest.importorskip("langchain_core.messages", reason="needs langchain-core")
    load = pytest.importorskip("langchain_core.load", reason="needs langchain-core")
    return [
        messages.message_to_dict, load.dumpd, lambda message: message.model_dump(),
        lambda message: json.loads(message.model_dump_json(exclude_none=True)),
    ]  # fmt: skip


def test_all_serialisations_of_the_library_read_the_same() -> None:
    lc = pytest.importorskip("langchain_core.messages", reason="needs langchain-core")
    documents = pytest.importorskip("langchain_core.documents", reason="needs langchain-core")
    found = documents.Document(page_content="about x", metadata={"source": A, "title": "T x"})
    state = [
        lc.SystemMessage("You help."),
        lc.HumanMessage([{"type": "text", "text": "Which city?"}]),
        lc.AIMessage("Let me look.", tool_calls=[
            {"name": "search", "args": {"query": "a"}, "id": "c1"},
            {"name": "search", "args": {"query": "b"}, "id": "c2"},
        ]),
        lc.ToolMessage("for the model", tool_call_id="c2", status="error"),
        lc.ToolMessage("for the model", tool_call_id="c1", artifact=[found]),
        lc.AIMessage("", tool_calls=[{"name": "visit_webpage", "args": {"url": A}, "id": "c3"}]),
        lc.ToolMessage([{"type": "text", "text": "Whole page"}], tool_call_id="c3"),
        lc.AIMessage("Exact Answer: Paris\nConfidence: 80%"),
    ]  # fmt: skip
    for dump in serialisations():
        messages = [dump(message) for message in state]
        for row in (
            {"messages": messages},
            {"question": "Which city?", "output": {"messages": messages}},
            {"input": "Which city?", "messages": json.dumps(messages)},
            {"input": {"messages": messages[:2]}, "output": {"messages": messages[2:]}},
            {"inputs": {"question": "Which city?"}, "outputs": {"messages": messages[2:]}},
            {"values": {"messages": messages}, "next": [], "config": {}},
        ):
            assert READER.recognises(row)
            assert not any(other.recognises(row) for other in OTHERS)
            parsed = parse(row)
            one = parsed.rollout
            assert parsed.question.text == "Which city?"
            assert (one.answer, one.confidence, one.setting) == ("Paris", 0.8, BROWSING)
            assert shape(one) == [("a", ['search: (Title: "T x") about x', "open: Whole page"]), ("b", [])]
            assert [seen.url for seen in one.searches[0].evidence] == [A, A]


OPENAI = [
    {"type": "web_search_call", "id": "ws_1", "status": "completed",
     "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": A}]}},
    {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": B}},
    {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": ["f"],
     "results": [{"file_id": "f1", "filename": "a.pdf", "text": "Body", "score": 0.5}]},
    {"type": "mcp_call", "id": "m_1", "name": "search", "server_label": "s", "arguments": '{"query": "m"}',
     "output": "seen"},
    {"type": "text", "text": "Paris", "annotations": [
        {"type": "url_citation", "url": A, "title": "T", "start_index": 0, "end_index": 5}]},
]  # fmt: skip
ANTHROPIC = [
    {"type": "text", "text": "I will search."},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
        {"type": "web_search_result", "url": A, "title": "T", "encrypted_content": "c2VjcmV0", "page_age": None}]},
    {"type": "server_tool_use", "id": "s2", "name": "web_fetch", "input": {"url": B}},
    {"type": "web_fetch_tool_result", "tool_use_id": "s2", "content": {
        "type": "web_fetch_result", "url": B, "content": {
            "type": "document", "source": {"type": "text", "data": "Page"}, "title": "T b"}}},
    {"type": "text", "text": "Par", "citations": [
        {"type": "web_search_result_location", "url": A, "title": "T", "cited_text": "Paris it is"}]},
    {"type": "text", "text": "is"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "content", "expected"),
    [
        ("openai", OPENAI, [
            ("q", ["search: T Paris", f"open: {B}"]),
            ("f", ['search: (Title: "a.pdf") Body']),
            ("m", ["search: seen"]),
        ]),
        ("anthropic", ANTHROPIC, [("q", ["search: T Paris it is", "open: Page"])]),
    ],
)  # fmt: skip
def test_hosted_tools_are_read_in_the_vendors_spelling_and_in_langchains(
    provider: str, content: list[Message], expected: list[Any]
) -> None:
    lc = pytest.importorskip("langchain_core.messages", reason="needs langchain-core")
    raw = lc.AIMessage(content, response_metadata={"model_provider": provider})
    standard = lc.AIMessage(content_blocks=raw.content_blocks)
    assert raw.content != standard.content
    for message in (raw, standard):
        for dump in serialisations():
            one = rollout(dump(message))
            assert shape(one) == expected
            assert one.answer == "Paris"
            assert one.searches[0].evidence[0].status == URL_ONLY
            assert "c2VjcmV0" not in repr(one)


def test_hosted_calls_that_older_versions_keep_beside_the_content_are_read() -> None:
    kept = {"tool_outputs": [OPENAI[0]]}
    assert shape(rollout(ai([OPENAI[-1]], additional_kwargs=kept))) == [("q", ["search: T Paris"])]


def test_a_failed_hosted_search_shows_nothing() -> None:
    asked = {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"query": "q"}}
    failed = {"type": "server_tool_result", "tool_call_id": "s1", "status": "error", "output": {"error_code": "down"}}
    assert shape(rollout(ai([asked, failed, {"type": "text", "text": "Paris"}]))) == [("q", [])]


def test_calls_are_read_from_the_raw_reply_where_nothing_else_has_them() -> None:
    raw = {
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"query": "q"}'}}]
    }
    assert shape(rollout(ai("", additional_kwargs=raw), tool("c1", "found"))) == [("q", ["search: found"])]
    legacy = {"function_call": {"name": "search", "arguments": '{"query": "q"}'}}
    back = {"type": "function", "name": "search", "content": "found"}
    assert shape(rollout(ai("", additional_kwargs=legacy), back)) == [("q", ["search: found"])]
    broken = {"name": "search", "args": "{'query': 'q'", "id": "c1", "error": "no JSON", "type": "invalid_tool_call"}
    assert shape(rollout(ai("", invalid_tool_calls=[broken]), tool("c1", "found"))) == [("q", ["search: found"])]


def test_the_steps_of_an_executor_are_read() -> None:
    agents = pytest.importorskip("langchain_core.agents", reason="needs langchain-core")
    load = pytest.importorskip("langchain_core.load", reason="needs langchain-core")
    first = agents.AgentAction(tool="search", tool_input={"query": "q"}, log="Thought: secret")
    second = agents.AgentAction(tool="search", tool_input="plain words", log="")
    for dump in (load.dumpd, lambda action: action.model_dump()):
        steps = [[dump(first), "found"], [dump(second), "more"]]
        row = {"input": "Which city is it?", "output": "Exact Answer: Paris", "intermediate_steps": steps}
        assert READER.recognises(row)
        parsed = parse(row)
        assert (parsed.question.text, parsed.rollout.answer) == ("Which city is it?", "Paris")
        assert shape(parsed.rollout) == [("q", ["search: found"]), ("plain words", ["search: more"])]
        assert parsed.rollout.setting == WEBQA
        assert "secret" not in repr(parsed.rollout)
