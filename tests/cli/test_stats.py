"""``tracerank stats``: the App. A.3 table and its machine-readable twin."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_app import error_of
from tracerank.pools.canonical import write_pools
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, Document, Evidence, Question, Rollout, Search
from tracerank.trace.recipe import RECIPES
from tracerank.trace.stats import graph_statistics


@pytest.fixture
def browsing(tmp_path: Path) -> Path:
    def rollout(number: int, text: str) -> Rollout:
        seen = Evidence(text, tool="open", document=Document("url:https://example.org"))
        return Rollout(number, "x", (Search("look", (seen,)),), setting=BROWSING)

    path = tmp_path / "browsing.jsonl"
    broken = Pool.of(Question("0", "?"), [Rollout(0, None, problem="broken")])
    write_pools(path, [broken, Pool.of(Question("1", "?"), [rollout(0, "p"), rollout(1, "q")])])
    return path


def test_the_table_shows_counts_sharing_and_edges(run: Run, world: Path) -> None:
    result = run("stats", world)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("webqa: 12 questions")
    for words in ("retained", "dropped: no answer", "identical content", "overlap", "(same_content_cross)"):
        assert words in result.stdout
    assert "same document" not in result.stdout


def test_json_equals_the_library(run: Run, world: Path, pools: list[Pool]) -> None:
    found = json.loads(run("stats", world, "-k", "4", "--json").stdout)
    wanted = asdict(graph_statistics([pool.first(4) for pool in pools], RECIPES["webqa"]))
    assert (found.pop("setting"), found.pop("k")) == ("webqa", 4)
    assert found.pop("edges_mean") == {str(relation): mean for relation, mean in wanted.pop("edges_mean").items()}
    assert found == wanted


def test_the_setting_is_that_of_the_rollouts(run: Run, browsing: Path) -> None:
    result = run("stats", browsing)
    assert result.stdout.startswith("browsing: 2 questions")
    assert "same-document pairs with different content: 100.0 %" in result.stdout
    assert run("stats", browsing, "--setting", "webqa").stdout.startswith("webqa: 2 questions")


def test_two_settings_at_once_are_refused_unless_one_is_chosen(run: Run, browsing: Path, world: Path) -> None:
    assert "has webqa rollouts, those before it browsing" in error_of(run("stats", browsing, world))
    assert run("stats", browsing, world, "--setting", "browsing").exit_code == 0


def test_a_pool_of_broken_rollouts_alone_still_gives_a_table(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    write_pools(path, [Pool.of(Question("0", "?"), [Rollout(0, None, problem="broken")])])
    assert "dropped: unreadable" in run("stats", path).stdout
