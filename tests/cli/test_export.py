"""``tracerank export sft``."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.cli.conftest import json_lines
from tests.cli.test_app import error_of
from tracerank.cli.app import Commands
from tracerank.cli.export import export
from tracerank.pools.pool import Pool

app = typer.Typer(cls=Commands)
app.command()(lambda: None)
app.add_typer(export, name="export")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", "sft", *map(str, arguments)])


def test_correct_rollouts_are_exported_one_a_question(world: Path, pools: list[Pool], tmp_path: Path) -> None:
    result = run(world, "-o", tmp_path / "train.jsonl")
    assert result.exit_code == 0, result.output
    rows = json_lines((tmp_path / "train.jsonl").read_text())
    solved = {pool.question.id for pool in pools if any(one.label == 1 for one in pool.retained().kept)}
    assert {row["question_id"] for row in rows} == solved
    assert len(rows) == len(solved)
    assert {row["reason"] for row in rows} == {"correct: exact match"}
    assert f"{len(rows)} conversations of {len(rows)} questions" in " ".join(result.stderr.split())


def test_more_a_question_can_be_asked_for_and_packed(world: Path, tmp_path: Path) -> None:
    voted = ("--keep", "selected", "--method", "majority", "--per-question", 3, "--style", "tags")
    summary = json.loads(run(world, "-o", tmp_path / "t.jsonl.gz", *voted, "--json").stdout)
    rows = json_lines(gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes()).decode())
    assert summary["conversations"] == summary["rebuilt"] == len(rows)
    assert max(Counter(row["question_id"] for row in rows).values()) == 3
    assert "<search>" in rows[0]["messages"][1]["content"]


@pytest.mark.parametrize("method", ["majority", "trace"])
def test_what_a_method_selects_is_exported(world: Path, checkpoint: Path, tmp_path: Path, method: str) -> None:
    chosen = ("--method", method) if method == "majority" else ("--checkpoint", checkpoint)
    result = run(world, "-o", tmp_path / "t.jsonl", "--keep", "selected", *chosen)
    assert result.exit_code == 0, result.output
    rows = json_lines((tmp_path / "t.jsonl").read_text())
    assert len(rows) > 6
    assert all(f"selected by {method} with " in row["reason"] for row in rows)


def test_mistakes_end_in_one_line(world: Path, tmp_path: Path) -> None:
    output = ("-o", tmp_path / "t.jsonl")
    assert "only beside --keep selected" in error_of(run(world, *output, "--method", "majority"))
    assert "--checkpoint" in error_of(run(world, *output, "--keep", "selected", "--method", "trace"))
    assert "no such file" in error_of(run(tmp_path / "none.jsonl", *output))
    assert "is one of the input files" in error_of(run(world, "-o", world))
    assert not list(tmp_path.glob("t.jsonl*"))
