"""``tracerank fit``: from labelled pools to a folder that ``--method`` takes, or only its confidence."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of, json_lines
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "labelled.jsonl"
    write_pools(path, generate_pools(60, seed=5, k=6))
    return path


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "others.jsonl"
    write_pools(path, generate_pools(20, seed=6, k=6))
    return path


def test_the_result_is_a_method_whose_questions_are_known(
    run: Run, labelled: Path, others: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    command = ("fit", labelled, "-o", folder, "--folds", "3")
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "accuracy on questions not fitted on: 60 questions" in result.stdout
    assert f"--method majority,{folder}" in result.stderr
    assert "holds a fit" in error_of(run(*command))
    assert len(json_lines(run("select", others, "--method", folder, "-q").stdout)) == 20
    assert "were fitted on" in error_of(run("evaluate", labelled, "--method", folder, "-k", "4"))
    assert "fitted on" in run("evaluate", labelled, others, "--method", folder, "-k", "4").stdout
    assert run("evaluate", labelled, "--method", folder, "-k", "4", "--include-fitted").exit_code == 0
    assert run(*command, "--seed", "1", "--force", "--json").exit_code == 0


def test_what_a_split_holds_out_is_judged_and_never_fitted_on(run: Run, labelled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    assert run("fit", labelled, "-o", folder, "--folds", "3", "--split", "0.5", "-q").exit_code == 0
    command = ("evaluate", labelled, "--method", folder, "-k", "4", "--split")
    result = run(*command, "0.5", "--json")
    assert result.exit_code == 0, result.output
    assert 10 < json.loads(result.stdout)["rows"][0]["questions"] < 50


def test_pools_that_do_not_suffice_end_in_one_line(run: Run, labelled: Path, tmp_path: Path) -> None:
    pools = [
        Pool.of(Question(f"q{number}", f"Which {number}?"), [Rollout(0, "a"), Rollout(1, "b")]) for number in "123"
    ]
    write_pools(tmp_path / "pools.jsonl", pools)
    assert "label" in error_of(run("fit", tmp_path / "pools.jsonl", "-o", tmp_path / "mine"))
    assert not (tmp_path / "mine").exists()
    write_pools(tmp_path / "few.jsonl", generate_pools(2, seed=5, k=6))
    assert "too few" in error_of(run("fit", tmp_path / "few.jsonl", "-o", tmp_path / "mine"))
    assert "-o FOLDER" in error_of(run("fit", labelled))
    assert "--only" in error_of(run("fit", labelled, "-o", tmp_path / "mine", "--method", "majority"))


def test_only_the_confidence_changes(run: Run, labelled: Path, others: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    result = run("fit", labelled, "--only", "confidence", "-o", folder)
    assert result.exit_code == 0, result.output
    assert f"saved in {folder}" in result.stderr
    before, after = (json_lines(run("select", others, "--method", name).stdout) for name in ("evidence", folder))
    assert [(one["answer"], one["scores"]) for one in before] == [(one["answer"], one["scores"]) for one in after]
    assert [one["confidence"] for one in before] != [one["confidence"] for one in after]
