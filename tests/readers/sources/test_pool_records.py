"""A question and all its rollouts in one record, whatever the rollouts look like."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracerank as tr
from tracerank.pools.pool import Pool
from tracerank.readers import Problem, pools_of_records

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
    assert [pool.question.text for pool in tr.read_pools(path)] == [row["question"] for row in rows]


def test_what_is_no_transcript_keeps_its_place_and_costs_nobody_else_his() -> None:
    record = {"question": QUESTION, "rollouts": [{"messages": chat("Oslo")}, None, 5, {"messages": chat("Rome")}]}
    (pool,), _ = read(record)
    assert [rollout.answer for rollout in pool.rollouts] == ["Oslo", None, None, "Rome"]


def test_a_reader_may_be_named() -> None:
    (pool,), _ = read({"question": QUESTION, "rollouts": [chat("Oslo"), chat("Rome")]}, reader="openai-chat")
    assert len(pool) == 2


def test_places_name_the_rollout_within_its_pool(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    path.write_text(json.dumps({"question": QUESTION, "rollouts": [chat("Oslo"), chat("Rome")]}) + "\n")
    (pool,) = tr.read_pools(path)
    assert [rollout.source for rollout in pool.rollouts] == [f"{path}:1:rollouts[{n}]" for n in range(2)]
