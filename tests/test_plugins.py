"""Readers and methods of another distribution: a tiny package with metadata of its own, put on the path.

Its dist-info is written by hand, as pip would write it, so that no index is needed.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import SRC
from tracerank.errors import UsageError
from tracerank.methods import load_method, methods_named
from tracerank.plugins import READER_GROUP, plugins
from tracerank.readers import read_pools

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "extend.md"
MODULE, ENTRIES = (
    re.search(rf"```{kind}\n((?:(?!```).)*{word}.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    for kind, word in (("python", "class LabReader"), ("toml", "entry-points"))
)
"""The template of the page is what is installed here."""


def installed(site: Path, name: str, module: str, entries: str) -> None:
    (site / f"{name}.py").write_text(module, encoding="utf-8")
    about = site / f"{name}-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(entries, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with the template and three plug-ins that do not work."""
    assert MODULE is not None
    assert ENTRIES is not None
    folder = tmp_path / "site"
    folder.mkdir()
    declared = re.sub(r'\[project\.entry-points\."(.+?)"\]', r"[\1]", ENTRIES[1]).replace('"', "")
    installed(folder, "tracerank_lab", MODULE[1], declared)
    entries = (
        "[tracerank.readers]\ntorn = torn_lab:Reader\nhollow = torn_lab:Reader\nchat-of-ours = os:sep\n"
        "canonical = torn_lab:Reader\n[tracerank.methods]\ntorn-vote = torn_lab:vote\n"
    )
    installed(folder, "torn_lab", "raise RuntimeError('first line\\nsecond line')", entries)
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "lab.jsonl"
    rows = [{"lab": {"asked": "Capital of France?", "said": said}} for said in ("Rome", "Paris", "paris")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tracerank(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(SRC)])}
    command = [sys.executable, "-m", "tracerank", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)


def test_a_reader_and_a_method_of_a_plug_in_are_used_by_name(site: Path, log: Path) -> None:
    [pool] = read_pools(log, "lab")
    assert [rollout.answer for rollout in pool.rollouts] == ["Rome", "Paris", "paris"]
    assert load_method("last").decide(pool).answer == "paris"
    assert [method.name for method in methods_named(["majority", "last"])] == ["majority", "last"]
    result = tracerank(site, "select", log, "--reader", "lab", "--method", "last", "--quiet")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["answer"], found["sample_id"], found["method"]) == ("paris", 2, "last")


@pytest.mark.parametrize(("option", "name"), [("--reader", "lab"), ("--method", "last")])
def test_help_lists_each_with_its_distribution_and_warns_of_those_that_fail(site: Path, option: str, name: str) -> None:
    result = tracerank(site, "select", option, "help")
    assert result.returncode == 0, result.stderr
    rows = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert rows[name] == "tracerank_lab 1.2"
    assert ("canonical" if option == "--reader" else "majority") in rows
    assert "torn" not in rows
    assert "torn-vote" not in rows
    reason = "of torn_lab 1.2 cannot be used: RuntimeError: first line second line"
    assert f"warning: plug-in '{'torn' if option == '--reader' else 'torn-vote'}' {reason}" in result.stderr
    assert "Traceback" not in result.stderr
    if option == "--reader":
        assert "'canonical' of torn_lab 1.2 has the name of one of tracerank's own" in result.stderr
        assert "os:sep has no name, recognises, parse" in result.stderr


def test_a_broken_plug_in_that_is_asked_for_is_one_line(site: Path, log: Path) -> None:
    with pytest.raises(UsageError, match=r"plug-in 'torn' of torn_lab 1.2 cannot be used: RuntimeError"):
        read_pools(log, "torn")
    with pytest.raises(UsageError, match=r"plug-in 'torn-vote' of torn_lab 1.2 cannot be used"):
        load_method("torn-vote")
    result = tracerank(site, "select", log, "--reader", "torn")
    assert (result.returncode, "Traceback" in result.stderr) == (2, False)


def test_what_is_unknown_is_told_with_the_names_of_plug_ins(site: Path, log: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown reader 'nobody'; known are auto, .*lab"):
        read_pools(log, "nobody")
    with pytest.raises(UsageError, match=r"no method or folder is called 'nobody'; known are .*last"):
        load_method("nobody")


def test_none_is_imported_unless_it_is_asked_for(site: Path, tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text('{"question_id": "1", "question": "Q?", "answer": "Paris", "searches": []}\n', encoding="utf-8")
    assert set(plugins(READER_GROUP)) >= {"lab", "torn"}
    assert "torn_lab" not in sys.modules
    for arguments in (("--help",), ("select", "--help"), ("select", path, "--quiet")):
        code = (
            f"import sys; sys.argv = ['tracerank', *{[*map(str, arguments)]!r}]\n"
            "from tracerank.cli import main\ntry:\n    main()\n"
            "finally:\n    print({'torn_lab', 'tracerank_lab'} & set(sys.modules), file=sys.stderr)"
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(SRC)])}
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert result.stderr.strip().endswith("set()"), result.stderr
