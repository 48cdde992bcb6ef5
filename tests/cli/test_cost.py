"""``tracerank cost``: stages, counts and what was recorded."""

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.test_app import error_of

STAGES = ["read and parse", "encode texts", "build graphs", "score and choose"]


def test_the_stages_add_up_and_texts_are_counted_once(run: Run, world: Path, checkpoint: Path) -> None:
    result = run("cost", world, "--checkpoint", checkpoint, "--questions", "5", "--passes", "2", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["questions"], found["rollouts"], found["passes"]) == (5, 30, 2)
    assert [*found["seconds"]] == [*STAGES, "total"]
    assert abs(sum(found["seconds"][stage] for stage in STAGES) - found["seconds"]["total"]) < 1e-9
    assert 5 < found["texts"] < 5 * 6 * 20


def test_recorded_methods_stand_beside_trace(run: Run, world: Path, checkpoint: Path, tmp_path: Path) -> None:
    assert run("evaluate", world, "-k", "6", "-o", tmp_path / "e").exit_code == 0
    command = ("cost", world, "--checkpoint", checkpoint, "-k", "6", "--records", tmp_path / "e", "--passes", "1")
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "per 1,000" not in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()]
    assert any(row[:1] == ["majority"] and row[-1].endswith("×") for row in rows)
    assert "the files hold 12 questions only" in result.stderr
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "EUR"\n["*"]\ninput = 1\noutput = 2\n')
    assert "EUR per 1,000" in run(*command, "--prices", prices).stdout
    recorded = json.loads(run(*command, "--prices", prices, "--json").stdout)["recorded"]
    assert all(other["money"] is other["money_per_thousand"] is None for other in recorded)
    prices.write_text("currency =")
    assert "is no TOML" in error_of(run(*command, "--prices", prices))
    assert "with --records DIR" in error_of(run(*command[:4], "--prices", prices))


def test_what_cannot_be_measured_is_refused(run: Run, world: Path, checkpoint: Path, tmp_path: Path) -> None:
    assert "no such file" in error_of(run("cost", tmp_path / "none", "--checkpoint", checkpoint))
    assert "holds no evaluation" in error_of(run("cost", world, "--checkpoint", checkpoint, "--records", tmp_path))
