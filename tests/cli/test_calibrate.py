"""``tracerank calibrate``: a folder gets a confidence of its own, and nothing else changes."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools
from tracerank.votes.selector import CONFIDENCE, fitted_on, load_selector

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "labelled.jsonl"
    write_pools(path, generate_pools(60, seed=5, k=6))
    return path


def test_the_copy_tells_another_confidence_and_chooses_the_same(run: Run, labelled: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    result = run("calibrate", labelled, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert "temperature" in result.stdout
    assert f"saved in {out}" in result.stderr
    pools = generate_pools(20, seed=6, k=6)
    before, after = load_selector().decide_many(pools), load_selector(out).decide_many(pools)
    assert [(one.answer, one.scores) for one in before] == [(one.answer, one.scores) for one in after]
    assert [one.confidence for one in before] != [one.confidence for one in after]
    assert len(fitted_on(out)) == 60


def test_json_has_every_form_that_was_tried(run: Run, labelled: Path, tmp_path: Path) -> None:
    told = json.loads(run("calibrate", labelled, "-o", tmp_path / "mine", "--json").stdout)
    assert set(told["held"]) == {"as it is", "temperature"}
    assert told["chosen"] == "temperature"
    assert told["held"]["temperature"]["ece"] < told["held"]["as it is"]["ece"]


def test_a_folder_is_calibrated_in_its_place_and_on_new_questions_only(
    run: Run, labelled: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    load_selector().save(mine)
    assert run("calibrate", labelled, "--checkpoint", mine).exit_code == 0
    assert (mine / CONFIDENCE).exists()
    again = run("calibrate", labelled, "--checkpoint", mine)
    assert again.exit_code == 2
    assert "too few to calibrate on" in again.stderr


def test_what_comes_with_the_package_is_not_written_to(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("calibrate", labelled)
    assert result.exit_code == 2
    assert "-o FOLDER" in result.stderr
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert "exists already" in run("calibrate", labelled, "-o", tmp_path).stderr
