"""``tracerank report``: formats, files and what it refuses."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_app import error_of


@pytest.fixture(scope="module")
def evaluated(run: Run, world: Path, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluated") / "e"
    result = run("evaluate", world, "--checkpoint", checkpoint, "-k", "1,2,6", "--subsets", "2", "-o", folder)
    assert result.exit_code == 0, result.output
    return folder


def test_the_tables_are_printed_with_a_row_per_method(run: Run, evaluated: Path) -> None:
    result = run("report", evaluated)
    assert result.exit_code == 0, result.output
    assert "accuracy % at K=6" in result.stdout
    assert "accuracy = coverage × selection" in result.stdout
    assert any(line.split()[:1] == ["trace"] for line in result.stdout.splitlines())


def test_json_agrees_with_the_table_of_evaluate(run: Run, world: Path, checkpoint: Path, evaluated: Path) -> None:
    found = json.loads(run("report", evaluated, "--format", "json", "-k", "2").stdout)
    main = next(table for table in found["tables"] if table["name"] == "main")
    rows = json.loads(run("evaluate", world, "--checkpoint", checkpoint, "-k", "2", "--json").stdout)["rows"]
    assert [(row["method"], row["overall"]) for row in main["rows"]] == [
        (row["method"], row["accuracy"]) for row in rows
    ]


def test_every_table_is_explained_in_the_docs(run: Run, evaluated: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "paper-tables.md").read_text(encoding="utf-8")
    names = {table["name"] for table in json.loads(run("report", evaluated, "--format", "json").stdout)["tables"]}
    assert all(f"`{name}`" in text for name in names)


def test_csv_and_markdown_parse(run: Run, evaluated: Path) -> None:
    cells = list(csv.DictReader(io.StringIO(run("report", evaluated, "--format", "csv").stdout)))
    assert {cell["table"] for cell in cells} >= {"main", "comparison", "budget", "budget_random", "coverage", "cost"}
    lines = run("report", evaluated, "--format", "md").stdout.splitlines()
    assert lines[0].startswith("# 12 questions")
    assert any(line.startswith("| majority |") for line in lines)


def test_the_folder_gets_tables_and_plots(run: Run, evaluated: Path, tmp_path: Path) -> None:
    assert run("report", evaluated, "-o", tmp_path / "r").exit_code == 0
    names = {path.name for path in (tmp_path / "r").iterdir()}
    plots = {
        f"{name}.{kind}"
        for name in ("accuracy_by_k", "accuracy_by_random_k", "gain_by_k", "gain_by_random_k", "accuracy_by_cost")
        for kind in ("svg", "png")
    }
    assert {"report.md", "report.json", "main.csv", "coverage.csv", "pass_at_k.csv", *plots} <= names
    assert run("report", evaluated, "-o", tmp_path / "bare", "--no-plots").exit_code == 0
    assert not list((tmp_path / "bare").glob("*.svg"))


def test_one_file_holds_all_tables_in_the_format_of_its_name(run: Run, evaluated: Path, tmp_path: Path) -> None:
    for name in ("r.md", "r.json", "r.csv"):
        assert run("report", evaluated, "-o", tmp_path / name, "-q").exit_code == 0
    assert (tmp_path / "r.md").read_text().startswith("# 12 questions")
    assert json.loads((tmp_path / "r.json").read_text())["title"].startswith("12 questions")
    assert (tmp_path / "r.csv").read_text() == run("report", evaluated, "--format", "csv").stdout
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("report", evaluated, "-o", tmp_path / "r.parquet", "-q").exit_code == 0
    rows = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    overall = {row["row"]: row["value"] for row in rows if (row["table"], row["column"]) == ("main", "overall")}
    assert list(overall) == ["single", "majority", "trace", "oracle"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.json", "r.md", "r.parquet"]


def test_what_cannot_be_reported_is_refused_in_a_line(run: Run, evaluated: Path, tmp_path: Path) -> None:
    assert "holds no evaluation" in error_of(run("report", tmp_path))
    assert "the records are of K=1, 2, 6" in error_of(run("report", evaluated, "-k", "5"))
    assert "there are single, majority, trace, oracle" in error_of(run("report", evaluated, "--against", "solagg"))


def test_runs_of_two_checkpoints_stand_side_by_side(run: Run, world: Path, evaluated: Path, tmp_path: Path) -> None:
    for name, folder in (("default", "one"), ("browsing", "two")):
        arguments = (
            "--methods",
            f"majority,selector={name}",
            "-k",
            "6",
            "-o",
            tmp_path / folder,
            "--label",
            f"of {name}",
        )
        result = run("evaluate", world, *arguments)
        assert result.exit_code == 0, result.output
    found = json.loads(
        run("report", tmp_path / "one", tmp_path / "two", evaluated, "--format", "json", "-k", "6").stdout
    )
    main = next(table for table in found["tables"] if table["name"] == "main")
    names = [row["method"] for row in main["rows"]]
    assert names.count("majority") == 1
    assert {"selector (of default)", "selector (of browsing)", "trace"} <= set(names)


def test_money_stands_beside_tokens(run: Run, evaluated: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text('{"*": {"input": 2, "output": 8}, "currency": "USD"}')
    result = run("report", evaluated, "--prices", prices)
    assert result.exit_code == 0, result.output
    assert "USD per 1,000" in result.stdout
    prices.write_text('{"*": {"input": 2}}')
    assert "'*' needs 'input' and 'output'" in error_of(run("report", evaluated, "--prices", prices))


def test_names_in_data_cannot_steer_the_terminal(run: Run, evaluated: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for path in evaluated.iterdir():
        text = path.read_text().replace('"dataset": "', r'"dataset": "\u001b[31m')
        (hostile / path.name).write_text(text)
    result = run("report", hostile)
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
