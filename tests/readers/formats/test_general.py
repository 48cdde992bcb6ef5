"""Formats that nobody named: calls, returns and words by shape, and what is told when that does not do."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import Rollout
from tracerank.readers import Problem, iter_pools, read_pools

FOUND = [{"title": "Vienna", "url": "https://ex.org/v", "snippet": "The Danube flows through Vienna."}]
ASKED = {"role": "user", "content": "Which river?"}


def lines(folder: Path, *records: Any) -> Path:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def only(path: Path, problems: list[Problem] | None = None) -> tuple[str, Rollout]:
    (pool,) = read_pools(path, on_problem=([] if problems is None else problems).append)
    (rollout,) = pool.rollouts
    return pool.question.text, rollout


STRANDS = [
    {"role": "user", "content": [{"text": "Which river?"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "web_search", "input": {"query": "q"}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": json.dumps(FOUND)}]}}]},
    {"role": "assistant", "content": [{"text": "Danube"}]},
]
VERCEL = [
    ASKED,
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "webSearch", "input": {"query": "q"}}],
    },
    {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "1", "output": {"type": "json", "value": FOUND}}],
    },
    {"role": "assistant", "content": [{"type": "text", "text": "Danube"}]},
]
PYDANTIC = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Which river?"}]},
    {
        "kind": "response",
        "parts": [{"part_kind": "tool-call", "tool_name": "search", "args": '{"query": "q"}', "tool_call_id": "1"}],
    },
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "search", "content": FOUND, "tool_call_id": "1"}],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": "Danube"}]},
]
HAYSTACK = [
    {"role": "user", "content": [{"text": "Which river?"}]},
    {"role": "assistant", "content": [{"tool_call": {"tool_name": "search", "arguments": {"query": "q"}, "id": "1"}}]},
    {"role": "tool", "content": [{"tool_call_result": {"result": json.dumps(FOUND), "origin": {"id": "1"}}}]},
    {"role": "assistant", "content": [{"text": "Danube"}]},
]
ITEMS = [
    ASKED,
    {"type": "function_call", "call_id": "1", "name": "search", "arguments": '{"query": "q"}'},
    {"type": "function_call_output", "call_id": "1", "output": json.dumps(FOUND)},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Danube"}]},
]
CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"query": "q"}'}}
RETURNED = {"role": "tool", "tool_call_id": "1", "content": json.dumps(FOUND)}
VERIFIERS = [
    ASKED,
    {"role": "assistant", "content": "", "tool_calls": [json.dumps(CALL)]},
    RETURNED,
    {"role": "assistant", "content": "Danube"},
]
RUNS = {"strands": STRANDS, "vercel": VERCEL, "pydantic": PYDANTIC, "haystack": HAYSTACK, "items": ITEMS} | {
    "verifiers": VERIFIERS
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_read_as_a_field_as_a_bare_list_and_line_by_line(name: str, tmp_path: Path) -> None:
    run = RUNS[name]
    for records in ([{"messages": run}], [run], run):
        problems: list[Problem] = []
        question, rollout = only(lines(tmp_path, *records), problems)
        assert (question, rollout.answer, problems) == ("Which river?", "Danube", [])
        assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("q", 1)]


@pytest.mark.parametrize("name", RUNS)
def test_bare_lists_are_rollouts_line_by_line_and_inside_a_pool(name: str, tmp_path: Path) -> None:
    run = RUNS[name]
    pooled = {"question": "Which river?", "rollouts": [run, run]}
    for records in ([run, run], [pooled]):
        (pool,) = read_pools(lines(tmp_path, *records))
        assert [rollout.answer for rollout in pool.rollouts] == ["Danube", "Danube"]
        assert all(search.evidence for rollout in pool.rollouts for search in rollout.searches)


def test_react_steps_in_runs_are_not_taken_for_the_papers_rows(tmp_path: Path) -> None:
    step = {"thought": "t", "action": "search", "action_input": "q", "observation": json.dumps(FOUND)}
    runs = [{"answer": answer, "steps": [step]} for answer in ("Danube", "Inn")]
    (pool,) = read_pools(lines(tmp_path, {"question": "Which river?", "references": ["Danube"], "runs": runs}))
    assert [rollout.answer for rollout in pool.rollouts] == ["Danube", "Inn"]
    assert [search.query for search in pool.rollouts[0].searches] == ["q"]
    assert pool.question.references == ("Danube",)


def test_a_log_of_the_askers_side_keeps_its_question(tmp_path: Path) -> None:
    history = [
        {"role": "assistant", "name": "proxy", "content": "Which river?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "content": "both", "tool_responses": [{"tool_call_id": "1", "content": json.dumps(FOUND)}]},
        {"role": "user", "name": "searcher", "content": "Danube TERMINATE"},
    ]
    question, rollout = only(lines(tmp_path, {"chat_history": history}))
    assert (question, rollout.answer, len(rollout.searches[0].evidence)) == ("Which river?", "Danube", 1)


def test_calls_of_a_model_that_go_on_with_each_other_are_one_run(tmp_path: Path) -> None:
    def logged(messages: list[Any], reply: dict[str, Any]) -> dict[str, Any]:
        return {"trace_id": str(len(messages)), "messages": messages, "response": {"choices": [{"message": reply}]}}

    calling = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    said = {"role": "assistant", "content": "Danube"}
    question, rollout = only(lines(tmp_path, logged([ASKED], calling), logged([ASKED, calling, RETURNED], said)))
    assert (question, rollout.answer, len(rollout.searches)) == ("Which river?", "Danube", 1)


@pytest.mark.parametrize(
    "output",
    [
        "An error occurred while running the tool. Please try again. Error: timed out",
        "Execution error in search: \nTraceback (most recent call last):\n" + "  File x\n" * 100,
    ],
)
def test_what_a_tool_says_of_its_failure_is_no_evidence(output: str, tmp_path: Path) -> None:
    run = [*ITEMS[:2], {**ITEMS[2], "output": output}, ITEMS[3]]
    _, rollout = only(lines(tmp_path, {"messages": run}))
    assert [(search.query, search.evidence) for search in rollout.searches] == [("q", ())]


def test_calls_that_nobody_understands_are_told_with_their_keys(tmp_path: Path) -> None:
    run = [
        ASKED,
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "oracle", "arguments": '{"x": 1}'}}]},
        RETURNED,
        {"role": "assistant", "content": "Danube"},
    ]
    problems: list[Problem] = []
    only(lines(tmp_path, {"messages": run}), problems)
    assert [problem.reason for problem in problems] == [
        "1 tool call seen, none understood: oracle(x); the rollout has no evidence"
    ]


def test_a_run_whose_question_or_answer_cannot_be_told_is_a_problem(tmp_path: Path) -> None:
    problems: list[Problem] = []
    read_pools(lines(tmp_path, {"parts": STRANDS[1:]}, {"parts": STRANDS[:3]}), on_problem=problems.append)
    found = {problem.source.rpartition(":")[2]: problem.reason for problem in problems}
    assert "does not say what was asked" in found["1"]
    assert "the answer cannot be told" in found["2"]


def test_the_reading_says_how_sure_it_is(tmp_path: Path) -> None:
    names: list[str] = []
    list(iter_pools(lines(tmp_path, {"messages": STRANDS}), on_record=names.append))
    assert names == ["general (high confidence)"]
