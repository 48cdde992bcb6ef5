"""Transcripts as text: what LangChain itself makes of its messages, and labels that others write before turns."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import Rollout
from tracerank.readers import read_pools
from tracerank.readers.detect import READERS

READER = READERS["langchain"]
ASKED = "Which river flows through Vienna?\nOne word."
ONE, TWO = "[1] Vienna\nhttps://a.org/v\nThe Danube it's.", "A page.\nHuman: no\nAI: The Inn."
LABELLED = (
    "User: Which river?\nAssistant: I look.[{'name': 'web_search', 'args': {'query': 'river'}, 'id': 'c1'}]\n"
    "Tool: The Danube.\nAssistant: Danube"
)


def messages() -> list[Any]:
    library = pytest.importorskip("langchain_core.messages")

    def call(number: int, name: str, **given: object) -> dict[str, object]:
        return {"name": name, "args": given, "id": f"c{number}", "type": "tool_call"}

    return [
        library.SystemMessage("Search first."),
        library.HumanMessage(ASKED),
        library.AIMessage(
            "I look.",
            tool_calls=[call(1, "web_search", query="it's a [river]"), call(2, "web_search", query="Wien Fluß")],
        ),
        library.ToolMessage(TWO, tool_call_id="c1", name="web_search"),
        library.ToolMessage(ONE, tool_call_id="c2", name="web_search"),
        library.AIMessage("", tool_calls=[call(3, "fetch_url", url="https://a.org/v")]),
        library.ToolMessage("", tool_call_id="c3", name="fetch_url"),
        library.AIMessage("Danube"),
    ]


def read(folder: Path, record: dict[str, Any]) -> tuple[str, Rollout, list[str]]:
    path = folder / "log.jsonl"
    path.write_text(json.dumps(record) + "\n")
    problems: list[object] = []
    (pool,) = read_pools(path, on_problem=problems.append)
    (rollout,) = pool.rollouts
    return pool.question.text, rollout, [str(problem) for problem in problems]


def buffer(form: str) -> str:
    return str(pytest.importorskip("langchain_core.messages").get_buffer_string(messages(), format=form))


DUMPS = {
    "prefix": lambda: {"output": buffer("prefix")},
    "elements": lambda: {"log": buffer("xml")},
    "pretty": lambda: {"trace": "\n\n".join(one.pretty_repr() for one in messages())},
    "strings": lambda: {"messages": [str(one) for one in messages()]},
    "printed": lambda: {"messages": [repr(one) for one in messages()]},
    "printed list": lambda: {"result": repr(messages())},
    "printed state": lambda: {"result": repr({"messages": messages(), "steps": 3})},
}


@pytest.mark.parametrize("form", DUMPS)
def test_what_langchain_writes_as_text_is_read_like_its_messages(form: str, tmp_path: Path) -> None:
    asked, rollout, problems = read(tmp_path, DUMPS[form]())
    assert (asked, rollout.answer) == (ASKED, "Danube")
    assert [search.query for search in rollout.searches] == ["it's a [river]", "Wien Fluß"]
    assert [len(search.evidence) for search in rollout.searches] == [1, 1]
    assert rollout.searches[1].evidence[0].url == "https://a.org/v"
    assert any("labels in the text" in told for told in problems) == (form == "prefix")


def test_labels_of_others_are_turns_and_the_doubt_is_told(tmp_path: Path) -> None:
    asked, rollout, problems = read(tmp_path, {"question": "Which river?", "expected": "x", "response": LABELLED})
    assert (asked, rollout.answer, len(rollout.searches)) == ("Which river?", "Danube", 1)
    assert any("labels in the text" in told for told in problems)


def test_a_return_that_no_call_asked_for_is_told(tmp_path: Path) -> None:
    text = "User: Which river?\nAssistant: I look.\nTool: The Danube.\nAssistant: Danube"
    _, rollout, problems = read(tmp_path, {"question": "Which river?", "expected": "x", "output": text})
    assert rollout.answer == "Danube"
    assert any("1 return without a call" in told for told in problems)


@pytest.mark.parametrize("text", ["Human: only a question?", "AI: Danube", "The AI: a history", "User: a\nUser: b"])
def test_words_that_merely_look_like_turns_are_none(text: str) -> None:
    assert not READER.recognises({"question": "Which river?", "response": text})


def test_a_prompt_is_no_transcript() -> None:
    assert not READER.recognises({"prompt": LABELLED, "response": "Danube"})


def test_many_labels_take_no_longer_than_many_lines() -> None:
    text = "User: q\nAI: a[{'name': 'search'}]\n" + "AI: [{'\n]\n" * 20_000
    assert READER.recognises({"output": text})  # all of it is what the call waits for
