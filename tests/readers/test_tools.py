"""Tools of the user's own: said with ``tools=`` or ``--tools``, and proposed where calls are not taken for research."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import UsageError
from tracerank.pools.types import Search
from tracerank.readers import read_pools
from tracerank.readers.sources.field_map import spelled_with
from tracerank.readers.tools import TOOL_NAMES, ToolCall

FOUND = "The Danube is the river that flows through Vienna. " * 6
CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("zork", {"for_what": "river vienna", "n": 3}, FOUND),
    ("lift", {"what": "doc-7"}, "A whole page about the Danube. " * 10),
)


def chat() -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which river?"}]
    for name, given, output in CALLS:
        function = {"name": name, "arguments": json.dumps(given)}
        messages.append({"role": "assistant", "tool_calls": [{"id": name, "type": "function", "function": function}]})
        messages.append({"role": "tool", "tool_call_id": name, "content": output})
    return {"messages": [*messages, {"role": "assistant", "content": "Danube"}]}


def dspy() -> dict[str, Any]:
    steps = [
        f"[[ ## tool_name_{n} ## ]]\n{name}\n[[ ## tool_args_{n} ## ]]\n{json.dumps(given)}\n"
        f"[[ ## observation_{n} ## ]]\n{output}"
        for n, (name, given, output) in enumerate(CALLS)
    ]
    asked = "[[ ## question ## ]]\nWhich river?\n" + "\n".join(steps)
    said = "[[ ## answer ## ]]\nDanube\n[[ ## completed ## ]]"
    return {"messages": [{"role": "user", "content": asked}], "outputs": [said], "model": "m"}


def span(number: int, kind: str, **attributes: Any) -> dict[str, Any]:
    found = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    parent = {"parentSpanId": "0" * 15 + "1"} if number else {}
    return {
        "traceId": "a" * 32,
        "spanId": f"{number + 1:016x}",
        "name": kind,
        "attributes": found,
        **parent,
        "startTimeUnixNano": number + 1,
    }


def spans() -> dict[str, Any]:
    rows = [
        span(
            0, "agent", **{"openinference.span.kind": "AGENT", "input.value": "Which river?", "output.value": "Danube"}
        )
    ]
    for number, (name, given, output) in enumerate(CALLS, start=1):
        about = {"tool.name": name, "input.value": json.dumps(given), "output.value": output}
        rows.append(span(number, name, **{"openinference.span.kind": "TOOL", **about}))
    return {"resourceSpans": [{"scopeSpans": [{"spans": rows}]}]}


def read(folder: Path, record: dict[str, Any], **options: Any) -> tuple[tuple[Search, ...], list[str]]:
    path = folder / "log.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    problems: list[object] = []
    (pool,) = read_pools(path, on_problem=problems.append, **options)
    (rollout,) = pool.rollouts
    assert rollout.answer == "Danube"
    return rollout.searches, [str(problem) for problem in problems]


@pytest.mark.parametrize("made", [chat, dspy, spans])
def test_tools_of_any_name_are_read_as_the_user_says_in_every_format(made: Any, tmp_path: Path) -> None:
    searches, problems = read(tmp_path, made(), tools={"zork": "search:for_what", "lift": "open:what"})
    assert [(one.query, [seen.tool for seen in one.evidence]) for one in searches] == [
        ("river vienna", ["search", "open"])
    ]
    assert not any("--tools" in problem for problem in problems)


@pytest.mark.parametrize("made", [chat, dspy, spans])
def test_calls_that_are_not_taken_for_research_come_with_the_line_to_add(made: Any, tmp_path: Path) -> None:
    searches, problems = read(tmp_path, made())
    assert not searches
    assert sum("--tools zork=search:for_what,lift=search:what" in problem for problem in problems) == 1


def test_the_line_stands_in_the_name_of_a_reader_with_a_map_and_questions(tmp_path: Path) -> None:
    asked = tmp_path / "questions.jsonl"
    asked.write_text('{"question_id": "q1", "question": "Which river?"}\n')
    reader = spelled_with("auto", "question_id=run", "zork=search:for_what", questions=asked)
    searches, _ = read(tmp_path, {**chat(), "run": "q1"}, reader=reader)
    assert [one.query for one in searches] == ["river vienna"]


def test_what_a_tool_does_is_one_of_four_words() -> None:
    with pytest.raises(UsageError, match="expected NAME=search, open, find or other"):
        TOOL_NAMES.with_tools("lookup=read")
    call = ToolCall("mcp__kb__lookup", {"for_what": "x"})
    assert TOOL_NAMES.with_tools("lookup=search:for_what").applied(call).arguments["query"] == "x"
