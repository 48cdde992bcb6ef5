"""``tracerank fit`` from files to a folder that ``load_selector`` takes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.fitting.test_ladder import cited
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.votes.selector import load_selector

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pools whose evidence tells the right answer."""
    path = tmp_path_factory.mktemp("told") / "pools.jsonl"
    write_pools(path, cited(40))
    return path


def test_the_table_and_what_it_means_are_printed(run: Run, told: Path, tmp_path: Path) -> None:
    result = run("fit", told, "-o", tmp_path / "mine", "--encoder", "none", "--folds", "3")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "held-out accuracy over 40 pools"
    names = [line.split("  ")[0].strip() for line in lines]
    assert names.index("majority") < names.index("better vote") < names.index("features") < names.index("fit")
    assert "40 questions are too few to tell" in result.stdout
    assert "To expect of this procedure: +" in result.stdout
    assert f"use it with --checkpoint {tmp_path / 'mine'}" in result.stderr


def test_the_result_is_loaded_like_any_checkpoint(run: Run, told: Path, tmp_path: Path) -> None:
    run("fit", told, "-o", tmp_path / "mine", "--encoder", "none", "--folds", "3", "-q")
    selector = load_selector(tmp_path / "mine")
    right = [
        next(one.label for one in pool.rollouts if one.sample_id == selector.decide(pool).sample_id)
        for pool in cited(20, seed=7)
    ]
    assert right == [1.0] * 20


def test_json_is_the_report_in_the_folder(run: Run, told: Path, tmp_path: Path) -> None:
    result = run("fit", told, "-o", tmp_path / "mine", "--encoder", "none", "--folds", "2", "--json", "-q")
    report = json.loads(result.stdout)
    assert report == json.loads((tmp_path / "mine" / "report.json").read_text())
    assert report["winner"] == "shipped"
    assert {row["name"] for row in report["rows"]} >= {"majority", "better vote", "features", "features-boosted", "fit"}


def test_the_same_command_again_shows_what_was_found(run: Run, told: Path, tmp_path: Path) -> None:
    command = ("fit", told, "-o", tmp_path / "mine", "--encoder", "none", "--folds", "2")
    first, again = run(*command), run(*command)
    assert again.stdout == first.stdout
    assert "fitted before" in again.stderr
    other = run(*command, "--seed", "1")
    assert other.exit_code == 2
    assert "--force" in other.stderr
    assert run(*command, "--seed", "1", "--force").exit_code == 0


def test_pools_without_labels_end_in_one_line(run: Run, tmp_path: Path) -> None:
    pools = [
        Pool.of(Question(f"q{number}", f"Which {number}?"), [Rollout(0, "a"), Rollout(1, "b")]) for number in "123"
    ]
    write_pools(tmp_path / "pools.jsonl", pools)
    result = run("fit", tmp_path / "pools.jsonl", "-o", tmp_path / "mine", "--encoder", "none")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "not one of 3 questions is labelled" in result.stderr
    assert not (tmp_path / "mine").exists()


def test_too_few_pools_end_in_one_line(run: Run, tmp_path: Path) -> None:
    write_pools(tmp_path / "pools.jsonl", cited(2))
    result = run("fit", tmp_path / "pools.jsonl", "-o", tmp_path / "mine", "--encoder", "none")
    assert result.exit_code == 2
    assert "2 questions with labels are too few" in result.stderr
