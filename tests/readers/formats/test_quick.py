"""Records that are made to be slow."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracerank.readers.detect import READERS

A = "https://a.org/x"
SECONDS = 20


@contextmanager
def quick() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def searches(name: str, record: dict[str, Any]) -> int:
    return len(READERS[name].parse(record, "log.jsonl:1").rollout.searches)


def call(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "search", "arguments": '{"query": "q"}'}}


def test_very_many_unanswered_calls() -> None:
    messages: list[Any] = [{"role": "user", "content": "Who?"}]
    messages += [{"role": "assistant", "content": None, "tool_calls": [call(f"c{n}")]} for n in range(5000)]
    messages += [{"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(0, 5000, 2)]
    with quick():
        assert searches("openai-chat", {"messages": messages}) == 5000


def test_very_many_items_and_citations() -> None:
    text = "x" * 1000
    cited = [
        {"type": "url_citation", "url": f"https://a.org/{n % 100}", "title": "T", "start_index": 0, "end_index": 1}
        for n in range(3000)
    ]
    action = {"type": "search", "query": "q", "sources": [{"type": "url", "url": A}]}
    items: list[Any] = [{"type": "web_search_call", "id": f"ws_{n}", "action": action} for n in range(3000)]
    part = {"type": "output_text", "text": text, "annotations": cited}
    items.append({"type": "message", "role": "assistant", "content": [part]})
    with quick():
        assert searches("openai-responses", {"input": "Which city?", "output": items}) == 3000


def test_delegates_that_name_each_other_again_and_again() -> None:
    ref = [{"trajectory_id": "t1"}]
    steps: list[Any] = [{"source": "user", "message": "Which city?"}]
    for n in range(800):
        made = {"tool_call_id": f"c{n}", "function_name": "search", "arguments": {"query": "q"}}
        seen = {"source_call_id": f"c{n}", "content": "x", "subagent_trajectory_ref": ref}
        steps.append({"source": "agent", "tool_calls": [made], "observation": {"results": [seen]}})
    whole = {"schema_version": "ATIF-v1.6", "steps": steps}
    inner = {**whole, "trajectory_id": "t1", "subagent_trajectories": [{**whole, "trajectory_id": "t1"}]}
    with quick():
        assert searches("atif", {**whole, "subagent_trajectories": [inner]}) == 2400


def test_labels_in_a_text() -> None:
    text = "User: q\nAI: a[{'name': 'search'}]\n" + "AI: [{'\n]\n" * 20_000
    with quick():
        assert READERS["langchain"].recognises({"output": text})  # all of it is what the call waits for
