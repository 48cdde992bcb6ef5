"""Kills at random moments: the same command, given again until it ends, leaves the bytes of an undisturbed run."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worlds import generate_pools
from tracerank.embedding.cache import VectorCache
from tracerank.pools.canonical import write_pools

pytestmark = pytest.mark.slow
KILLS = 4
"""Of each command; with the twelve below about fifty."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    write_pools(folder / "pools.jsonl", generate_pools(200, seed=5, k=6))
    write_pools(folder / "few.jsonl", generate_pools(80, seed=5, k=6))
    return folder


COMMANDS = {
    "select jsonl": "select {in}/pools.jsonl -o {out}/d.jsonl",
    "select csv": "select {in}/pools.jsonl -o {out}/d.csv",
    "select workers": "select {in}/pools.jsonl -o {out}/d.jsonl --workers 2",
    "convert": "convert {in}/pools.jsonl -o {out}/p.jsonl",
    "convert gz": "convert {in}/pools.jsonl --to atif -o {out}/p.jsonl.gz",
    "evaluate": "evaluate {in}/pools.jsonl -k 2,4 -o {out}/e",
    "fit": "fit {in}/few.jsonl --folds 3 -o {out}/f",
    "train": "train {in}/few.jsonl --preset small --encoder hash-32 --epochs 2 --batch 16 -o {out}/n",
    "world": "lab world --count 60 -k 8 -o {out}/w.jsonl.gz",
    "embed": "lab embed {in}/pools.jsonl --encoder hash-16 --cache {out}/vectors",
    "view": "view {in}/few.jsonl -o {out}/page.html",
}


def command(name: str, inputs: Path, out: Path) -> list[str]:
    words = COMMANDS[name].replace("{in}", str(inputs)).replace("{out}", str(out)).split()
    return [sys.executable, "-m", "tracerank", *words, "--quiet"]


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file by its name, without what depends on the time of day."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or "vectors" in name:
            continue
        yield name, path.read_bytes()


def without_times(content: bytes) -> bytes:
    """The content without seconds, which no two runs share."""
    return re.sub(rb'"seconds": ?[\d.e-]+', b'"seconds": 0', content)


def check(name: str, whole: Path, killed: Path) -> None:
    """Refuse any difference between the two folders, and anything left over."""
    wanted, found = dict(files_of(whole)), dict(files_of(killed))
    assert [*found] == [*wanted]
    for path, content in wanted.items():
        assert without_times(found[path]) == without_times(content), path
    assert not [path for path in killed.rglob("*") if path.name.endswith(".tmp") or ".part" in path.name]
    if name == "embed":
        caches = [VectorCache(folder / "vectors", readonly=True) for folder in (whole, killed)]
        one, other = ([(each.fingerprint, each.count) for each in cache.encoders()] for cache in caches)
        assert one == other
        assert caches[1].check() == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_kills_end_in_the_bytes_of_an_undisturbed_run(name: str, inputs: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    began = time.monotonic()
    subprocess.run(command(name, inputs, whole), check=True, timeout=600)
    length = time.monotonic() - began
    draw, kills = random.Random(name), 0
    while kills < KILLS:
        began = time.monotonic()
        process = subprocess.Popen(command(name, inputs, killed), start_new_session=True)
        try:
            process.wait(timeout=length * draw.uniform(0.2, 0.9))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            continue
        assert process.returncode == 0  # done before the kill: once more from the beginning
        length = time.monotonic() - began
        check(name, whole, killed)
        shutil.rmtree(killed)
        killed.mkdir()
    subprocess.run(command(name, inputs, killed), check=True, timeout=600)
    check(name, whole, killed)
