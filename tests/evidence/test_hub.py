"""Selectors of the hub by their names, from a cache folder on this machine; nothing is downloaded."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_architecture import SRC
from tracerank.errors import CheckpointError
from tracerank.methods import load_selector
from tracerank.votes import selector as base
from tracerank.votes.folders import folder_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache as huggingface_hub lays it out, with the shipped selector as ours/chooser and a pickle as ours/torn."""
    for name in ("chooser", "torn"):
        repository = tmp_path / "hub" / f"models--ours--{name}"
        snapshot = repository / "snapshots" / COMMIT
        snapshot.parent.mkdir(parents=True)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(COMMIT)
        if name == "chooser":
            shutil.copytree(folder_of("default"), snapshot)
        else:
            snapshot.mkdir()
            (snapshot / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    return tmp_path / "hub"


def tracerank(cache: Path, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the library reads its environment when it is imported."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache), "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-m", "tracerank", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, cwd=folder)


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    path = tmp_path / "pool.jsonl"
    line = '{{"question_id": "1", "question": "Capital?", "answer": "{}", "searches": []}}\n'
    path.write_text("".join(map(line.format, ("Rome", "Paris", "paris"))), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["ours/chooser", "ours/chooser@main", f"ours/chooser@{COMMIT}"])
def test_a_selector_of_the_hub_is_loaded_by_its_name(cache: Path, pool: Path, tmp_path: Path, name: str) -> None:
    pytest.importorskip("huggingface_hub")
    result = tracerank(cache, tmp_path, "select", pool, "--checkpoint", name, "--quiet")
    assert result.returncode == 0, result.stderr
    assert '"answer": "Paris"' in result.stdout or '"answer":"Paris"' in result.stdout


@pytest.mark.parametrize("name", ["ours/nothing", "ours/torn"])
def test_what_is_not_there_or_only_a_pickle_is_one_line(cache: Path, pool: Path, tmp_path: Path, name: str) -> None:
    pytest.importorskip("huggingface_hub")
    result = tracerank(cache, tmp_path, "select", pool, "--checkpoint", name, "--quiet")
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "here" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_the_library_the_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    base.hub_folder.cache_clear()
    with pytest.raises(CheckpointError, match=r"no checkpoint here; .* needs huggingface_hub; install it: "):
        load_selector("ours/chooser")


def test_a_slip_in_a_folder_of_ours_asks_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checkpoints").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(base, "hub_folder", lambda name: pytest.fail("the hub was asked"))
    for name in ("checkpoints/mine", "./ours/chooser", "a/b/c"):
        with pytest.raises(CheckpointError, match="no checkpoint here"):
            load_selector(name)
