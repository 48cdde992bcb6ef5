"""A question on which the method fails: told, written down, and no harm to the others; exit code 3."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, json_lines
from tracerank.cli.output import SOME_FAILED
from tracerank.pools.pool import Pool
from tracerank.selectors.meaning import selector as shipped

LIST_OF_NUMBERS = f"[{','.join(map(str, range(1700)))}]"


@pytest.fixture
def bad(pools: list[Pool], monkeypatch: pytest.MonkeyPatch) -> Pool:
    """The third question, on which the shipped selector fails."""
    sound = shipped.meaning_table

    def failing(question: str, *rest: Any) -> Any:
        if question == pools[2].question.text:
            raise OverflowError("math range error")
        return sound(question, *rest)

    monkeypatch.setattr(shipped, "meaning_table", failing)
    return pools[2]


def test_select_writes_a_line_for_every_question_and_ends_with_3(
    run: Run, world: Path, pools: list[Pool], bad: Pool, tmp_path: Path
) -> None:
    output, problems = tmp_path / "out.jsonl", tmp_path / "problems.jsonl"
    result = run("select", world, "-o", output, "--problems", problems)
    assert result.exit_code == SOME_FAILED
    found = json_lines(output.read_text())
    assert [record["question_id"] for record in found] == [pool.question.id for pool in pools]
    assert [record["answer"] is None for record in found] == [pool is bad for pool in pools]
    assert found[2]["problem"].startswith("OverflowError: math range error (")
    [problem] = json_lines(problems.read_text())
    assert problem["source"].startswith(str(world))
    assert repr(bad.question.id) in problem["reason"]
    assert f": 1 of {len(pools)} questions failed, the first because OverflowError: math range error (" in result.stderr
    assert "Traceback" not in result.output


def test_a_run_that_goes_on_still_knows_what_was_not_decided_before(
    run: Run, world: Path, bad: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.jsonl"
    with monkeypatch.context() as context:
        context.setattr("os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert run("select", world, "-o", output).exit_code == 130
    assert (tmp_path / "out.jsonl.part").exists()
    assert run("select", world, "-o", output).exit_code == SOME_FAILED


def test_evaluate_counts_it_as_wrong_and_ends_with_3(run: Run, world: Path, pools: list[Pool], bad: Pool) -> None:
    result = run("evaluate", world, "-k", "2,6", "--json")
    assert result.exit_code == SOME_FAILED
    rows = json.loads(result.stdout)["rows"]
    assert {row["questions"] for row in rows} == {len(pools)}
    assert (
        f": 2 of {2 * len(pools)} decisions failed, the first because OverflowError: math range error ("
        in result.stderr
    )
    assert "; they count as wrong; the same command tries them again" in result.stderr


def test_the_viewer_leaves_it_out_and_ends_with_3(run: Run, world: Path, bad: Pool, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("view", world, "-o", page)
    assert result.exit_code == SOME_FAILED
    assert ": 1 questions failed, the first because OverflowError: math range error (" in result.stderr
    assert "; they are not on the page" in result.stderr
    assert page.stat().st_size > 0


def test_a_list_of_numbers_is_an_answer_like_any_other(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    answers = [LIST_OF_NUMBERS, "Paris", "Paris"]
    lines = [json.dumps({"question": "Which list?", "answer": answer, "searches": []}) for answer in answers]
    path.write_text("\n".join(lines))
    result = run("select", path)
    assert result.exit_code == 0, result.output
    assert json_lines(result.stdout)[0]["answer"] == "Paris"
