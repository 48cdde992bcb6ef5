"""``tracerank budget``: a table of rules, a sentence, files."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.worlds import generate_pools
from tracerank.pools.canonical import write_pools


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "labelled.jsonl"
    write_pools(path, [*generate_pools(12, seed=5, k=5), *generate_pools(2, seed=9, k=3)])
    return path


def test_every_rule_is_shown_and_the_sentence_below(run: Run, labelled: Path, tmp_path: Path) -> None:
    result = run("budget", labelled, "--orders", "2", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    for rule in ("fixed 5", "Beta 0.9", "window 2", "gain within 0.02"):
        assert rule in result.stdout
    assert "12 questions, 2 random orders each" in result.stdout
    assert "rollouts (" in result.stdout
    assert "left out: 2 of 14 questions have fewer than 5 rollouts" in result.stderr
    assert (tmp_path / "out" / "budget.csv").read_text(encoding="utf-8").startswith("rule,rollouts,accuracy")


def test_json_holds_everything(run: Run, labelled: Path) -> None:
    told = json.loads(run("budget", labelled, "-k", "3", "--orders", "1", "--json").stdout)
    assert (told["k"], told["questions"]) == (3, 14)
    assert "on average" in told["sentence"]
    assert {one["family"] for one in told["outcomes"]} == {"fixed", "Beta", "window", "gain"}


def test_pools_that_are_too_small_are_refused(run: Run, labelled: Path) -> None:
    result = run("budget", labelled, "-k", "9")
    assert result.exit_code == 2
    assert "smaller -k" in result.stderr
