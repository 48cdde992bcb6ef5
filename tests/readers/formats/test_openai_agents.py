"""Runs of the OpenAI Agents SDK, made by running the SDK on a scripted model where it is installed."""

import json
from typing import Any

import pytest

from tests.readers.shapes import shape
from tracerank.pools.types import BROWSING, WEBQA, Rollout
from tracerank.readers.base import Parsed
from tracerank.readers.detect import READERS

READER = READERS["openai-agents"]
RESPONSES = READERS["openai-responses"]
Item = dict[str, Any]
A, B = "https://a.org/x", "https://b.org/y"
FOUND = [{"title": "T x", "url": A, "snippet": "about x"}]


def call(call_id: str, name: str, **arguments: Any) -> Item:
    raw = {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    return {"type": "tool_call_item", "raw_item": raw}


def output(call_id: str, text: str, value: Any = None) -> Item:
    raw = {"type": "function_call_output", "call_id": call_id, "output": text}
    return {"type": "tool_call_output_item", "raw_item": raw, "output": text if value is None else value}


def message(text: str) -> Item:
    part = {"type": "output_text", "text": text, "annotations": []}
    raw = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {"type": "message_output_item", "raw_item": raw}


def record(*items: Item, **fields: Any) -> dict[str, Any]:
    return {"input": "Which city?", "new_items": list(items), **fields}


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*items: Item, **fields: Any) -> Rollout:
    return parse(record(*items, **fields)).rollout


def run_of_the_sdk() -> Any:
    """A run with a search, a page, a hosted search and an answer; the model is scripted, all else is the SDK."""
    agents = pytest.importorskip("agents", reason="needs openai-agents")
    testing = pytest.importorskip("agents.testing", reason="needs a newer openai-agents")
    types = pytest.importorskip("openai.types.responses")
    agents.set_tracing_disabled(True)

    @agents.function_tool
    def web_search(query: str) -> list[dict[str, str]]:
        return FOUND

    @agents.function_tool
    def visit(url: str) -> str:
        return "Whole page"

    hosted = types.ResponseFunctionWebSearch.model_validate(
        {
            "id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "hosted", "sources": [{"type": "url", "url": B}]},
        }
    )  # fmt: skip
    script = [
        [testing.function_call("web_search", {"query": "q"}, call_id="c1")],
        [testing.function_call("visit", {"url": A}, call_id="c2")],
        [hosted, testing.assistant_message("Exact Answer: Paris\nConfidence: 70%")],
    ]
    agent = agents.Agent(name="a", model=testing.ScriptedModel(script), tools=[web_search, visit])
    return agents.Runner.run_sync(agent, "Which city?")


def test_a_run_of_the_sdk_reads_the_same_in_every_dump() -> None:
    result = run_of_the_sdk()
    state = json.loads(json.dumps(result.to_state().to_json()))
    items = [
        {"type": item.type, "raw_item": raw if isinstance(raw, dict) else raw.model_dump(mode="json")}
        | ({"output": item.output} if hasattr(item, "output") else {})
        for item in result.new_items
        for raw in (item.raw_item,)
    ]
    dumped = {"input": result.input, "new_items": items, "final_output": result.final_output}
    for reader, row in (
        (READER, state),
        (READER, dumped),
        (READER, {**dumped, "new_items": json.dumps(items)}),
        (RESPONSES, {"items": result.to_input_list()}),
        (RESPONSES, {"input": result.to_input_list()}),
    ):
        assert [one.recognises(row) for one in (READER, RESPONSES, READERS["openai-chat"])] == [
            reader is READER,
            reader is RESPONSES,
            False,
        ]
        parsed = reader.parse(row, "log.jsonl:1")
        one = parsed.rollout
        assert (parsed.question.text, one.answer, one.confidence) == ("Which city?", "Paris", 0.7)
        assert one.setting == BROWSING
        assert [one.query for one in one.searches] == ["q", "hosted"]
        assert [seen.url for search in one.searches for seen in search.evidence][-2:] == [A, B]
    seen = parse(dumped).rollout.searches[0].evidence
    assert [one.text for one in seen] == ['(Title: "T x") about x', "Whole page"]


def test_what_a_tool_returned_is_preferred_to_its_spelling_as_text() -> None:
    one = rollout(call("c1", "search", query="q"), output("c1", repr(FOUND), FOUND), message("Paris"))
    assert shape(one) == [("q", ['search: (Title: "T x") about x'])]
    assert one.setting == WEBQA


def test_the_first_words_of_the_user_are_the_question() -> None:
    given_items = [{"role": "user", "content": "Which city?"}, {"role": "user", "content": "Answer now."}]
    parsed = parse(record(message("Paris"), input=given_items))
    assert parsed.question.text == "Which city?"
    parsed = parse(record(message("Paris"), question="Which town?", qid=7, sample_id=2))
    assert (parsed.question.id, parsed.question.text, parsed.rollout.sample_id) == ("7", "Which town?", 2)
