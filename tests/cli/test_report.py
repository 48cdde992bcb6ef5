"""``tracerank report``: tables, files and what it refuses."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of


@pytest.fixture(scope="module")
def evaluated(run: Run, world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluated") / "e"
    result = run("evaluate", world, "-k", "1,2,6", "-o", folder)
    assert result.exit_code == 0, result.output
    return folder


def test_the_tables_are_printed_with_a_row_per_method(run: Run, evaluated: Path) -> None:
    result = run("report", evaluated)
    assert result.exit_code == 0, result.output
    assert "accuracy % at K=6" in result.stdout
    assert any(line.split()[:1] == ["evidence"] for line in result.stdout.splitlines())


def test_what_cannot_be_reported_is_refused_in_a_line(run: Run, evaluated: Path, tmp_path: Path) -> None:
    assert "holds no evaluation" in error_of(run("report", tmp_path))
    assert "the records are of K=1, 2, 6" in error_of(run("report", evaluated, "-k", "5"))
    assert "there are single, majority, evidence, oracle" in error_of(run("report", evaluated, "--against", "solagg"))
    (tmp_path / "config.json").write_text("{}")
    assert error_of(run("report", tmp_path, "-o", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_names_in_data_cannot_steer_the_terminal(run: Run, evaluated: Path, tmp_path: Path) -> None:
    for path in evaluated.iterdir():
        text = path.read_text().replace('"dataset": "', r'"dataset": "\u001b[31m')
        (tmp_path / path.name).write_text(text)
    result = run("report", tmp_path)
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
