"""Answers that are objects, and questions that come after other words: (record, expected) pairs of several SDKs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import Rollout
from tracerank.readers import iter_pools, pools_of_records, read_pools

PERSON = {"person": "Ada", "why": "She wrote it."}
WHOLE = json.dumps(PERSON)
FOUND = "The first program was written by Ada Lovelace."


def chat(*calls: tuple[str, dict[str, Any], str], said: str | None = None, **fields: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Who wrote it?"}]
    for number, (name, given, output) in enumerate(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
    words = [] if said is None else [{"role": "assistant", "content": said}]
    return {"question": "Who wrote it?", "messages": [*messages, *words], **fields}


def langchain(**fields: Any) -> dict[str, Any]:
    call = {"name": "search", "args": {"query": "who"}, "id": "c1", "type": "tool_call"}
    form = {"name": "Person", "args": PERSON, "id": "c2", "type": "tool_call"}
    return {
        "messages": [
            {"type": "human", "content": "Who wrote it?"},
            {"type": "ai", "content": "", "tool_calls": [call]},
            {"type": "tool", "content": FOUND, "tool_call_id": "c1"},
            {"type": "ai", "content": "", "tool_calls": [form]},
            {"type": "tool", "content": f"Returning structured response: {PERSON}", "tool_call_id": "c2"},
        ],
        **fields,
    }


def agents(output: Any) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"query": "who"}'}
    text = {"type": "output_text", "text": WHOLE, "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "content": [text]}
    items = [call, {"type": "function_call_output", "call_id": "c1", "output": FOUND}, message]
    return {"input": "Who wrote it?", "new_items": [{"raw_item": item} for item in items], "final_output": output}


SEARCH = ("search", {"query": "who"}, FOUND)
RECORDS = {
    "a submission of several fields": chat(SEARCH, ("final_result", PERSON, "Final result processed.")),
    "text that is JSON": chat(SEARCH, said=WHOLE),
    "LangChain's structured response": langchain(structured_response=PERSON),
    "an output type of OpenAI Agents": agents(PERSON),
}


def read(record: dict[str, Any], **options: Any) -> Rollout:
    (pool,) = pools_of_records([record], **options)
    return pool.rollouts[0]


@pytest.mark.parametrize("name", RECORDS)
def test_an_object_without_a_field_called_answer_is_the_answer_and_a_part_of_it_can_be_picked(name: str) -> None:
    assert json.loads(read(RECORDS[name]).answer or "") == PERSON
    assert read(RECORDS[name], answer_field="person").answer == "Ada"
    assert read(RECORDS[name], reader="auto --answer-field person").answer == "Ada"
    assert [search.query for search in read(RECORDS[name]).searches] == ["who"]


def test_files_are_read_with_the_field_as_well(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(RECORDS["text that is JSON"]))
    for pools in (read_pools(path, answer_field="person"), list(iter_pools(path, answer_field="person"))):
        assert [rollout.answer for pool in pools for rollout in pool.rollouts] == ["Ada"]


def test_a_field_called_answer_is_the_answer() -> None:
    assert read(agents({"answer": "Ada", "why": "x"})).answer == "Ada"
    assert read(agents({"answer": "Ada", "person": "Lovelace"}), answer_field="person").answer == "Lovelace"


def turns(*before: tuple[str, str]) -> dict[str, Any]:
    record = chat(SEARCH, said="Ada")
    del record["question"]
    record["messages"][:0] = [{"role": role, "content": text} for role, text in before]
    return record


@pytest.mark.parametrize(
    ("before", "asked"),
    [
        ((), "Who wrote it?"),
        ((("user", "Hello!"), ("assistant", "How can I help?")), "Who wrote it?"),
        (
            (("user", "I read about the first program."), ("assistant", "What about it?")),
            "I read about the first program.\n\nWho wrote it?",
        ),
    ],
)
def test_the_question_is_the_last_thing_asked_before_the_work_began(
    before: tuple[tuple[str, str], ...], asked: str
) -> None:
    record = turns(*before)
    record["messages"] += [
        {"role": "user", "content": "Thanks, and who is she?"},
        {"role": "assistant", "content": "A."},
    ]
    (pool,) = pools_of_records([record])
    assert pool.question.text == asked


def test_chats_that_begin_alike_are_not_one_pool() -> None:
    other = turns(("user", "Hello!"), ("assistant", "How can I help?"))
    asked = next(one for one in other["messages"] if one["content"] == "Who wrote it?")
    asked["content"] = "Who read it?"
    same = turns(("user", "Hello!"), ("assistant", "How can I help?"))
    assert [pool.question.text for pool in pools_of_records([same, other])] == ["Who wrote it?", "Who read it?"]
