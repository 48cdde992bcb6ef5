"""Plain files on the command line: answers come back as they were, fields by ``--map``, and what is missing is told."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of

FIB = "def fib(n):\n    a, b = 0, 1\n    while a < n:\n        a, b = b, a + b\n    return a"
QUESTION = "Write a function."


def chat(folder: Path, *answers: str) -> Path:
    path = folder / "chats.jsonl"
    turns = ([{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer}] for answer in answers)
    path.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in turns))
    return path


def test_code_that_select_returns_still_runs(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert run("select", chat(tmp_path, FIB, FIB, "I cannot."), "-o", out).exit_code == 0
    [record] = json_lines(out.read_text())
    assert record["answer"] == FIB
    compile(record["answer"], "answer", "exec")


def test_converting_and_selecting_changes_no_byte(run: Run, tmp_path: Path) -> None:
    nested = "- a\n  - b\r\n\t- c  \n\u00a0d e\u0301"
    path = chat(tmp_path, nested, nested)
    for options in ([], ["--to", "atif"]):
        pools = tmp_path / f"pools{len(options)}.jsonl"
        assert run("convert", path, "-o", pools, *options).exit_code == 0
        [record] = json_lines(run("select", pools).stdout)
        assert record["answer"] == nested


def test_a_decision_without_evidence_says_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,answer\nCapital of France?,Paris\nCapital of France?,Rome\nCapital of France?,Paris.\n")
    result = run("select", path)
    [record] = json_lines(result.stdout)
    assert (record["answer"].strip("."), record["note"]) == ("Paris", "no evidence: only the answers were compared")
    assert "1 questions without evidence: only the answers were compared" in result.stderr


@pytest.mark.parametrize("command", [["select"], ["stats"], ["inspect"], ["evaluate", "--methods", "majority"]])
def test_every_command_that_reads_takes_a_map(run: Run, tmp_path: Path, command: list[str]) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"ask": "Capital of France?", "reply": answer, "truth": "Paris"} for answer in ("Paris", "Rome")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fitting = "question=ask,answer=reply,references=truth"
    assert f"try --map {fitting}; " in error_of(run(*command, path))
    assert run(*command, path, "--map", fitting).exit_code == 0
    assert "expected OUR=THEIR names" in error_of(run(*command, path, "--map", "question"))


@pytest.mark.parametrize("command", [["select"], ["stats"], ["inspect"], ["evaluate", "--methods", "majority"]])
def test_every_command_that_reads_takes_a_table_of_questions(run: Run, tmp_path: Path, command: list[str]) -> None:
    step = {"tool_name_0": "search", "tool_args_0": {"query": "q"}, "observation_0": "Paris is the capital."}
    for name in ("q0r0", "q0r1"):
        row = {"trajectory": step | {"tool_name_1": "finish", "tool_args_1": {}}, "answer": "Paris"}
        (tmp_path / f"{name}.json").write_text(json.dumps(row))
    table = tmp_path / "questions.csv"
    table.write_text("id,question,references\nq0,Capital of France?,Paris\n")
    result = run(*command, *sorted(tmp_path.glob("q0*")), "--map", "answer=answer", "--questions", table)
    assert result.exit_code == 0
    assert command != ["select"] or json_lines(result.stdout)[0]["question"] == "Capital of France?"
    assert "no such file" in error_of(run(*command, tmp_path / "q0r0.json", "--questions", tmp_path / "none.csv"))


def test_a_run_that_goes_on_goes_on_with_the_same_map(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text(json.dumps({"question": "Capital of France?", "first": "Paris", "second": "Rome"}) + "\n")
    (tmp_path / "out.jsonl.part").write_text("")
    for name, answer in (("first", "Paris"), ("second", "Rome")):
        assert run("select", path, "-o", out, "--map", f"answer={name}", "--force").exit_code == 0
        assert json_lines(out.read_text())[0]["answer"] == answer


def test_inspect_tells_the_drops_of_the_selector_that_will_choose(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"question": "Q?", "sample_id": place, "answer": answer, "searches": []} for place, answer in enumerate("ab ")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = json.loads(run("inspect", path, "--json").stdout)
    assert {reason: entry["count"] for reason, entry in found["dropped"].items()} == {"no answer": 1}
    assert found["dropped_by"] == "default"
    [record] = json_lines(run("select", path).stdout)
    assert len(record["dropped"]) == 1
    assert "never chosen by the shipped selector" in run("inspect", path).stdout
    named = json.loads(run("inspect", path, "--checkpoint", "default", "--json").stdout)
    assert named["dropped"] == found["dropped"]


@pytest.mark.parametrize(
    ("answers", "is_warned"), [(["It is Paris.", "Rome", "Paris, of course"], True), (["Paris"], False)]
)
def test_where_exact_match_misleads_a_line_says_so(
    run: Run, tmp_path: Path, answers: list[str], is_warned: bool
) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"question": "What is the capital of France?", "answer": answer, "expected": "Paris"} for answer in answers]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    warning = "exact match misleads here: by it 0.0% of 3 answers are right, by meaning 66.7%"
    told = " ".join(json.loads(run("inspect", path, "--json").stdout)["warnings"])
    assert (warning in told, warning in run("evaluate", path, "--methods", "majority").stderr) == (is_warned, is_warned)
