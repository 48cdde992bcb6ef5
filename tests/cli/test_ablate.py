"""``tracerank ablate``: one table, resumable, refusing what does not belong together."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools

SMALL = ("--encoder", "hash-32", "--epochs", 1, "-k", 6, "--hidden", 8, "--batch", 16)
ROWS = ("--variants", "full,no-cross-rollout,two-stage", "--seeds", 2)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    write_pools(folder / "pools.jsonl", generate_pools(200, seed=4, k=6))
    write_pools(folder / "test.jsonl", generate_pools(20, seed=6, k=6))
    return folder


@pytest.fixture(scope="module")
def done(run: Run, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ablation") / "a"
    result = run("ablate", files / "pools.jsonl", "-o", folder, *SMALL, *ROWS)
    assert result.exit_code == 0, result.output
    return folder


def test_the_table_has_votes_and_variants_with_deviations_and_the_papers_figures(
    run: Run, files: Path, done: Path
) -> None:
    result = run("ablate", files / "pools.jsonl", "-o", done, *SMALL, *ROWS)
    assert "6 of 6 runs were done before" in result.stderr
    lines = {line.split("  ")[0].strip(): line for line in result.stdout.splitlines()}
    assert {"single", "majority", "majority-paper", "oracle", "full", "no cross-rollout", "two-stage"} <= set(lines)
    assert lines["no cross-rollout"].rstrip().endswith("43.9")
    assert "mean and deviation over 2 seeds" in result.stdout


def test_json_has_unrounded_rows(run: Run, files: Path, done: Path) -> None:
    result = run("ablate", files / "pools.jsonl", "-o", done, *SMALL, *ROWS, "--json", "-q")
    rows = {row["name"]: row for row in json.loads(result.stdout)["rows"]}
    assert rows["full"]["against"] is None
    assert rows["full"]["seeds"] == 2
    difference = rows["two-stage"]["accuracy"] - rows["full"]["accuracy"]
    assert rows["two-stage"]["against"] == pytest.approx(difference)


def test_another_configuration_is_refused_in_one_line(run: Run, files: Path, done: Path) -> None:
    result = run("ablate", files / "pools.jsonl", "-o", done, *SMALL, *ROWS, "--epochs", 2)
    assert result.exit_code == 2
    assert "with another plan; use another folder" in result.stderr
    result = run("ablate", files / "test.jsonl", "-o", done, *SMALL, *ROWS)
    assert result.exit_code == 2
    assert "with another files" in result.stderr


def test_given_test_pools_are_what_is_measured(run: Run, files: Path, tmp_path: Path) -> None:
    chosen = ("--test", files / "test.jsonl", "--variants", "no-gnn", "--seeds", 1)
    result = run("ablate", files / "pools.jsonl", "-o", tmp_path / "a", *SMALL, *chosen, "--json", "-q")
    rows = json.loads(result.stdout)["rows"]
    assert {row["questions"] for row in rows} == {20}
    assert rows[-1]["name"] == "no GNN"
    assert rows[-1]["against"] is None  # full was not run


def test_an_unknown_variant_is_refused_before_anything_is_read(run: Run, tmp_path: Path) -> None:
    result = run("ablate", "missing.jsonl", "-o", tmp_path / "a", "--variants", "no-such")
    assert result.exit_code == 2
    assert "no variant of webqa is called 'no-such'" in result.stderr
    assert not (tmp_path / "a").exists()


def test_a_missing_file_leaves_no_folder_behind(run: Run, tmp_path: Path) -> None:
    result = run("ablate", tmp_path / "missing.jsonl", "-o", tmp_path / "a", *SMALL)
    assert result.exit_code == 2
    assert not (tmp_path / "a").exists()
