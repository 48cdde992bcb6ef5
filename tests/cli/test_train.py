"""``tracerank train``: the presets from files to a folder that ``load_selector`` takes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools
from tracerank.selectors.base import load_selector, selector_kind

QUICK = ("--encoder", "hash-32", "--epochs", "1", "--batch", "64")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("labelled") / "pools.jsonl"
    write_pools(path, generate_pools(60, seed=3, k=6))
    return path


def trained(run: Run, *arguments: object) -> dict[str, Any]:
    result = run("train", *arguments, *QUICK, "--json", "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_plus_is_trained_and_loaded_like_any_checkpoint(run: Run, labelled: Path, tmp_path: Path) -> None:
    told = trained(run, labelled, "-o", tmp_path / "plus", "--preset", "plus", "--seeds", "2", "--seed", "7")
    assert (told["preset"], told["setting"]) == ("plus", "webqa")
    assert 0 <= told["training"]["validation_accuracy"] <= 1
    assert selector_kind(tmp_path / "plus") == "trace-plus"
    plan = json.loads((tmp_path / "plus" / "selector.json").read_text())["training"]["plan"]
    assert (plan["epochs"], plan["batch_pools"], plan["seeds"], plan["seed"]) == (1, 64, 2, 7)
    (pool,) = generate_pools(1, seed=9, k=4)
    assert load_selector(tmp_path / "plus").decide(pool).sample_id is not None
    compared = run("evaluate", labelled, "-k", "4", "--methods", f"trace-plus={tmp_path / 'plus'}", "-q")
    assert "trace-plus" in compared.stdout, compared.output


def test_the_setting_is_named_or_told_from_the_pools(run: Run, labelled: Path, tmp_path: Path) -> None:
    told = trained(run, labelled, "-o", tmp_path / "told")
    named = trained(run, "webqa", labelled, "-o", tmp_path / "named")
    assert (told["preset"], told["setting"], told["training"]) == ("paper", "webqa", named["training"])
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("told", "named")]
    assert weights[0] == weights[1]


def test_the_lines_say_what_was_learned_from_and_how_well(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("train", labelled, "-o", tmp_path / "plus", "--preset", "plus", *QUICK, "--seeds", "1", "-k", "3")
    assert result.exit_code == 0, result.output
    first, labels, last = result.stderr.splitlines()
    assert "questions to learn from" in first
    assert labels == "labels: of the file"
    assert "the mean of 1 networks" in last
    assert "held-out pools and subsets" in last


def test_what_cannot_be_trained_is_refused_in_a_line(run: Run, labelled: Path, tmp_path: Path) -> None:
    def line(*arguments: object) -> str:
        result = run("train", *arguments, *QUICK)
        assert result.exit_code == 2, result.output
        return result.stderr.splitlines()[-1]

    out = ("-o", tmp_path / "out")
    assert "neither a search setting (webqa, browsing) nor a file" in line("webq", labelled, *out)
    assert "missing.jsonl: no such file" in line("missing.jsonl", *out)
    assert "no files to learn from" in line("browsing", *out)
    assert "only --preset marks and --preset plus" in line("webqa", labelled, *out, "--seeds", "2")
    trained(run, labelled, *out)
    assert "made from another" in line(labelled, *out, "--preset", "plus")


def test_marks_needs_no_encoder_and_refuses_one(run: Run, labelled: Path, tmp_path: Path) -> None:
    out = tmp_path / "marks"
    asked = ("train", labelled, "-o", out, "--preset", "marks", "--epochs", "1", "--seeds", "1")
    refused = run(*asked, "--encoder", "hash-32")
    assert refused.exit_code == 2
    assert "leave --encoder out" in refused.stderr
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert "tends to lose" not in result.stderr
    compared = run("evaluate", labelled, "-k", "4", "--checkpoint", out, "--encoder", "hash-32", "-q")
    assert compared.exit_code == 0, compared.output


def test_few_pools_are_said_in_a_line_that_names_the_preset_for_them(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("train", labelled, "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 0, result.output
    (line,) = (line for line in result.stderr.splitlines() if "--preset marks" in line)
    assert line.split()[0].isdigit()
    assert "tends to lose to the vote" in line


def test_where_the_papers_training_begins_can_be_switched(run: Run, labelled: Path, tmp_path: Path) -> None:
    plain = trained(run, labelled, "-o", tmp_path / "plain")
    assert "beginning" not in plain["training"]
    told = trained(run, labelled, "-o", tmp_path / "other", "--identity", "--freeze", "1")
    assert told["training"]["beginning"] == {"identity": True, "shared": False, "frozen_steps": 1}
