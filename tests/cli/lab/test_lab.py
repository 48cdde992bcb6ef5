"""The small commands of the laboratory: stats, cost, world, sft and ablate."""

import gzip
import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of, json_lines
from tests.worlds import generate_pools
from tracerank.lab.sharing import graph_statistics
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools
from tracerank.trace.recipe import RECIPES

# stats


def test_stats_shows_counts_sharing_and_edges(run: Run, world: Path) -> None:
    result = run("lab", "stats", world)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("webqa: 12 questions")
    for words in ("retained", "dropped: no answer", "identical content", "overlap", "(same_content_cross)"):
        assert words in result.stdout


def test_stats_as_json_equals_the_library(run: Run, world: Path, pools: list[Pool]) -> None:
    found = json.loads(run("lab", "stats", world, "-k", "4", "--json").stdout)
    wanted = asdict(graph_statistics([pool.first(4) for pool in pools], RECIPES["webqa"]))
    assert (found.pop("setting"), found.pop("k")) == ("webqa", 4)
    assert found.pop("edges_mean") == {str(relation): mean for relation, mean in wanted.pop("edges_mean").items()}
    assert found == wanted


# cost


def test_cost_of_a_method_without_an_encoder_is_a_table(run: Run, world: Path) -> None:
    result = run("lab", "cost", world)
    assert result.exit_code == 0, result.output
    assert "12 questions, K=16, no text encoded" in result.stdout
    assert "the files hold 12 questions only" in result.stderr


# world


@pytest.mark.parametrize("setting", ["webqa", "browsing"])
def test_a_world_reads_back_as_it_was_generated(run: Run, tmp_path: Path, setting: str) -> None:
    path = tmp_path / "pools.jsonl.gz"
    command = ("lab", "world", "-o", path, "--setting", setting, "--count", 4, "-k", 3, "--seed", 9)
    assert run(*command).exit_code == 0
    made = list(iter_world(PAPER[setting], 4, seed=9, k=3))
    assert [(pool.question, len(pool)) for pool in read_pools(path)] == [(pool.question, 3) for pool in made]
    assert [[one.searches for one in pool.rollouts] for pool in read_pools(path)] == [
        [one.searches for one in pool.rollouts] for pool in made
    ]
    assert "already exists" in error_of(run(*command))
    assert run("lab", "world", "-o", tmp_path / "x", "--preset", "moon").exit_code == 2


# sft


def test_correct_rollouts_become_conversations(run: Run, world: Path, pools: list[Pool], tmp_path: Path) -> None:
    result = run("lab", "sft", world, "-o", tmp_path / "train.jsonl")
    assert result.exit_code == 0, result.output
    rows = json_lines((tmp_path / "train.jsonl").read_text())
    solved = {pool.question.id for pool in pools if any(one.label == 1 for one in pool.retained().kept)}
    assert {row["question_id"] for row in rows} == solved
    assert len(rows) == len(solved)
    assert f"{len(rows)} conversations of {len(rows)} questions" in result.stderr


def test_what_a_method_selects_becomes_conversations(run: Run, world: Path, tmp_path: Path) -> None:
    options = ("--keep", "selected", "--method", "majority", "--per-question", 3, "--style", "tags", "--json")
    summary = json.loads(run("lab", "sft", world, "-o", tmp_path / "t.jsonl.gz", *options).stdout)
    rows = json_lines(gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes()).decode())
    assert summary["conversations"] == summary["rebuilt"] == len(rows)
    assert max(Counter(row["question_id"] for row in rows).values()) == 3
    assert "<search>" in rows[0]["messages"][1]["content"]
    assert "is one of the input files" in error_of(run("lab", "sft", world, "-o", world))
    assert "not a table" in error_of(run("lab", "sft", world, "-o", tmp_path / "t.parquet"))


# ablate

SMALL = ("--encoder", "hash-32", "--epochs", 1, "-k", 6, "--hidden", 8, "--batch", 16)


def test_ablations_are_compared_kept_and_not_mixed_with_others(run: Run, tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", generate_pools(60, seed=4, k=6))
    write_pools(tmp_path / "test.jsonl", generate_pools(20, seed=6, k=6))
    command = ("lab", "ablate", tmp_path / "pools.jsonl", "--test", tmp_path / "test.jsonl", "-o", tmp_path / "a")
    rows = ("--variants", "full,no-cross-rollout", "--seeds", 1)
    first = run(*command, *SMALL, *rows)
    assert first.exit_code == 0, first.output
    lines = {line.split("  ")[0].strip() for line in first.stdout.splitlines()}
    assert {"single", "majority", "majority-paper", "oracle", "full", "no cross-rollout"} <= lines
    again = run(*command, *SMALL, *rows, "--json")
    assert "2 of 2 runs were done before" in again.stderr
    found = {row["name"]: row for row in json.loads(again.stdout)["rows"]}
    assert found["full"]["questions"] == 20
    assert found["no cross-rollout"]["against"] == pytest.approx(
        found["no cross-rollout"]["accuracy"] - found["full"]["accuracy"]
    )
    assert "another plan" in error_of(run(*command, *SMALL, *rows, "--epochs", 2))
    assert "no-such" in error_of(run(*command, "--variants", "no-such"))
