"""``tracerank demo``: real pools that ship, plain lines, and files."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
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


def test_differing_answers_the_gain_the_surest_answers_and_the_network_are_shown(shown: str) -> None:
    count = int(re.search(r"Answers that differ \((\d+) questions\)", shown)[1])  # type: ignore[index]
    assert 0 < shown.count("✓") == shown.count("✗") == count
    gain = re.search(r"with 4 rollouts: ([+-][\d.]+) points \[([+-][\d.]+), ([+-][\d.]+)\]", shown)
    assert gain is not None
    value, low, high = map(float, gain.groups())
    assert low <= value <= high
    precisions = [float(found) for found in re.findall(r"^ \d+% +([\d.]+) *$", shown, re.MULTILINE)]
    assert precisions[-1] > precisions[0]
    assert not {*shown} & {"\x1b", "\r"}
    line = r"on 200 generated questions .*: ([\d.]+)% right, the vote ([\d.]+)%, ([+-][\d.]+) points \["
    found = re.search(line, shown)
    assert found is not None
    network, vote, gain = map(float, found.groups())
    assert gain == pytest.approx(network - vote, abs=0.2)


def test_without_torch_the_network_is_left_out(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("tracerank.trace")]:
        monkeypatch.delitem(sys.modules, name)
    result = run("demo", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "The paper's network is left out: " in result.stdout
    assert "install it: " in result.stdout
