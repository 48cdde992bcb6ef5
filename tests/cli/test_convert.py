"""``tracerank convert``: any format in, the canonical one out."""

import gzip
import itertools
import json
import random
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.test_app import error_of
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools


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
    assert (record["schema"], record["label"], record["searches"][0]["query"]) == ("tracerank-rollout/1", 1.0, "tower")


def test_existing_files_and_inputs_are_not_overwritten(run: Run, world: Path, tmp_path: Path) -> None:
    output = tmp_path / "pools.jsonl"
    output.write_text("precious\n")
    assert "exists already" in error_of(run("convert", world, "-o", output))
    assert "one of the input files" in error_of(run("convert", world, "-o", world, "--force"))
    assert run("convert", world, "-o", output, "--force").exit_code == 0
    assert len(read_pools(output)) == 12


def test_the_output_is_required(run: Run, world: Path) -> None:
    assert run("convert", world).exit_code == 2
