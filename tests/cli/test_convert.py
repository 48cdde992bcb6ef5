"""``tracerank convert``: rollouts in the canonical format or in ATIF, grouped by question."""

import gzip
import itertools
import json
import random
from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools
from tracerank.scale import DecidePools


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


@pytest.mark.parametrize("to", ["canonical", "atif"])
def test_what_comes_out_reads_back_the_same(run: Run, world: Path, pools: list[Pool], tmp_path: Path, to: str) -> None:
    output = tmp_path / "pools.jsonl"
    assert run("convert", world, "-o", output, "--to", to).exit_code == 0
    first = json.loads(output.read_text().splitlines()[0])
    assert first["schema" if to == "canonical" else "schema_version"].startswith(("tracerank-rollout/1", "ATIF-"))
    assert [[one.answer for one in pool.rollouts] for pool in read_pools(output)] == [
        [one.answer for one in pool.rollouts] for pool in pools
    ]


def test_a_parquet_file_holds_the_same_and_is_what_engines_read(
    run: Run, world: Path, pools: list[Pool], tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    output = tmp_path / "pools.parquet"
    assert run("convert", world, "-o", output).exit_code == 0
    assert read_pools(output) == read_pools(world)
    assert parquet.ParquetFile(output).schema_arrow.field("sample_id").type == "int64"
    decided = DecidePools("majority")(parquet.read_table(output))
    assert decided["question_id"].to_pylist() == [pool.question.id for pool in pools]


def test_outputs_that_cannot_be_are_refused(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "pools.jsonl"
    output.write_text("precious\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text(world.read_text())
    assert "already exists" in error_of(run("convert", world, "-o", output))
    assert "one of the input files" in error_of(run("convert", world, "-o", world, "--force"))
    assert "not a table" in error_of(run("convert", world, "-o", tmp_path / "out.csv"))
    assert "not a table" in error_of(run("convert", world, "-o", tmp_path / "out.parquet", "--to", "atif"))
    inside = tmp_path / "logs" / "pools.jsonl"
    assert "lies in a folder that is read" in error_of(run("convert", tmp_path / "logs", "-o", inside))
    assert run("convert", tmp_path / "logs", "-o", output, "--force").exit_code == 0
    assert len(read_pools(output)) == 12


def test_rollouts_that_stand_far_apart_are_brought_together(
    run: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = tmp_path / "near.jsonl", tmp_path / "far.jsonl"
    assert run("convert", world, "-o", near, "-q").exit_code == 0
    lines = near.read_text(encoding="utf-8").splitlines(keepends=True)
    far.write_text("".join([*lines[0::2], "{broken\n", *lines[1::2]]), encoding="utf-8")
    monkeypatch.setattr("tracerank.readers.runs.pools.WINDOW_BYTES", 1)
    result = run("convert", far, "-o", tmp_path / "out.jsonl.gz")
    assert result.exit_code == 0
    assert result.stderr.count("far.jsonl") == 1  # a problem is shown once, although all is read twice
    found = gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode().splitlines(keepends=True)
    assert sorted(found) == sorted(lines)
    asked = [json.loads(line)["question_id"] for line in found]
    assert len(list(itertools.groupby(asked))) == len(set(asked))
