"""Reading problems and the last line: ten problems on stderr, the rest counted, all of them in a file on request."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tracerank.cli.reading import Problems
from tracerank.readers.files.records import Problem


def damaged(world: Path, folder: Path, lines: int) -> Path:
    path = folder / "pools.jsonl"
    path.write_bytes(world.read_bytes() + b"nonsense\n" * lines)
    return path


@pytest.mark.parametrize(("count", "shown", "rest"), [(1, 1, None), (10, 10, None), (13, 10, "and 3 more; ")])
def test_at_most_ten_problems_are_shown(
    run: Run, world: Path, tmp_path: Path, count: int, shown: int, rest: str | None
) -> None:
    result = run("select", damaged(world, tmp_path, count), "--method", "majority", "--quiet")
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert sum(line.startswith("problem: ") for line in lines) == shown
    assert lines[shown:] == ([] if rest is None else [f"{rest}--problems FILE.jsonl lists them all"])


def test_a_file_takes_all_of_them(run: Run, world: Path, tmp_path: Path) -> None:
    listed = tmp_path / "problems.jsonl"
    result = run("stats", damaged(world, tmp_path, 13), "--problems", listed)
    assert f"and 3 more; all are in {listed}" in result.stderr
    found = json_lines(listed.read_text())
    assert len(found) == 13
    assert list(found[0]) == ["source", "reason"]
    assert found[0]["source"].endswith("pools.jsonl:73")


def test_an_older_list_does_not_pass_for_this_one(run: Run, world: Path, tmp_path: Path) -> None:
    listed = tmp_path / "problems.jsonl"
    listed.write_text("old\n")
    assert run("stats", world, "--problems", listed).exit_code == 0
    assert listed.read_text() == ""


def test_the_list_never_replaces_an_input(run: Run, world: Path) -> None:
    before = world.read_bytes()
    assert "reads or writes" in error_of(run("stats", world, "--problems", world))
    assert world.read_bytes() == before


def test_a_very_long_problem_is_shortened_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Problems() as report:
        report(Problem("pools.jsonl:1", "x" * 10_000))
    assert len(capsys.readouterr().err) < 1000
