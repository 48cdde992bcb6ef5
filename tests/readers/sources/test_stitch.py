"""Files whose lines are pieces of runs: events, updates of nodes, calls of a model, states that grow, rows of tasks."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.readers import read_pools
from tracerank.readers.base import RecordAt
from tracerank.readers.sources.stitch import goes_on, runs_in

Record = dict[str, Any]
ASKED = "Which river?"
FOUND = json.dumps([{"title": "Vienna", "url": "https://ex.org/v", "snippet": "The Danube flows through Vienna."}])
HUMAN = {"type": "human", "content": ASKED}
CALLING = {"type": "ai", "content": "", "tool_calls": [{"name": "look", "args": {"query": "q"}, "id": "1"}]}
RETURNED = {"type": "tool", "content": FOUND, "tool_call_id": "1", "name": "look"}
SAID = {"type": "ai", "content": "Danube"}
UPDATES = [
    {"agent": {"messages": [CALLING]}},
    {"tools": {"messages": [RETURNED]}},
    {"grade": {"score": "yes"}},
    {"check": None},
    {"agent": {"messages": [SAID]}},
]
STATES = [{"messages": [HUMAN, CALLING, RETURNED, SAID][:count]} for count in range(1, 5)]


def piece(name: str, content: str, *calls: Record) -> list[Record]:
    chunk = {"type": "AIMessageChunk", "id": name, "content": content, "tool_calls": [], "tool_call_chunks": calls}
    return [chunk, {"langgraph_step": 1}]


CHUNKS = [
    piece("r1", "", {"name": "look", "args": "", "id": "1", "index": 0}),
    piece("r1", "", {"name": None, "args": '{"que', "id": None, "index": 0}),
    piece("r1", "", {"name": None, "args": 'ry": "q"}', "id": None, "index": 0}),
    [RETURNED, {"langgraph_step": 2}],
    *(piece("r2", part) for part in ("Dan", "ube", "")),
]
STREAMS = {
    "updates": UPDATES,
    "updates with modes": [["updates", update] for update in UPDATES],
    "updates of subgraphs": [[["sub:1"], "updates", update] for update in UPDATES],
    "updates of subgraphs without modes": [[[], update] for update in UPDATES if None not in update.values()],
    "events of the second version": [{"type": "updates", "ns": [], "data": update} for update in UPDATES],
    "messages in pieces": CHUNKS,
    "messages in pieces with modes": [["messages", chunk] for chunk in CHUNKS],
    "states": STATES,
    "states with modes": [["values", state] for state in STATES],
    "states and updates": [["values", STATES[0]], *(["updates", one] for one in UPDATES), ["values", STATES[3]]],
}


def rollouts(folder: Path, *rows: Any, name: str = "q0_r1.jsonl") -> list[tuple[str | None, list[tuple[Any, int]]]]:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    pools = read_pools(folder / name, on_problem=lambda _: None)
    return [
        (rollout.answer, [(search.query, len(search.evidence)) for search in rollout.searches])
        for pool in pools
        for rollout in pool.rollouts
    ]


@pytest.mark.parametrize("name", STREAMS)
def test_a_graphs_stream_is_one_run_line_by_line_and_as_a_list(name: str, tmp_path: Path) -> None:
    stream = STREAMS[name]
    assert rollouts(tmp_path, *stream) == [("Danube", [("q", 1)])]
    assert rollouts(tmp_path, stream) == [("Danube", [("q", 1)])]


def test_records_by_id_that_begin_with_a_question_are_no_updates(tmp_path: Path) -> None:
    rows = [{name: {"messages": [{**HUMAN, "content": f"{name}?"}, CALLING, RETURNED, SAID]}} for name in ("a", "b")]
    assert rollouts(tmp_path, *rows) == [("Danube", [("q", 1)])] * 2


def test_states_that_grow_are_one_run_and_equal_rollouts_are_several(tmp_path: Path) -> None:
    assert rollouts(tmp_path, *STATES, *STATES) == [("Danube", [("q", 1)])] * 2
    assert rollouts(tmp_path, *[STATES[3]] * 3) == [("Danube", [("q", 1)])] * 3


@pytest.mark.parametrize(
    ("old", "new", "is_more"),
    [
        ({"a": [1]}, {"a": [1, 2]}, True),
        ({"a": [1]}, {"a": [1], "b": 2}, True),
        ({"a": None, "b": 1}, {"a": 2, "b": 1}, True),
        ({"a": [1]}, {"a": [1]}, False),
        ({"a": [1], "sample_id": 0}, {"a": [1, 2], "sample_id": 1}, False),
        ({"a": [1, 3]}, {"a": [1, 2, 3]}, False),
        ({"a": [1], "b": 1}, {"a": [1, 2]}, False),
    ],
)
def test_a_record_goes_on_with_another_if_it_holds_all_of_it_and_more(old: Record, new: Record, is_more: bool) -> None:
    assert goes_on(old, new) is is_more


def logged(trace: str, messages: list[Record], reply: str | Record) -> Record:
    said = {"role": "assistant", "content": reply} if isinstance(reply, str) else reply
    return {"trace_id": trace, "messages": messages, "response": {"choices": [{"message": said}]}}


def test_calls_of_one_trace_are_one_run_also_where_actions_are_text(tmp_path: Path) -> None:
    asked = {"role": "user", "content": ASKED}
    acted = {"role": "assistant", "content": "Thought: hm\nAction: search\nAction Input: q"}
    seen = {"role": "user", "content": f"Observation: {FOUND}"}
    rows = [
        *(logged(trace, [asked], acted) for trace in "ab"),
        *(logged(trace, [asked, acted, seen], f"Final Answer: {trace}") for trace in "ab"),
    ]
    assert rollouts(tmp_path, *rows) == [("a", [("q", 1)]), ("b", [("q", 1)])]
    again = [{**row, "trace_id": "same"} for row in (*rows[::2], *rows[1::2])]
    assert rollouts(tmp_path, *again) == [("a", [("q", 1)]), ("b", [("q", 1)])]


def test_responses_that_end_in_calls_go_on_with_the_next_one(tmp_path: Path) -> None:
    def response(*items: Record, **more: Any) -> Record:
        return {"output": list(items), "usage": {}, "response_id": None} | more

    def calling(name: str) -> Record:
        return {"type": "function_call", "call_id": name, "name": "look", "arguments": '{"query": "q"}'}

    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Danube"}]}
    run = [response(calling("1")), response(calling("2")), response(said)]
    expected = ("Danube", [("q", 0), ("q", 0)])
    assert rollouts(tmp_path, *run) == [expected]
    assert rollouts(tmp_path, run) == [expected]
    named = [RecordAt(record, f"f:{place}", 1) for place, record in enumerate((*run, *run))]
    assert [item.source for item in runs_in(named)] == ["f:0", "f:3"]
    linked = [response(calling("1"), id="r1"), response(said, previous_response_id="r1"), response(said)]
    items = [RecordAt(record, f"f:{place}", 1) for place, record in enumerate(linked)]
    assert [len(item.value["output"]) for item in runs_in(items)] == [2, 1]


def test_rollouts_that_name_their_sample_keep_their_place_and_are_never_taken_for_one(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ann"}]
    rows = [
        {"question_id": "b", "question": "Who?", "sample_id": 0, "answer": "Ann", "messages": said},
        {"question_id": "b", "question": "Who?", "sample_id": 1, "answer": "Bob", "messages": [*said, *said]},
        {"question_id": "a", "question": "Why?", "sample_id": 0, "answer": "So"},
    ]
    path = tmp_path / "pools.jsonl"
    path.write_text("".join(json.dumps({"schema": "tracerank-rollout/1", **row}) + "\n" for row in rows))
    pools = read_pools(path)
    assert [(pool.question.id, len(pool.rollouts)) for pool in pools] == [("b", 2), ("a", 1)]


def test_snapshots_of_a_graph_are_one_run_from_the_first_on_and_from_the_last_on(tmp_path: Path) -> None:
    snapshots = [{"values": state, "next": [], "metadata": {"step": place}} for place, state in enumerate(STATES)]
    expected = [("Danube", [("q", 1)])]
    assert (
        rollouts(tmp_path, *snapshots)
        == rollouts(tmp_path, *snapshots[::-1], {**snapshots[0], "values": {}})
        == expected
    )
    # Of states that are no snapshots, one that breaks off is a rollout of its own.
    assert len(rollouts(tmp_path, STATES[3], STATES[0])) == 2


CHAT_ASKED = {"role": "user", "content": ASKED}
CHAT_CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"query": "q"}'}}
CHAT_CALLS = {"role": "assistant", "content": "I look.", "tool_calls": [CHAT_CALL]}
CHAT_RETURNED = {"role": "tool", "tool_call_id": "1", "content": FOUND}
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "search", "input": {"query": "q"}}]}
USED_RETURNED = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": FOUND}]}
APART: dict[str, list[tuple[list[Record], Record]]] = {
    "chat": [
        ([CHAT_ASKED], CHAT_CALLS),
        ([CHAT_ASKED, CHAT_CALLS, CHAT_RETURNED], {"role": "assistant", "content": "Danube"}),
    ],
    "messages": [
        ([CHAT_ASKED], USED),
        ([CHAT_ASKED, USED, USED_RETURNED], {"role": "assistant", "content": [{"type": "text", "text": "Danube"}]}),
    ],
}


@pytest.mark.parametrize("spelling", ["request", "kwargs", "json"])
@pytest.mark.parametrize("vendor", APART)
def test_calls_whose_request_and_reply_stand_apart_are_one_run(vendor: str, spelling: str, tmp_path: Path) -> None:
    def row(messages: list[Record], reply: Record) -> Record:
        replied = {"choices": [{"message": reply}]} if vendor == "chat" else {"type": "message", **reply}
        if spelling == "json":
            return {"request_id": "r", "messages": json.dumps(messages), "response": json.dumps(replied)}
        answered = "response" if spelling == "request" else "response_obj"
        return {spelling: {"model": "m", "messages": messages}, answered: replied, "latency": 3}

    rows = [row(*one) for one in APART[vendor]]
    assert rollouts(tmp_path, *rows) == [("Danube", [("q", 1)])]
    assert rollouts(tmp_path, {"question": ASKED, "calls": rows}) == [("Danube", [("q", 1)])]


def test_a_reply_with_words_before_its_call_goes_on_as_well(tmp_path: Path) -> None:
    plan = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
    call = {"type": "function_call", "call_id": "1", "name": "search", "arguments": '{"query": "q"}'}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Danube"}]}
    rows = [{"question": ASKED, "object": "response", "output": output} for output in ([plan, call], [said])]
    assert rollouts(tmp_path, *rows) == [("Danube", [("q", 0)])]


def test_a_stream_that_ends_with_a_list_of_its_events_is_one_run(tmp_path: Path) -> None:
    call = {"id": "1", "name": "search", "arguments": '{"query": "q"}'}
    events = [
        {"source": "user", "type": "TextMessage", "content": ASKED},
        {"source": "a", "type": "ToolCallRequestEvent", "content": [call]},
        {"source": "a", "type": "ToolCallExecutionEvent", "content": [{"call_id": "1", "content": FOUND}]},
        {"source": "a", "type": "TextMessage", "content": "Danube"},
    ]
    assert rollouts(tmp_path, *events, {"messages": events, "stop_reason": None}) == [("Danube", [("q", 1)])]


def test_pieces_of_words_behind_the_last_call_are_the_answer(tmp_path: Path) -> None:
    tool = {"tool_call_id": "1", "tool_name": "search", "tool_args": {"query": "q"}, "result": FOUND}
    said = [{"event": "RunContent", "run_id": "r", "session_id": "s", "content": piece} for piece in ("Dan", "ube")]
    rows = [
        {"event": "RunContent", "run_id": "r", "session_id": "s", "content": "I look."},
        {"event": "ToolCallCompleted", "run_id": "r", "session_id": "s", "tool": tool},
        *said,
        {"event": "RunCompleted", "run_id": "r", "session_id": "s", "content": "I look.Danube"},
    ]
    assert rollouts(tmp_path, *rows) == [("Danube", [("q", 1)])]


def test_a_request_and_a_response_in_objects_of_their_own_are_one_run(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "search", "arguments": '{"query": "q"}'}
    back = {"type": "function_call_output", "call_id": "c", "output": FOUND}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Danube"}]}
    path = tmp_path / "log.jsonl"
    for given, output in ((ASKED, [call, back, said]), ([{"role": "user", "content": ASKED}, call, back], [said])):
        path.write_text(json.dumps({"request": {"model": "m", "input": given}, "response": {"output": output}}))
        (pool,) = read_pools(path)
        assert (pool.question.text, [one.answer for one in pool.rollouts]) == (ASKED, ["Danube"])
        assert len(pool.rollouts[0].searches[0].evidence) == 1
