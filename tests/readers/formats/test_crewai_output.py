"""CrewAI: outputs of crews and of tasks, with and without messages, and rows of an output log."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.types import Rollout
from tracerank.readers import Problem, read_pools

Record = dict[str, Any]
QUESTION = "Capital of France?"
FOUND = [{"title": "Paris", "url": "https://ex.org/p", "snippet": "Paris is the capital of France."}]
_CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"query": "capital"}'}}
SEARCHED = (
    {"role": "assistant", "content": "", "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "look_up", "content": json.dumps(FOUND)},
)


def task(description: str, raw: str, *messages: Record, **more: Any) -> Record:
    prompt = f"\nCurrent Task: {description}\n\nThis is the expected criteria for your final answer: A word"
    said = [{"role": "system", "content": "You search."}, {"role": "user", "content": prompt}, *messages]
    return {
        "description": description,
        "expected_output": "A word",
        "raw": raw,
        "agent": "Searcher",
        "output_format": "raw",
        "messages": [*said, {"role": "assistant", "content": raw}],
    } | more


def crew(*tasks: Record, **more: Any) -> Record:
    return {"raw": tasks[-1]["raw"], "pydantic": None, "json_dict": None, "tasks_output": list(tasks)} | more


def read(folder: Path, *records: Any) -> tuple[dict[str, tuple[Rollout, ...]], list[str]]:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    problems: list[Problem] = []
    pools = read_pools(path, on_problem=problems.append)
    return {pool.question.text: pool.rollouts for pool in pools}, [problem.reason for problem in problems]


def test_the_question_is_the_description_and_not_the_prompt_made_of_it(tmp_path: Path) -> None:
    failed = {"tool_name": "look_up", "tool_args": {"query": "capital"}, "failure": {"message": "down"}}
    found, problems = read(tmp_path, crew(task(QUESTION, "Paris", *SEARCHED, tool_failures=[failed])))
    (rollout,) = found[QUESTION]
    assert (rollout.answer, [search.query for search in rollout.searches]) == ("Paris", ["capital"])
    assert (len(rollout.searches[0].evidence), problems) == (1, [])


@pytest.mark.parametrize("wrap", [lambda run: run, lambda run: {"output": run}, lambda run: run["tasks_output"][0]])
def test_what_an_answer_should_look_like_is_no_reference(wrap: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(wrap(crew(task(QUESTION, "Paris", *SEARCHED)))) + "\n")
    (pool,) = read_pools(path)
    assert (pool.question.text, pool.question.references, pool.rollouts[0].answer) == (QUESTION, (), "Paris")


def test_a_stated_question_and_its_references_go_first(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    record = {"inputs": {"question": "Which city?"}, "references": ["Paris"], "result": crew(task(QUESTION, "Paris"))}
    path.write_text(json.dumps(record) + "\n")
    (pool,) = read_pools(path)
    assert (pool.question.text, pool.question.references) == ("Which city?", ("Paris",))


def test_all_tasks_are_searched_and_what_is_not_sure_is_told_once(tmp_path: Path) -> None:
    run = crew(task("Find out about France.", "notes", *SEARCHED), task("Name its capital.", "Paris"))
    found, problems = read(tmp_path, run, run)
    (rollouts,) = found.values()
    assert [(rollout.answer, len(rollout.searches)) for rollout in rollouts] == [("Paris", 1)] * 2
    assert next(iter(found)) == "Find out about France.\n\nName its capital."
    assert ["several tasks" in problem for problem in problems] == [True]


def test_actions_that_a_model_writes_as_text_are_searches(tmp_path: Path) -> None:
    acted = f'Thought: look\nAction: web_search\nAction Input: {{"query": "q"}}\nObservation: {json.dumps(FOUND)}'
    found, _ = read(tmp_path, crew(task(QUESTION, "Paris", {"role": "assistant", "content": acted})))
    (rollout,) = found[QUESTION]
    assert [(search.query, len(search.evidence)) for search in rollout.searches] == [("q", 1)]


def test_a_structured_output_says_the_answer(tmp_path: Path) -> None:
    raw = '{"city": "Paris", "answer": "Paris"}'
    found, _ = read(tmp_path, crew(task(QUESTION, raw, *SEARCHED), json_dict=json.loads(raw)))
    assert found[QUESTION][0].answer == "Paris"


def test_an_output_log_gives_a_rollout_a_completed_task_and_says_that_it_keeps_no_searches(tmp_path: Path) -> None:
    def row(status: str, **more: str) -> Record:
        return {"timestamp": "2026-11-17 00:42:45", "task": QUESTION, "agent": "Searcher", "status": status} | more

    runs = [row("started"), row("completed", output="Paris"), row("started"), row("completed", output="Lyon")]
    for records in (runs, [runs], [runs[:2], runs[2:]]):
        found, problems = read(tmp_path, *records)
        assert [rollout.answer for rollout in found[QUESTION]] == ["Paris", "Lyon"]
        assert ["keeps no searches" in problem for problem in problems] == [True]
    found, problems = read(tmp_path, *runs, row("started"))
    assert [rollout.answer for rollout in found[QUESTION]] == ["Paris", "Lyon", None]
    assert any("did not end" in problem for problem in problems)
