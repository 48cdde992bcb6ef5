"""``tracerank demo``: real pools that ship, plain lines, and files."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tracerank.cli import demo as demo_module
from tracerank.methods import load_method
from tracerank.readers import read_pools


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "out"


@pytest.fixture(scope="module")
def shown(run: Run, folder: Path) -> str:
    """What the demo prints without its network."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_module, "_train", lambda *_: None)
        result = run("demo", "-o", folder)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def test_the_files_are_the_pools_the_decisions_and_the_page(shown: str, folder: Path) -> None:
    pools = read_pools(folder / "pools.jsonl")
    decisions = [json.loads(line) for line in (folder / "decisions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["question_id"] for one in decisions] == [pool.question.id for pool in pools]
    assert [one["answer"] for one in decisions] == [load_method().decide(pool).answer for pool in pools]
    assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")
    assert str(folder / "report.html") in shown


def test_rows_say_who_is_right_and_totals_come_with_an_interval(shown: str) -> None:
    rows = re.findall(r"^  (?:vote    |selector)  (right|wrong)  .*\d+ votes, in ", shown, re.MULTILINE)
    assert len(rows) == 2 * demo_module.SHOWN
    gain = re.search(r"shipped selector .* ([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\]", shown)
    assert gain is not None
    value, low, high = map(float, gain.groups())
    assert low <= value <= high
    assert not {*shown} & {"\x1b", "\r"}


@pytest.mark.slow
def test_a_network_is_trained_and_judged_on_other_questions(run: Run, tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "small network, trained here" in result.stdout
    assert (tmp_path / "network" / "config.json").exists()
