"""Logs that do not say what was asked: grouped by names, joined with a table, and told about."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question
from tracerank.readers import Problem, iter_pools, read_pools

FOUND = [{"title": "Vienna", "url": "https://ex.org/v", "snippet": "The Danube flows through Vienna."}]
ASKED = "Which river?"


def events(answer: str, **more: Any) -> list[dict[str, Any]]:
    call = {"id": "item_1", "type": "mcp_tool_call", "tool": "look_up", "arguments": {"query": "q"}}
    returned = {**call, "result": {"content": [{"type": "text", "text": json.dumps(FOUND)}]}, "status": "completed"}
    return [
        {"type": "thread.started", **({"thread_id": "af8be68e-ae50-4caa-9e49-d814948366ba"} | more)},
        {"type": "turn.started"},
        {"type": "item.started", "item": call},
        {"type": "item.completed", "item": returned},
        {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": answer}},
    ]


def prediction(answer: str, **more: Any) -> dict[str, Any]:
    step = {"tool_name_0": "look_up", "tool_args_0": {"query": "q"}, "observation_0": FOUND}
    return {"trajectory": step | {"tool_name_1": "finish", "tool_args_1": {}}, "answer": answer} | more


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def answers(pools: list[Pool]) -> dict[str, list[str | None]]:
    return {pool.question.id: [rollout.answer for rollout in pool.rollouts] for pool in pools}


def read(place: Path, **options: Any) -> tuple[list[Pool], list[str]]:
    problems: list[Problem] = []
    pools = read_pools(place, on_problem=problems.append, **options)
    return pools, [problem.reason for problem in problems]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, answer in (("q0r0", "Danube"), ("q0r1", "Inn"), ("q1r0", "Rome")):
        write(tmp_path / "runs" / f"{name}.jsonl", *events(answer))
    return tmp_path / "runs"


def test_files_with_one_run_each_are_grouped_by_their_names_and_that_is_told_once(runs: Path) -> None:
    pools, problems = read(runs)
    assert answers(pools) == {"q0": ["Danube", "Inn"], "q1": ["Rome"]}
    assert [pool.question.text for pool in pools] == ["", ""]
    assert all(search.evidence for pool in pools for rollout in pool.rollouts for search in rollout.searches)
    assert problems == [
        "the log does not say what was asked: grouped 3 rollouts by file name into 2 questions (q0, q1); "
        "give --questions FILE to say what was asked"
    ]


def test_files_named_one_by_one_are_grouped_like_those_of_a_folder(runs: Path) -> None:
    pools = read_pools(sorted(runs.iterdir()), on_problem=lambda _: None)
    assert answers(pools) == {"q0": ["Danube", "Inn"], "q1": ["Rome"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", f"id,question,references\nq0,{ASKED},Danube\nq1,Which city?,Rome\n"),
        ("q.tsv", f"qid\tquestion\tanswer\nq0\t{ASKED}\tDanube\nq1\tWhich city?\tRome\n"),
        ("q.json", json.dumps({"q0": {"question": ASKED, "answer": "Danube"}, "q1": {"question": "Which city?"}})),
        ("q.jsonl", json.dumps({"id": "q0", "question": ASKED, "answers": ["Danube"]}) + "\n"),
    ],
)
def test_a_table_says_what_was_asked_and_what_is_right(runs: Path, name: str, content: str) -> None:
    table = runs.parent / name
    table.write_text(content)
    pools, problems = read(runs, questions=table)
    assert (pools[0].question.text, pools[0].question.references) == (ASKED, ("Danube",))
    assert ["does not have 1 question (q1)" in one for one in problems[1:]] == ([True] if name == "q.jsonl" else [])


def test_texts_by_id_and_questions_are_tables_too(runs: Path) -> None:
    for table in ({"q0": ASKED, "q1": "Which city?"}, [Question("q0", ASKED), Question("q1", "Which city?")]):
        pools, _ = read(runs, questions=table)
        assert [pool.question.text for pool in pools] == [ASKED, "Which city?"]
    topics = runs.parent / "topics.tsv"
    topics.write_text(f"q0\t{ASKED}\nq1\tWhich city?\n")
    assert [pool.question.text for pool in read(runs, questions=topics)[0]] == [ASKED, "Which city?"]


def test_names_that_do_not_tell_questions_from_runs_are_refused_with_a_way_out(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / "runs" / f"{number}.jsonl", *events("Danube"))
    pools, problems = read(tmp_path / "runs")
    assert (pools, len(problems)) == ([], 1)
    assert "do not tell questions from runs" in problems[0]
    assert "2 rollouts were dropped" in problems[0]
    pools, _ = read(tmp_path / "runs", questions={"1": "First?", "2": "Second?"})
    assert [pool.question.text for pool in pools] == ["First?", "Second?"]
    pools, _ = read(tmp_path / "runs", questions={"river": ASKED})
    assert answers(pools) == {"river": ["Danube", "Danube"]}


def test_several_runs_in_one_file_need_a_word_of_the_user(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", prediction("Danube"), prediction("Inn"), prediction("Rome"))
    pools, problems = read(path)
    assert pools == []
    assert "the file holds 3 runs" in problems[0]
    by_place = [Question("q0", ASKED), Question("q0", ASKED), Question("q1", "Which city?")]
    assert answers(read(path, questions=by_place)[0]) == {"q0": ["Danube", "Inn"], "q1": ["Rome"]}
    assert answers(read(path, questions={"log": ASKED, "x": "?"})[0]) == {"log": ["Danube", "Inn", "Rome"]}
    assert answers(read(path, questions={"x": ASKED})[0]) == {"x": ["Danube", "Inn", "Rome"]}
    assert read(path, questions={"x": ASKED, "y": "?"})[0] == []
    assert answers(read(path, fields={"question_id": "answer"})[0]).keys() == {"Danube", "Inn", "Rome"}


def test_sessions_with_names_tell_several_runs_in_one_file_apart(tmp_path: Path) -> None:
    rows = [{**row, "session_id": name} for name in ("q0r0", "q0r1", "q1r0") for row in events(name)]
    assert answers(read(write(tmp_path / "log.jsonl", *rows))[0]) == {"q0": ["q0r0", "q0r1"], "q1": ["q1r0"]}


def test_a_rollout_without_its_question_among_others_is_dropped_and_told(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", prediction("Danube", question=ASKED), prediction("Inn"))
    pools, problems = read(path)
    assert answers(pools) == {ASKED: ["Danube"]}
    assert ["as it does elsewhere in the file" in problem for problem in problems] == [True]


def test_a_run_that_broke_off_keeps_its_place_among_its_questions(runs: Path) -> None:
    write(runs / "q0r2.jsonl", *events("x")[:-1])
    pools, _ = read(runs)
    assert answers(pools)["q0"] == ["Danube", "Inn", None]


def test_a_table_adds_references_where_the_log_has_the_text_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", {"question": ASKED, "answer": "Danube"}, {"question": "Other?", "answer": "x"})
    table = [Question("q0", f" {ASKED} ", ("Danube",))]
    pools, problems = read(path, questions=table)
    assert [(pool.question.id, pool.question.references) for pool in pools] == [("q0", ("Danube",)), ("Other?", ())]
    assert problems[-1] == "it does not have 1 question (Other?) of the log"


def test_a_table_that_cannot_be_read_is_refused_at_once(runs: Path) -> None:
    with pytest.raises(ReadError, match="no such file"):
        iter_pools(runs, questions=runs / "missing.csv")
