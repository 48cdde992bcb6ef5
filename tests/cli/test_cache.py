"""``tracerank cache`` and ``tracerank lab embed``: what is kept, whether it is sound, removing some."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tracerank.embedding.cache import VectorCache


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cache = VectorCache(tmp_path / "vectors")
    for name, width in (("first/8", 8), ("second/4", 4)):
        cache.write(name, [f"{number}" for number in range(1200)], np.ones((1200, width), np.float16))
    return tmp_path / "vectors"


def counts(run: Run, folder: Path) -> dict[str, int]:
    found = json.loads(run("cache", "--folder", folder, "--json").stdout)
    return {one["fingerprint"]: one["count"] for one in found["encoders"]}


def test_the_encoders_are_listed(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACERANK_CACHE", str(folder))
    shown = run("cache")
    assert shown.exit_code == 0, shown.output
    assert str(folder) in shown.stdout
    assert "second/4" in shown.stdout
    assert counts(run, folder) == {"first/8": 1200, "second/4": 1200}


def test_damaged_vectors_are_found_and_removed(run: Run, folder: Path) -> None:
    assert run("cache", "--folder", folder, "--check").exit_code == 0
    with sqlite3.connect(folder / "vectors.sqlite") as file:
        file.execute("UPDATE vectors SET vector = 'short' WHERE rowid = 7")
    file.close()
    result = run("cache", "--folder", folder, "--check")
    assert result.exit_code == 1
    assert "1 vectors are damaged; --remove damaged" in result.stderr
    assert "1 vectors removed" in run("cache", "--folder", folder, "--remove", "damaged").stderr
    assert run("cache", "--folder", folder, "--check").exit_code == 0


def test_an_encoder_is_removed(run: Run, folder: Path) -> None:
    assert "1,200 vectors removed" in run("cache", "--folder", folder, "--remove", "first/8").stderr
    assert counts(run, folder) == {"second/4": 1200}
    assert run("cache", "--folder", folder, "--remove", "third/2").exit_code == 2
    assert run("cache", "--folder", folder.parent / "none").exit_code == 2


def test_every_text_is_encoded_once(run: Run, world: Path, tmp_path: Path) -> None:
    command = ("lab", "embed", world, "--encoder", "hash-16", "--cache", tmp_path / "vectors")
    first, again = run(*command), run(*command)
    assert (first.exit_code, again.exit_code) == (0, 0), first.output
    assert ": 0 texts encoded, " in again.stderr
    [count] = counts(run, tmp_path / "vectors").values()
    assert f"{count:,} texts encoded, 0 were there" in first.stderr
