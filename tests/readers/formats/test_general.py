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
        "search backend timed out",
        "RuntimeError('down')",
        "ConnectionError: HTTPSConnectionPool(host='x', port=443)",
        "429 Too Many Requests",
        "Encountered error: the tool is down",
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


def test_calls_of_unknown_tools_are_told_also_where_the_format_is_known(tmp_path: Path) -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Which river?"},
        {
            "step_id": 2,
            "source": "agent",
            "message": "Danube",
            "tool_calls": [{"tool_call_id": "1", "function_name": "oracle", "arguments": {"x": 1}}],
            "observation": {"results": [{"source_call_id": "1", "content": "It says Danube."}]},
        },
    ]
    problems: list[Problem] = []
    only(lines(tmp_path, {"schema_version": "ATIF-v1.6", "agent": {"name": "a"}, "steps": steps}), problems)
    assert ["1 tool call seen, none understood: oracle(x)" in problem.reason for problem in problems] == [True]


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


def claude(role: str, *content: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {
        "type": role,
        "message": {"role": role, "content": list(content)},
        "parent_tool_use_id": parent,
        "uuid": "u",
    }


USE = {"type": "tool_use", "id": "1", "name": "mcp__web__look", "input": {"query": "q"}}
RESULT = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": json.dumps(FOUND)}]}
ENDED = {"type": "result", "subtype": "success", "is_error": False, "result": "Danube", "session_id": "s"}


def run_of(folder: Path, *events: dict[str, Any]) -> Rollout:
    return only(lines(folder, *events), [])[1]


def test_pieces_of_what_is_logged_whole_say_nothing(tmp_path: Path) -> None:
    started = {"type": "content_block_start", "content_block": {**USE, "input": {}}}
    said = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Dan"}}
    pieces = [{"type": "stream_event", "event": one, "uuid": "u"} for one in (started, said)]
    rollout = run_of(tmp_path, *pieces[:1], claude("assistant", USE), claude("user", RESULT), *pieces[1:], ENDED)
    assert (rollout.answer, [(one.query, len(one.evidence)) for one in rollout.searches]) == ("Danube", [("q", 1)])


def test_arguments_that_come_later_are_taken_up(tmp_path: Path) -> None:
    item = {"id": "1", "type": "web_search", "query": ""}
    events = [{"type": "item.started", "item": item}, {"type": "item.completed", "item": {**item, "query": "q"}}]
    bare = {"role": "assistant", "content": [{**USE, "input": {}}]}
    said = {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "Danube"}}
    assert [one.query for one in run_of(tmp_path, *events, said).searches] == ["q"]
    rollout = run_of(tmp_path, {"type": "a", "message": bare}, claude("assistant", USE), claude("user", RESULT), ENDED)
    assert [(one.query, len(one.evidence)) for one in rollout.searches] == [("q", 1)]


def test_helpers_of_an_agent_search_but_neither_ask_nor_answer(tmp_path: Path) -> None:
    rollout = run_of(
        tmp_path,
        claude("assistant", {"type": "tool_use", "id": "T", "name": "Task", "input": {"prompt": "Look!"}}),
        claude("user", {"type": "text", "text": "Look!"}, parent="T"),
        claude("assistant", USE, parent="T"),
        claude("user", RESULT, parent="T"),
        claude("assistant", {"type": "text", "text": "Inn"}, parent="T"),
        claude("assistant", {"type": "text", "text": "Danube"}),
    )
    assert (rollout.answer, [one.query for one in rollout.searches]) == ("Danube", ["q"])


def test_the_last_line_of_a_command_answers_unless_it_failed(tmp_path: Path) -> None:
    searched = claude("assistant", USE), claude("user", RESULT)
    structured = {**ENDED, "result": "", "structured_output": {"answer": "Danube"}}
    assert [run_of(tmp_path, *searched, end).answer for end in (ENDED, structured)] == ["Danube", "Danube"]
    assert run_of(tmp_path, *searched, {**ENDED, "subtype": "error_max_turns", "is_error": True}).answer is None
    assert run_of(tmp_path, ENDED).answer == "Danube"


def test_messages_that_do_not_say_their_kind_are_read_by_what_they_have(tmp_path: Path) -> None:
    bare = {"parent_tool_use_id": None, "uuid": "u"}
    rollout = run_of(
        tmp_path,
        {"subtype": "init", "data": {"tools": []}},
        {"content": [{"id": "1", "name": "look", "input": {"query": "q"}}], "model": "m", **bare},
        {"content": [{"tool_use_id": "1", "content": json.dumps(FOUND), "is_error": None}], **bare},
        {"content": [{"text": "Danube"}], "model": "m", **bare},
    )
    assert (rollout.answer, [(one.query, len(one.evidence)) for one in rollout.searches]) == ("Danube", [("q", 1)])


def test_thoughts_and_partial_events_are_no_answer(tmp_path: Path) -> None:
    def event(*parts: dict[str, Any], role: str = "model", **more: Any) -> dict[str, Any]:
        return {"author": "searcher", "content": {"role": role, "parts": list(parts)}, "invocation_id": "e"} | more

    rollout = run_of(
        tmp_path,
        event({"functionCall": {"id": "1", "name": "look", "args": {"query": "q"}}}),
        event({"functionResponse": {"id": "1", "name": "look", "response": {"result": FOUND}}}, role="user"),
        event({"text": "Dan"}, partial=True),
        event({"text": "It may be the Inn.", "thought": True}, {"text": "Danube"}),
        event({"text": "ube"}, partial=True),
    )
    assert (rollout.answer, len(rollout.searches[0].evidence)) == ("Danube", 1)


@pytest.mark.parametrize("spelling", [lambda name: name, lambda name: name.replace("_", "")])
def test_what_google_grounds_an_answer_on_is_a_search(spelling: Any, tmp_path: Path) -> None:
    metadata = {
        "web_search_queries": ["q"],
        "grounding_chunks": [{"web": {"uri": "https://ex.org/v", "title": "Vienna"}}],
        "grounding_supports": [{"segment": {"text": "It is the Danube."}, "grounding_chunk_indices": [0]}],
    }
    plain = {spelling(name): value for name, value in metadata.items()}
    said = {"role": "model", "parts": [{"text": "Danube"}]}
    rollout = run_of(tmp_path, {"author": "a", "content": said, spelling("grounding_metadata"): plain, "timestamp": 1})
    (search,) = rollout.searches
    assert (rollout.answer, search.query, search.evidence[0].url) == ("Danube", "q", "https://ex.org/v")
    assert search.evidence[0].text == "Vienna It is the Danube."


def test_pools_of_bare_transcripts_need_no_text_of_their_own(tmp_path: Path) -> None:
    for record in (
        {"rollouts": [ITEMS, ITEMS]},
        {"question_id": "7", "rollouts": [ITEMS, ITEMS]},
        {"7": [ITEMS, ITEMS]},
    ):
        (pool,) = read_pools(lines(tmp_path, record))
        assert [rollout.answer for rollout in pool.rollouts] == ["Danube", "Danube"]


def test_steps_with_an_action_and_an_observation_are_calls_and_a_numbered_rows_answer_is_the_agents(
    tmp_path: Path,
) -> None:
    written = {"thought": "t", "action": "search", "action_input": "q", "observation": json.dumps(FOUND)}
    nested = {"action": {"tool": "search", "tool_input": "q"}, "content": "x", "observation": json.dumps(FOUND)}
    for step in (written, nested):
        row = {"question_index": 1, "question": "Which river?", "steps": [step], "sample_id": 0, "answer": "Danube"}
        question, rollout = only(lines(tmp_path, row))
        assert (question, rollout.answer, len(rollout.searches[0].evidence)) == ("Which river?", "Danube", 1)


def test_events_of_llama_index_are_one_run_with_and_without_their_kind(tmp_path: Path) -> None:
    def said(text: str) -> dict[str, Any]:
        return {"role": "assistant", "blocks": [{"block_type": "text", "text": text}]}

    asked = {"role": "user", "blocks": [{"block_type": "text", "text": "Which river?"}]}
    call = {"tool_id": "1", "tool_name": "look", "tool_kwargs": {"query": "q"}}
    agent = {"current_agent_name": "A"}
    events: list[dict[str, Any]] = [
        {"input": [asked], **agent},
        {"delta": "", "response": "", "tool_calls": [{**call, "tool_kwargs": {}}], **agent},
        {"response": said("Let me see."), "tool_calls": [call], **agent},
        call,
        {**call, "tool_output": {"raw_output": json.dumps(FOUND), "tool_name": "look", "is_error": False}},
        {"delta": "Dan", "response": "Dan", "tool_calls": [], **agent},
        {"response": said("Danube"), "tool_calls": [call], **agent},
        {"result": {"response": said("Danube"), "tool_calls": [call], **agent}},
    ]
    for named in (events, [{"event": "Kind", **event} for event in events]):
        question, rollout = only(lines(tmp_path, *named))
        assert (question, rollout.answer) == ("Which river?", "Danube")
        assert [(one.query, len(one.evidence)) for one in rollout.searches] == [("q", 1)]


STRUCTURED = {"answer": "Danube", "why": "It flows there."}
AUTOGEN = [
    {"source": "user", "type": "TextMessage", "content": "Which river?"},
    {
        "source": "a",
        "type": "ToolCallRequestEvent",
        "content": [{"id": "1", "name": "search", "arguments": '{"q": "q"}'}],
    },
    {"source": "a", "type": "ToolCallExecutionEvent", "content": [{"call_id": "1", "content": json.dumps(FOUND)}]},
]
LANGGRAPH = [
    {"agent": {"messages": [{"type": "human", "content": "Which river?"}]}},
    {
        "agent": {
            "messages": [
                {"type": "ai", "content": "", "tool_calls": [{"name": "search", "args": {"q": "q"}, "id": "1"}]}
            ]
        }
    },
    {"tools": {"messages": [{"type": "tool", "content": json.dumps(FOUND), "tool_call_id": "1"}]}},
]
FINISHED: dict[str, Any] = {"tool_name_0": "search", "tool_args_0": {"q": "q"}, "observation_0": FOUND}

FINISHED |= {"tool_name_1": "finish", "tool_args_1": {}}
STATES = [*(next(iter(one.values())) for one in LANGGRAPH), {"messages": [], "structured_response": STRUCTURED}]


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [*AUTOGEN, {"source": "a", "type": "StructuredMessage[Answer]", "content": STRUCTURED}]},
        {"steps": [*PYDANTIC[:3], {"kind": "response", "parts": [
            {"part_kind": "tool-call", "tool_name": "final_result", "args": {"river": "Danube"}, "tool_call_id": "2"}
        ]}]},
        {"events": STATES},
        {"question": "Which river?", "trajectory": FINISHED, "reasoning": "hm", "verdict": "Danube"},
    ],
    ids=["a message", "a tool", "a state", "a prediction"],
)  # fmt: skip
def test_a_structured_output_says_the_answer(record: dict[str, Any], tmp_path: Path) -> None:
    question, rollout = only(lines(tmp_path, record))
    assert (question, rollout.answer, len(rollout.searches[0].evidence)) == ("Which river?", "Danube", 1)


def test_what_agents_say_to_each_other_in_the_end_is_no_answer(tmp_path: Path) -> None:
    ends = [
        {"source": name, "type": "TextMessage", "content": text}
        for name, text in (("critic", "APPROVE"), ("a", "TERMINATE"))
    ]
    said = {"source": "a", "type": "TextMessage", "content": "Danube"}
    assert only(lines(tmp_path, {"messages": [*AUTOGEN, said, *ends]}))[1].answer == "Danube"
    assert only(lines(tmp_path, {"messages": [*AUTOGEN, ends[0]]}))[1].answer == "APPROVE"


def test_a_context_that_keeps_its_memory_as_text_is_read(tmp_path: Path) -> None:
    memory = json.dumps({"__is_component": True, "value": {"store": {"chat_history": VERIFIERS}}})
    question, rollout = only(lines(tmp_path, {"state": {"_data": {"memory": memory}}, "is_running": False}))
    assert (question, rollout.answer, len(rollout.searches[0].evidence)) == ("Which river?", "Danube", 1)


def test_an_answer_in_parts_is_all_of_them(tmp_path: Path) -> None:
    thought = {"part_kind": "thinking", "content": "Hm."}
    parts = [thought, {"part_kind": "text", "content": "Dan"}, {"part_kind": "text", "content": "ube"}]
    assert only(lines(tmp_path, [*PYDANTIC[:-1], {"kind": "response", "parts": parts}]))[1].answer == "Danube"


def test_lines_of_one_message_are_its_parts_and_others_are_not(tmp_path: Path) -> None:
    def said(name: str, text: str) -> Any:
        message = {"type": "message", "role": "assistant", "id": name, "content": [{"type": "text", "text": text}]}
        return {"type": "assistant", "session_id": "s", "message": message}

    asked = {"type": "user", "session_id": "s", "message": ASKED}
    call = {"type": "tool_use", "id": "1", "name": "search", "input": {"query": "q"}}
    made = {"type": "assistant", "session_id": "s", "message": {"role": "assistant", "id": "m0", "content": [call]}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": json.dumps(FOUND)}
    back = {"type": "user", "session_id": "s", "message": {"role": "user", "content": [result]}}
    assert only(lines(tmp_path, asked, made, back, said("m1", "Dan"), said("m1", "ube")))[1].answer == "Danube"
    assert only(lines(tmp_path, asked, made, back, said("m1", "So."), said("m2", "Danube")))[1].answer == "Danube"


def test_words_that_a_stream_passes_on_are_said_when_their_part_ends(tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "search", "input": {"query": "q"}}
    back = {"type": "tool-result", "toolCallId": "1", "toolName": "search", "output": FOUND}
    pieces = [{"type": "text-delta", "id": "t", "text": piece} for piece in ("Dan", "ube")]
    events = [call, back, {"type": "text-start", "id": "t"}, *pieces, {"type": "text-end", "id": "t"}]
    assert only(lines(tmp_path, {"question": "Which river?", "events": events}))[1].answer == "Danube"


def test_a_plan_that_is_logged_again_with_its_call_is_no_answer(tmp_path: Path) -> None:
    plan = {"role": "assistant", "content": [{"text": "I will search."}, STRANDS[1]["content"][0]]}
    problems: list[Problem] = []
    _, rollout = only(lines(tmp_path, {"state": [STRANDS[0], plan, STRANDS[2]], "last": [STRANDS[0], plan]}), problems)
    assert rollout.answer is None
    assert problems


def test_tools_that_are_listed_with_their_results_are_calls(tmp_path: Path) -> None:
    used = {"tool_call_id": "1", "tool_name": "search", "tool_args": {"query": "q"}, "result": json.dumps(FOUND)}
    question, rollout = only(lines(tmp_path, {"question": "Which river?", "response": "Danube", "tools": [used]}))
    assert (question, rollout.answer, len(rollout.searches)) == ("Which river?", "Danube", 1)


def test_files_of_stored_messages_and_of_steps_are_runs(tmp_path: Path) -> None:
    stored = [{"message": message, "message_id": place} for place, message in enumerate(STRANDS)]
    assert only(lines(tmp_path, *stored))[1].answer == "Danube"
    parts = [*VERCEL[1]["content"], *VERCEL[2]["content"]]
    steps = [{"stepNumber": 0, "content": parts}, {"stepNumber": 1, "content": VERCEL[3]["content"]}]
    problems: list[Problem] = []
    assert only(lines(tmp_path, *steps), problems)[1].answer == "Danube"


def test_what_stands_before_a_task_is_not_part_of_it(tmp_path: Path) -> None:
    asked = {"role": "user", "content": [{"text": "New task:\nWhich river?"}]}
    assert only(lines(tmp_path, [asked, *STRANDS[1:]]))[0] == "Which river?"


def test_calls_in_one_list_and_their_returns_in_another_belong_together_with_medium_confidence(tmp_path: Path) -> None:
    calls = [{"name": "web_search", "args": {"query": query}, "id": query} for query in ("one", "two")]
    row = {"question": "Which river?", "expected": "Rhine", "answer": "Danube", "tool_calls": calls}
    path = lines(tmp_path, {**row, "tool_outputs": [json.dumps(FOUND), "No results found."]})
    readings: list[str] = []
    (pool,) = iter_pools(path, on_record=readings.append)
    (rollout,) = pool.rollouts
    assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("one", 1), ("two", 0)]
    assert (rollout.answer, readings) == ("Danube", ["general (medium confidence)"])


def test_lists_of_unequal_length_are_not_put_together(tmp_path: Path) -> None:
    calls = [{"name": "web_search", "args": {"query": "one"}, "id": "1"}]
    row = {"question": "Which river?", "expected": "Rhine", "answer": "Danube", "tool_calls": calls}
    problems: list[Problem] = []
    _, rollout = only(lines(tmp_path, {**row, "tool_outputs": ["a", "b"]}), problems)
    assert not any(search.evidence for search in rollout.searches)
    assert problems


def test_a_run_without_a_single_call_is_read_by_its_words_and_the_doubt_is_told(tmp_path: Path) -> None:
    said = ({"source": "user", "content": "Which river?"}, {"source": "researcher", "content": "Danube"})
    events = [{"type": "TextMessage", "id": str(place), **one} for place, one in enumerate(said)]
    problems: list[Problem] = []
    asked, rollout = only(lines(tmp_path, *events), problems)
    assert (asked, rollout.answer, rollout.searches) == ("Which river?", "Danube", ())
    assert any("low confidence" in str(problem) for problem in problems)


def test_a_conversation_without_calls_inside_a_record_stands_beside_others_with_calls(tmp_path: Path) -> None:
    about = {"question": "Which river?", "expected": "Rhine"}
    call = {"id": "1", "type": "function", "function": {"name": "web_search", "arguments": '{"query": "q"}'}}
    made = [ASKED, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "x y"}]
    ends = {"role": "assistant", "content": "Danube"}
    path = lines(tmp_path, {**about, "run": [*made, ends]}, {**about, "run": [ASKED, ends]})
    (pool,) = read_pools(path)
    assert [(one.answer, len(one.searches)) for one in pool.rollouts] == [("Danube", 1), ("Danube", 0)]


def test_in_a_group_that_is_logged_as_users_whoever_speaks_second_answers(tmp_path: Path) -> None:
    said = [{**ASKED, "name": "proxy"}, {"role": "user", "name": "researcher", "content": "Danube"}]
    call = {"id": "1", "type": "function", "function": {"name": "web_search", "arguments": '{"query": "q"}'}}
    called = [said[0], {"role": "assistant", "name": "researcher", "tool_calls": [call]}, said[1]]
    (pool,) = read_pools(lines(tmp_path, {"messages": called}, {"messages": said}))
    assert [one.answer for one in pool.rollouts] == ["Danube", "Danube"]


_INVOCATION = {"state": "result", "toolCallId": "1", "toolName": "lookupDocs", "args": {"query": "q"}, "result": FOUND}


@pytest.mark.parametrize(
    "said",
    [
        {
            "content": "",
            "parts": [{"type": "tool-invocation", "toolInvocation": _INVOCATION}, {"type": "text", "text": "Danube"}],
        },
        {"content": "Danube", "toolInvocations": [_INVOCATION]},
        {"content": {"format": 2, "toolInvocations": [_INVOCATION], "content": "Danube"}},
    ],
    ids=["a part", "beside the words", "a stored message"],
)
def test_a_call_that_keeps_its_own_return_is_done_before_the_words_beside_it(said: Any, tmp_path: Path) -> None:
    problems: list[Problem] = []
    asked, rollout = only(lines(tmp_path, {"messages": [ASKED, {"role": "assistant", **said}]}), problems)
    assert (asked, rollout.answer, problems) == ("Which river?", "Danube", [])
    assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("q", 1)]


@pytest.mark.parametrize(
    ("response", "texts"),
    [
        ({"status": "success", "report": "The Danube it is."}, ["The Danube it is."]),
        ({"status": "success", "data": "The Danube it is."}, ["The Danube it is."]),
        ({"success": True, "error": None, "answer_text": "The Danube it is."}, ["The Danube it is."]),
        ({"status": "error", "report": "no such city"}, []),
        ({"status": "error", "error_message": "no such city"}, []),
    ],
)
def test_a_return_beside_a_status_is_what_it_says(response: Any, texts: list[str], tmp_path: Path) -> None:
    parts = [
        ("user", {"text": "Which river?"}),
        ("model", {"functionCall": {"id": "1", "name": "lookup_docs", "args": {"query": "q"}}}),
        ("user", {"functionResponse": {"id": "1", "name": "lookup_docs", "response": response}}),
        ("model", {"text": "Danube"}),
    ]
    events = [
        {"author": "a" if n else "user", "content": {"role": role, "parts": [part]}}
        for n, (role, part) in enumerate(parts)
    ]
    _, rollout = only(lines(tmp_path, {"app_name": "x", "events": events}))
    assert [seen.text for search in rollout.searches for seen in search.evidence] == texts
