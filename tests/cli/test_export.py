"""``tracerank convert`` and ``tracerank export sft``: pools in another form."""

import gzip
import itertools
import json
import random
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.cli.conftest import Run, json_lines
from tests.cli.test_app import error_of
from tracerank.cli.app import Commands
from tracerank.cli.export import export
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools

app = typer.Typer(cls=Commands)
app.command()(lambda: None)
app.add_typer(export, name="export")


def exported(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", "sft", *map(str, arguments)])


def test_correct_rollouts_are_exported_one_a_question(world: Path, pools: list[Pool], tmp_path: Path) -> None:
    result = exported(world, "-o", tmp_path / "train.jsonl")
    assert result.exit_code == 0, result.output
    rows = json_lines((tmp_path / "train.jsonl").read_text())
    solved = {pool.question.id for pool in pools if any(one.label == 1 for one in pool.retained().kept)}
    assert {row["question_id"] for row in rows} == solved
    assert len(rows) == len(solved)
    assert {row["reason"] for row in rows} == {"correct: exact match"}
    assert f"{len(rows)} conversations of {len(rows)} questions" in " ".join(result.stderr.split())


def test_more_a_question_can_be_asked_for_and_packed(world: Path, tmp_path: Path) -> None:
    voted = ("--keep", "selected", "--method", "majority", "--per-question", 3, "--style", "tags")
    summary = json.loads(exported(world, "-o", tmp_path / "t.jsonl.gz", *voted, "--json").stdout)
    rows = json_lines(gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes()).decode())
    assert summary["conversations"] == summary["rebuilt"] == len(rows)
    assert max(Counter(row["question_id"] for row in rows).values()) == 3
    assert "<search>" in rows[0]["messages"][1]["content"]


@pytest.mark.parametrize("method", ["majority", "trace"])
def test_what_a_method_selects_is_exported(world: Path, checkpoint: Path, tmp_path: Path, method: str) -> None:
    chosen = ("--method", method) if method == "majority" else ("--checkpoint", checkpoint)
    result = exported(world, "-o", tmp_path / "t.jsonl", "--keep", "selected", *chosen)
    assert result.exit_code == 0, result.output
    rows = json_lines((tmp_path / "t.jsonl").read_text())
    assert len(rows) > 6
    assert all(f"selected by {method} with " in row["reason"] for row in rows)


def test_mistakes_end_in_one_line(world: Path, tmp_path: Path) -> None:
    output = ("-o", tmp_path / "t.jsonl")
    assert "only beside --keep selected" in error_of(exported(world, *output, "--method", "majority"))
    assert "--checkpoint" in error_of(exported(world, *output, "--keep", "selected", "--method", "trace"))
    assert "no such file" in error_of(exported(tmp_path / "none.jsonl", *output))
    assert "is one of the input files" in error_of(exported(world, "-o", world))
    assert not list(tmp_path.glob("t.jsonl*"))


# convert


def test_a_name_that_says_a_table_is_refused(run: Run, world: Path, tmp_path: Path) -> None:
    for command in (("convert",), ("export", "sft")):
        result = run(*command, world, "-o", tmp_path / "out.parquet")
        assert result.exit_code == 2
        assert "rollouts are no table; name a file that ends in .jsonl" in result.stderr
    assert not (tmp_path / "out.parquet").exists()


def test_scattered_rollouts_come_out_grouped(run: Run, world: Path, pools: list[Pool], tmp_path: Path) -> None:
    lines = world.read_text().splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    (tmp_path / "a.jsonl").write_text("".join(lines[:40]))
    (tmp_path / "b.jsonl").write_text("".join(lines[40:]))
    output = tmp_path / "pools.jsonl.gz"
    result = run("convert", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "-o", output)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "12 questions, 72 rollouts, 0 problems" in result.stderr
    with gzip.open(output, "rt") as file:
        ids = [json.loads(line)["question_id"] for line in file]
    assert len(ids) == 72
    assert sum(one != other for one, other in itertools.pairwise(ids)) == 11
    found = {pool.question.id: [rollout.answer for rollout in pool.rollouts] for pool in read_pools(output)}
    assert found == {pool.question.id: [rollout.answer for rollout in pool.rollouts] for pool in pools}


def test_atif_comes_out_and_reads_back_the_same(run: Run, world: Path, pools: list[Pool], tmp_path: Path) -> None:
    output = tmp_path / "pools.atif.jsonl"
    assert run("convert", world, "-o", output, "--to", "atif").exit_code == 0
    assert json.loads(output.read_text().splitlines()[0])["schema_version"].startswith("ATIF-")
    assert [[one.answer for one in pool.rollouts] for pool in read_pools(output)] == [
        [one.answer for one in pool.rollouts] for pool in pools
    ]


def test_an_output_in_a_folder_that_is_read_is_refused(run: Run, world: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text(world.read_text())
    output = tmp_path / "logs" / "pools.jsonl"
    assert "lies in a folder that is read" in error_of(run("convert", tmp_path / "logs", "-o", output))
    assert run("convert", tmp_path / "logs", "-o", tmp_path / "pools.jsonl").exit_code == 0


def test_raw_webqa_rows_become_canonical(run: Run, tmp_path: Path) -> None:
    row = {
        "question_index": 3,
        "question": "Where is the tower?",
        "golden_answers": ["Paris"],
        "sample_id": 0,
        "answer": "Paris",
        "steps": [{"action": "search", "content": "tower", "search_result": 'Doc 1 (Title: "Tower") In Paris.'}],
    }
    (tmp_path / "raw.jsonl").write_text(json.dumps(row) + "\n")
    assert run("convert", tmp_path / "raw.jsonl", "-o", tmp_path / "pools.jsonl", "--quiet").stderr == ""
    record = json.loads((tmp_path / "pools.jsonl").read_text())
    assert (record["schema"], record["searches"][0]["query"]) == ("tracerank-rollout/1", "tower")
    assert "label" not in record  # whether the answer is right is said by whoever evaluates, by a rule that he names


def test_existing_files_and_inputs_are_not_overwritten(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "pools.jsonl"
    output.write_text("precious\n")
    assert "exists already" in error_of(run("convert", world, "-o", output))
    assert "one of the input files" in error_of(run("convert", world, "-o", world, "--force"))
    assert run("convert", world, "-o", output, "--force").exit_code == 0
    assert len(read_pools(output)) == 12


def test_the_output_is_required(run: Run, world: Path) -> None:
    assert run("convert", world).exit_code == 2


def test_rollouts_that_stand_far_apart_are_brought_together(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = tmp_path / "near.jsonl", tmp_path / "far.jsonl"
    assert run("convert", world, "-o", near, "-q").exit_code == 0
    lines = near.read_text(encoding="utf-8").splitlines(keepends=True)
    far.write_text("".join([*lines[0::2], "{broken\n", *lines[1::2]]), encoding="utf-8")
    monkeypatch.setattr("tracerank.cli.reading.WINDOW_BYTES", 1)
    result = run("convert", far, "-o", tmp_path / "out.jsonl.gz")
    assert result.exit_code == 0
    assert result.stderr.count("far.jsonl") == 1  # what is wrong is told once, though all is read twice
    found = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode().splitlines(keepends=True)
    assert sorted(found) == sorted(lines)
    asked = [json.loads(line)["question_id"] for line in found]
    assert len(list(itertools.groupby(asked))) == len(set(asked))
    assert not list(tmp_path.glob("*.part*"))
