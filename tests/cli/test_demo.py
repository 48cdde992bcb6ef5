"""The demo's real questions: rows by their rule, plain lines, files, and commands that can be typed as they stand.

Its networks and the README's example are tried in ``tests/test_readme.py``.
"""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tracerank as tr
from tracerank.cli import demo as demo_module
from tracerank.cli import demo_output
from tracerank.cli.app import app
from tracerank.cli.demo_output import OWN, next_commands
from tracerank.evaluation.disagreements import disagreements, means_the_same
from tracerank.pools.canonical import write_pools
from tracerank.votes.explanation import explain_stream

ROW = re.compile(r"(?P<question>.+\?) \((?P<right>.+)\)\n  vote      (?P<vote>.+)\n  selector  (?P<selector>.+)\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    """What the demo prints in an empty folder, without its networks and with no limit to its rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(demo_module, "_generated_world", lambda *_: None)
        patch.setattr(demo_output, "SHOWN", 1000)
        result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def test_every_disagreement_by_meaning_is_a_row_in_the_order_of_the_questions(shown: str, folder: Path) -> None:
    pools = tr.read_pools(folder / "runs/demo/almanac/pools.jsonl")
    vote, selector = tr.MajorityVote(), tr.load_selector()
    expected = [
        pool.question.text for pool in pools if not means_the_same(pool, vote.decide(pool), selector.decide(pool))
    ]
    assert expected
    assert [row["question"] for row in ROW.finditer(shown)] == expected
    assert f"differ in meaning on {len(expected)} of {len(pools)}:" in " ".join(shown.split())


@pytest.mark.usefixtures("shown")
def test_a_reader_sees_the_first_rows_and_the_count_of_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pools = tr.read_pools(folder / "runs/demo/almanac/pools.jsonl")
    explained = [explanation for _, explanation in explain_stream(tr.load_selector(), pools)]
    found = list(disagreements(pools, map(tr.MajorityVote().decide, pools), explained))
    demo_output.print_disagreements(found, len(pools))
    rows = [row["question"] for row in ROW.finditer(capsys.readouterr().out)]
    assert rows == [one.pool.question.text for one in found[: demo_output.SHOWN]]
    assert len(rows) < len(found)


def test_a_row_says_of_both_sides_what_is_true_of_them(shown: str, folder: Path) -> None:
    pools = {pool.question.text: pool for pool in tr.read_pools(folder / "runs/demo/almanac/pools.jsonl")}
    for row in ROW.finditer(shown):
        pool = pools[row["question"]]
        assert row["right"] == pool.question.references[0]
        for side, method in ((row["vote"], tr.MajorityVote()), (row["selector"], tr.load_selector())):
            decision = method.decide(pool)
            [chosen] = [one for one in pool.rollouts if one.sample_id == decision.sample_id]
            assert side.startswith("right  " if chosen.label else "wrong  ")
            assert side[7:].startswith(chosen.answer or "")
            assert f"  {len(decision.group)} vote" in side


def test_the_counts_above_the_rows_are_those_of_the_rows(shown: str) -> None:
    rows = list(ROW.finditer(shown))
    gained = sum(row["selector"].startswith("right") and row["vote"].startswith("wrong") for row in rows)
    lost = sum(row["vote"].startswith("right") and row["selector"].startswith("wrong") for row in rows)
    said = f"the selector alone is right on {gained}, the vote alone on {lost}, neither or both on"
    assert f"{said} {len(rows) - gained - lost}." in " ".join(shown.split())


def test_totals_come_with_a_paired_interval_and_what_it_allows_to_say(shown: str) -> None:
    gain = re.search(r"shipped selector .* ([+-][\d.]+) \[([+-][\d.]+), ([+-][\d.]+)\]", shown)
    assert gain is not None
    value, low, high = map(float, gain.groups())
    assert low <= value <= high
    said = "right more often" if low > 0 else "right less often" if high < 0 else "questions show no difference"
    assert re.search(rf"^shipped selector, beside the vote: .*{said}$", shown, re.MULTILINE)


def test_without_a_terminal_lines_are_plain(shown: str) -> None:
    assert "\x1b" not in shown
    assert "\r" not in shown


def test_every_file_that_it_names_is_there(shown: str, folder: Path) -> None:
    listed = shown.partition("What you have now:\n")[2].partition("\n\n")[0]
    named = [line.split()[0] for line in listed.splitlines()]
    assert len(named) == 5
    networks = ("runs/demo/pools.jsonl", "runs/demo/checkpoint")  # left out here
    assert [name for name in named if not (folder / name).exists() and name not in networks] == []
    lines = (folder / "runs/demo/almanac/decisions.jsonl").read_text(encoding="utf-8").splitlines()
    pools = tr.read_pools(folder / "runs/demo/almanac/pools.jsonl")
    assert [json.loads(line)["question_id"] for line in lines] == [pool.question.id for pool in pools]


def test_it_runs_again_over_its_own_files_and_says_the_same(shown: str, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(demo_module, "_generated_world", lambda *_: None)
        patch.setattr(demo_output, "SHOWN", 1000)
        quiet = CliRunner().invoke(app, ["demo", "--quiet"])
    assert quiet.stdout == shown.partition("What you have now")[0]


def test_what_it_proposes_for_ones_own_logs_works_as_it_stands(shown: str, folder: Path, tmp_path: Path) -> None:
    write_pools(tmp_path / OWN, tr.read_pools(folder / "runs/demo/almanac/pools.jsonl")[:40])
    proposed = [line.strip() for line in shown.partition("On your own logs")[2].splitlines()[1:]]
    commands = [shlex.split(line, comments=True) for line in proposed if line.startswith("tracerank ")]
    assert len(commands) == 5
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        for command in commands:
            result = CliRunner().invoke(app, command[1:])
            assert result.exit_code == 0, (command, result.output)


def test_a_shell_that_does_not_know_the_command_is_told_how_to_learn_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "activate").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert next_commands()[0].startswith(". bin/activate ")
    (tmp_path / "bin" / "activate").unlink()
    assert all(line.startswith(f"{sys.executable} -m tracerank ") for line in next_commands())
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/tracerank")
    assert all(line.startswith("tracerank ") for line in next_commands())
