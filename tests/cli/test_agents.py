"""Pools of several agents: ``fit --by-agent``, ``select --weigh-agents``, and the tables by agent."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run, error_of, json_lines
from tests.mixed import MIXED, mixed_pools
from tracerank.pools.canonical import write_pools


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mixed") / "pools.jsonl"
    write_pools(path, mixed_pools(60, MIXED))
    return path


def test_a_fit_by_agent_is_a_method_that_beats_the_vote(run: Run, mixed: Path, tmp_path: Path) -> None:
    labelled, folder = tmp_path / "labelled.jsonl", tmp_path / "fitted"
    write_pools(labelled, mixed_pools(20, MIXED, seed=3))
    command = ("fit", labelled, "--by-agent", "-o", folder)
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "able" in result.stdout
    assert "points over the vote by meaning" in result.stdout
    assert "holds a fit" in error_of(run(*command))
    record = json.loads(run(*command, "--force", "--json").stdout)
    assert record["reliabilities"]["values"]["able"] > record["reliabilities"]["values"]["poor"]
    judged = run("evaluate", mixed, labelled, "--method", f"majority,{folder}", "-k", "4", "--json")
    assert "20 of these 80 questions were fitted on" in judged.stdout
    right = {row["method"]: row["accuracy"] for row in json.loads(judged.stdout)["rows"]}
    assert right[str(folder)] > right["majority"]
    assert all(line["confidence"] for line in json_lines(run("select", mixed, "--method", folder, "-q").stdout))


def test_what_a_fit_by_agent_needs_is_said_in_one_line(run: Run, tmp_path: Path) -> None:
    path, folder = tmp_path / "pools.jsonl", tmp_path / "fitted"
    for pools, why in (
        (mixed_pools(19, MIXED), "19 labelled questions"),
        (mixed_pools(20, {"a": 0.5}), "several agents"),
    ):
        write_pools(path, pools)
        assert why in error_of(run("fit", path, "--by-agent", "-o", folder))
    assert "leave out --only" in error_of(run("fit", path, "--by-agent", "--only", "confidence", "-o", folder))


def test_agents_are_weighed_where_the_pools_can_tell(run: Run, mixed: Path, tmp_path: Path) -> None:
    result = run("select", mixed, "--weigh-agents", "-o", tmp_path / "decisions.jsonl")
    assert result.exit_code == 0, result.output
    assert "weights of agents: able 1.00, fair" in result.stderr
    lines = json_lines((tmp_path / "decisions.jsonl").read_text())
    assert {line["method"] for line in lines} == {"agents"}
    one = run("select", mixed, "--weigh-agents", "-q", "--workers", "2")
    assert json_lines(one.stdout) == lines


def test_where_they_cannot_tell_the_shipped_selector_decides_and_one_line_says_why(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    write_pools(path, mixed_pools(60, dict.fromkeys("abc", 0.6)))
    result = run("select", path, "--weigh-agents", "-q")
    assert {line["method"] for line in json_lines(result.stdout)} == {"evidence"}
    [line] = result.stderr.splitlines()
    assert line.startswith("warning: agents are not weighed: the agents are too alike")
    for option in (("--method", "majority"), ("--escalate", "majority", "--below", "0.5"), ("--engine", "ray")):
        assert "--weigh-agents" in error_of(run("select", path, "--weigh-agents", *option))


def test_tables_by_agent_are_shown_where_rollouts_carry_one(run: Run, mixed: Path, world: Path, tmp_path: Path) -> None:
    shown = run("inspect", mixed).stdout
    assert "agents, by how often their answers mean the same" in shown
    assert "select --weigh-agents" in shown
    agents = {one["agent"]: one for one in json.loads(run("inspect", mixed, "--json").stdout)["agents"]}
    assert agents["able"]["right"] > agents["poor"]["right"]
    assert agents["able"]["agreement"] > agents["poor"]["agreement"]
    folder = tmp_path / "run"
    assert "agrees with the others %" in run("evaluate", mixed, "-k", "2", "-o", folder).stdout
    assert run("report", folder, "-o", tmp_path / "report").exit_code == 0
    assert "poorer" in (tmp_path / "report" / "agents.csv").read_text()
    assert "agents" not in json.loads(run("inspect", world, "--json").stdout)
