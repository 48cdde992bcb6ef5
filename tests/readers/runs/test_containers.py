"""Objects around records: containers, whole pools in one record, and a user's own record around a dump."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.pool import Pool
from tracerank.readers import pools_of_records, read_pools
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.runs.containers import dump_in, parts_of, records_in, unwrapped
from tracerank.readers.runs.transcripts import as_record
from tracerank.readers.sources.json_lines import iter_records

ROWS = [{"question": "a?", "prediction": "x"}, {"question": "b?", "prediction": "y"}]


def items(folder: Path, content: Any, indent: int | None = None) -> list[RecordAt | Problem]:
    path = folder / "file.json"
    path.write_bytes(gzip.compress(json.dumps(content, indent=indent).encode()))
    return list(iter_records(path))


def values(folder: Path, content: Any, indent: int | None = None) -> list[Any]:
    return [item.value for item in items(folder, content, indent) if isinstance(item, RecordAt)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("key", ["per_item", "results", "samples", "data"])
def test_a_list_of_records_under_a_key_is_taken_apart(tmp_path: Path, key: str, indent: int | None) -> None:
    content = {"config": {"top_k": 5, "prompt": "Answer:"}, "summary": {"em": 0.5}, key: ROWS}
    assert values(tmp_path, content, indent) == ROWS
    assert items(tmp_path, content, indent)[1].source.endswith(f":{key}[1]")


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_of_records_is_taken_apart_and_each_keeps_its_key(tmp_path: Path, indent: int | None) -> None:
    found = items(tmp_path, {"6238": ROWS[0], "77": ROWS[1]}, indent)
    assert [item.value for item in found if isinstance(item, RecordAt)] == [
        {"record_key": "6238", **ROWS[0]},
        {"record_key": "77", **ROWS[1]},
    ]
    assert found[0].source.endswith(":[6238]")


def test_several_records_under_one_key_share_a_question(tmp_path: Path) -> None:
    assert values(tmp_path, {"q1": ROWS, "q2": ROWS[:1]}) == [
        {"question_id": "q1", **ROWS[0]},
        {"question_id": "q1", **ROWS[1]},
        {"question_id": "q2", **ROWS[0]},
    ]


def test_a_damaged_record_in_a_container_does_not_cost_its_siblings(tmp_path: Path) -> None:
    found = items(tmp_path, {"results": [ROWS[0], None, ROWS[1], {"junk": 1}, ROWS[0]]})
    assert [isinstance(item, Problem) for item in found] == [False, True, False, False, False]
    assert found[1].source.endswith("results[1]")


def test_the_parts_share_the_bytes_of_the_whole(tmp_path: Path) -> None:
    whole = len(json.dumps({"results": ROWS}))
    assert [item.size for item in items(tmp_path, {"results": ROWS}) if isinstance(item, RecordAt)] == [whole // 2] * 2


@pytest.mark.parametrize(
    "record",
    [
        {"question": "a?", "results": [{"query": "q"}]},
        {"messages": [], "data": ROWS},
        {"query_id": "7", "samples": ROWS},
        {"data": [{"id": 1, "type": "SPAN", "input": "x"}]},
        {"results": [{"title": "t", "url": "u"}]},
        {"resourceSpans": [{"scopeSpans": []}]},
        {"usage": {"prompt_tokens": 1}, "metrics": {"em": 1}},
        {"config": {"a": 1}, "result": {"question": "a?"}},
        {"results": []},
        {"results": {"a": 1}, "x": 2},
        {},
    ],
)
def test_what_may_be_a_record_itself_is_left_alone(record: dict[str, Any]) -> None:
    assert parts_of(record) is None


def test_a_bare_list_of_messages_or_steps_is_one_record(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Which?"}, {"role": "assistant", "content": "x"}]
    steps = [{"task": "Which?"}, {"step_number": 1, "observations": "x"}]
    assert values(tmp_path, messages) == [{"messages": messages}]
    assert values(tmp_path, steps) == [{"steps": steps}]
    assert values(tmp_path, [messages, messages]) == [{"messages": messages}] * 2


@pytest.mark.parametrize("rows", [[], ROWS, [{"role": "user"}, 1], [{"step_number": 1}, {"x": 1}], ["a"]])
def test_a_list_of_records_stays_one(rows: list[Any]) -> None:
    assert as_record(rows) is None
    assert records_in(rows) is rows


# ---- pools in one record

QUESTION = "What is the capital of Norway?"


def chat(answer: str) -> list[dict[str, Any]]:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "Norway"}'}}
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "c",
            "content": json.dumps([{"title": "Norway", "text": "Its capital is Oslo."}]),
        },
        {"role": "assistant", "content": f"Final Answer: {answer}"},
    ]


def tags(answer: str) -> str:
    found = "Doc 1(Title: Norway) Its capital is Oslo."
    return f"<search>Norway</search>\n<information>{found}</information>\n<answer>{answer}</answer>"


def read(*records: dict[str, Any], reader: str = "auto") -> tuple[list[Pool], list[Problem]]:
    problems: list[Problem] = []
    return pools_of_records(records, reader, problems.append), problems


@pytest.mark.parametrize("key", ["rollouts", "trajectories", "samples", "attempts", "runs", "responses", "completions"])
@pytest.mark.parametrize(
    "shape",
    [
        lambda answer: {"messages": chat(answer)},
        lambda answer: {"messages": chat(answer), "answer": answer, "id": f"rollout-{answer}"},
        lambda answer: {"conversation": chat(answer), "sample_id": len(answer)},
        lambda answer: {"trace": chat(answer)},
        chat,
        tags,
        lambda answer: {"response": tags(answer)},
        lambda answer: {
            "answer": answer,
            "searches": [{"query": "Norway", "evidence": [{"text": "Its capital is Oslo.", "title": "Norway"}]}],
        },
    ],
)
def test_a_pool_in_one_record_is_taken_apart(key: str, shape: Callable[[str], Any]) -> None:
    record = {"id": 7, "question": QUESTION, "answer": "Oslo", key: [shape("Oslo"), shape("Bergen")]}
    (pool,), problems = read(record)
    assert not problems
    assert (pool.question.id, pool.question.text, pool.question.references) == ("7", QUESTION, ("Oslo",))
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo", "Bergen"]
    assert all("Its capital is Oslo." in r.searches[0].evidence[0].text for r in pool.rollouts)


def test_the_answer_of_a_rollout_is_never_its_reference() -> None:
    record = {"question": QUESTION, "rollouts": [{"messages": chat("Bergen"), "answer": "Bergen"}] * 2}
    (pool,), _ = read(record)
    assert pool.question.references == ()
    assert all(rollout.label is None for rollout in pool.rollouts)


def test_the_prompt_of_a_pool_is_its_question() -> None:
    record = {
        "prompt": QUESTION,
        "reference": "Oslo",
        "samples": [{"messages": chat("Oslo")}, {"messages": chat("Rome")}],
    }
    (pool,), _ = read(record)
    assert (pool.question.text, pool.question.references, len(pool)) == (QUESTION, ("Oslo",), 2)


def test_a_file_of_results_with_questions_of_their_own_is_no_pool(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    rows = [{"question": f"{QUESTION} {n}", "messages": chat("Oslo")} for n in range(3)]
    path.write_text(json.dumps({"task": "our evaluation run", "results": rows}, indent=1))
    assert [pool.question.text for pool in read_pools(path)] == [row["question"] for row in rows]


def test_what_is_no_transcript_keeps_its_place_and_costs_nobody_else_his() -> None:
    record = {"question": QUESTION, "rollouts": [{"messages": chat("Oslo")}, None, 5, {"messages": chat("Rome")}]}
    (pool,), _ = read(record)
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo", None, None, "Rome"]


def test_a_bare_text_among_others_with_tags_is_what_the_agent_said() -> None:
    tagged = "<search>capital</search>\n<information>Oslo is the capital.</information>\n<answer>Oslo</answer>"
    (pool,), problems = read({"question": QUESTION, "rollouts": [tagged, "Bergen"]})
    assert [(one.answer, len(one.searches)) for one in pool.rollouts] == [("Oslo", 1), ("Bergen", 0)]
    assert not problems


def test_a_reader_may_be_named() -> None:
    (pool,), _ = read({"question": QUESTION, "rollouts": [chat("Oslo"), chat("Rome")]}, reader="openai-chat")
    assert len(pool) == 2


def test_places_name_the_rollout_within_its_pool(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    path.write_text(json.dumps({"question": QUESTION, "rollouts": [chat("Oslo"), chat("Rome")]}) + "\n")
    (pool,) = read_pools(path)
    assert [rollout.source for rollout in pool.rollouts] == [f"{path}:1:rollouts[{n}]" for n in range(2)]


# ---- dumps in records of the user

ABOUT = {"question": QUESTION, "expected": "Oslo"}
ASKER_FIRST = [{**chat("Oslo")[0], "role": "assistant"}, *chat("Oslo")[1:3], {"role": "user", "content": "Oslo"}]
"""AG2's history, of which the one who asks is the assistant: only a reader that knows chats turns it round."""


@pytest.mark.parametrize("name", ["run", "dump", "transcript", "result"])
@pytest.mark.parametrize("pack", [list, json.dumps, lambda messages: {"messages": messages, "cost": 1}])
def test_a_dump_is_read_as_it_stands_under_any_name_and_as_json(name: str, pack: Any) -> None:
    (pool,), problems = read({**ABOUT, name: pack(ASKER_FIRST)})
    (rollout,) = pool.rollouts
    assert (pool.question.text, pool.question.references) == (QUESTION, ("Oslo",))
    assert (rollout.answer, len(rollout.searches[0].evidence), problems) == ("Oslo", 1, [])


def test_what_was_asked_may_stand_in_an_object_beside_the_dump() -> None:
    (pool,), _ = read({"task": ABOUT, "result": {"messages": chat("Bergen"), "turns": 2}})
    assert (pool.question.text, pool.question.references) == (QUESTION, ("Oslo",))
    assert [rollout.answer for rollout in pool.rollouts] == ["Bergen"]


def test_an_example_and_a_prediction_are_a_question_and_a_run() -> None:
    steps = {"tool_name_0": "search", "tool_args_0": {"query": "q"}, "observation_0": [{"title": "T", "text": "x"}]}
    made = {"trajectory": {**steps, "tool_name_1": "finish", "tool_args_1": {}}, "answer": "Bergen"}
    (pool,), _ = read({"example": {"question": QUESTION, "answer": "Oslo"}, "prediction": made, "score": 0.0})
    assert pool.question.references == ("Oslo",)
    assert [rollout.answer for rollout in pool.rollouts] == ["Bergen"]


def test_number_label_and_answer_of_the_run_may_stand_around_the_dump() -> None:
    (pool,), _ = read({**ABOUT, "sample_id": 7, "correct": True, "answer": "Bergen", "run": chat("Oslo")})
    (rollout,) = pool.rollouts
    assert (rollout.sample_id, rollout.label, rollout.answer) == (7, 1.0, "Bergen")


def test_the_reference_that_comes_with_a_dump_is_not_what_was_said() -> None:
    row = {"prompt": chat("x")[:1], "completion": chat("Bergen")[1:], "answer": "Oslo", "reward": 0.0}
    (pool,), _ = read({**ABOUT, "rollouts": [row]})
    assert [rollout.answer for rollout in pool.rollouts] == ["Bergen"]


def test_two_dumps_or_no_question_are_no_wrapping() -> None:
    assert dump_in({**ABOUT, "a": chat("x"), "b": chat("y")}) is None
    assert dump_in({**ABOUT, "run": "no dump", "more": "[broken" + " x" * 40}) is None
    dump = dump_in({"run": chat("x")})
    assert dump is not None
    assert unwrapped({"run": chat("x")}, dump) is None


def test_pools_of_dumps_of_any_shape_are_taken_apart() -> None:
    def dump(answer: str) -> dict[str, Any]:
        said = [{"source": "user", "content": QUESTION}, {"source": "agent", "content": answer}]
        call = {"id": "1", "name": "search", "arguments": {"query": "q"}, "output": [{"title": "T", "text": "x"}]}
        return {"state": {"llm_context": [said[0], call, said[1]]}}

    (pool,), _ = read({"question": QUESTION, "runs": [dump("Oslo"), dump("Bergen")]})
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo", "Bergen"]


def test_replies_of_a_model_in_one_run_are_no_pool() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "search", "arguments": '{"query": "q"}'}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Oslo"}]}
    replies = [{"object": "response", "output": [call]}, {"object": "response", "output": [said]}]
    (pool,), _ = read({"question": QUESTION, "responses": replies})
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo"]


def test_runs_with_an_id_of_their_own_are_one_pool_of_their_question() -> None:
    rows = [{"id": f"run{place}", "question": QUESTION, "run": chat(answer)} for place, answer in enumerate("ab")]
    (pool,), problems = read(*rows)
    assert (pool.question.id, [rollout.answer for rollout in pool.rollouts]) == ("run0", ["a", "b"])
    assert ["several values of 'id'" in str(problem) for problem in problems] == [True]
    pools, problems = read(*({"question_id": row["id"], **row} for row in rows))
    assert (len(pools), problems) == (2, [])
