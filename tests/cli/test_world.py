"""``tracerank world``: a file of pools that reads back as the generated world."""

from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from tracerank.cli.world import world
from tracerank.errors import UsageError
from tracerank.lab.worlds.presets import PAPER, iter_world
from tracerank.readers import read_pools


def run(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(world)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_what_is_written_reads_back_as_the_generated_world(tmp_path: Path) -> None:
    for setting in ("webqa", "browsing"):
        path = tmp_path / f"{setting}.jsonl.gz"
        result = run("-o", path, "--setting", setting, "--questions", 4, "-k", 3, "--seed", 9)
        assert result.exit_code == 0, result.output
        made = list(iter_world(PAPER[setting], 4, seed=9, k=3))
        assert [(pool.question, len(pool)) for pool in read_pools(path)] == [(pool.question, 3) for pool in made]
        searches = [[rollout.searches for rollout in pool.rollouts] for pool in read_pools(path)]
        assert searches == [[rollout.searches for rollout in pool.rollouts] for pool in made]


def test_an_unknown_preset_and_an_existing_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pools.jsonl"
    error = run("-o", path, "--preset", "moon").exception
    assert isinstance(error, UsageError)
    assert "choose one of paper, faultless" in str(error)
    path.write_text("mine")
    assert isinstance(run("-o", path, "--questions", 1).exception, UsageError)
    assert path.read_text() == "mine"
    assert run("-o", path, "--questions", 1, "-k", 1, "--force").exit_code == 0
