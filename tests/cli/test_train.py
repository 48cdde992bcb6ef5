"""``tracerank train``: from files to a folder that ``--method`` takes."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.cli.conftest import Run, error_of
from tests.worlds import generate_pools
from tracerank.methods import load_method
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.subsets import split_named
from tracerank.pools.types import Question, Rollout
from tracerank.votes.folders import fitted_on

QUICK = ("--preset", "small", "--encoder", "hash-32", "--epochs", "1", "--batch", "64")


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


def test_a_network_is_trained_loaded_and_remembers_its_questions(run: Run, labelled: Path, tmp_path: Path) -> None:
    told = trained(run, labelled, "-o", tmp_path / "net", "--seed", "7")
    assert (told["preset"], told["setting"]) == ("small", "webqa")
    assert told["held_out"]["pools"] > 0
    assert load_method(str(tmp_path / "net")).decide(generate_pools(1, seed=9, k=4)[0]).sample_id is not None
    pools = generate_pools(60, seed=3, k=6)
    assert all(pool in fitted_on(tmp_path / "net") for pool in pools)
    card = (tmp_path / "net" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: tracerank\n")
    assert "labels: of the file" in card
    trained(run, labelled, "-o", tmp_path / "half", "--split", "0.5")
    split = split_named("0.5")
    assert all((pool in fitted_on(tmp_path / "half")) is not split.holds_out(pool.question) for pool in pools)


def test_the_lines_say_what_was_learned_from_how_well_and_that_the_setting_differs(
    run: Run, labelled: Path, tmp_path: Path
) -> None:
    result = run("train", labelled, "-o", tmp_path / "net", *QUICK, "-k", "3", "--setting", "browsing")
    assert result.exit_code == 0, result.output
    for words in ("60 questions, ", "labels: of the file", "the network ", "the vote ", "the shipped selector "):
        assert words in result.stderr
    assert "warning: the pools are of the setting webqa; " in result.stderr


def test_pools_without_labels_leave_no_folder(run: Run, tmp_path: Path) -> None:
    unknown = [Pool.of(Question(f"q{n}", f"{n}?"), [Rollout(0, "a"), Rollout(1, "b")]) for n in range(9)]
    write_pools(tmp_path / "pools.jsonl", unknown)
    refused = run("train", tmp_path / "pools.jsonl", "-o", tmp_path / "net", "--setting", "webqa", *QUICK, "-q")
    assert refused.exit_code == 2
    assert "add labelled questions" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pools.jsonl"]


def test_what_cannot_be_trained_is_refused_in_a_line(run: Run, labelled: Path, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "out", *QUICK)
    assert "missing.jsonl: no such file" in error_of(run("train", "missing.jsonl", *out))
    assert "abacus" in error_of(run("train", labelled, *out, "--device", "abacus"))
