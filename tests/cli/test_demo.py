"""``tracerank demo``: real pools that ship, plain lines, and files."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tracerank.cli import demo
from tracerank.methods import load_method
from tracerank.readers import read_pools


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "out"


@pytest.fixture(scope="module")
def shown(run: Run, folder: Path) -> str:
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
    rows = re.findall(r"^  (?:vote    |selector)  (right|wrong)  .*", shown, re.MULTILINE)
    assert rows.count("right") == rows.count("wrong") == demo.SHOWN
    gain = re.search(r"evidence over majority at K=8: ([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\]", shown)
    assert gain is not None
    value, low, high = map(float, gain.groups())
    assert low <= value <= high
    assert not {*shown} & {"\x1b", "\r"}
