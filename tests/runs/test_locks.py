"""One process at a time, whatever became of the one before."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tracerank.errors import UsageError
from tracerank.runs.locks import alone_with

HOLDING = """
import sys, time
from pathlib import Path
from tracerank.runs.locks import alone_with
with alone_with(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_name_is_held_by_one_and_free_after_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match=r"out\.jsonl: another process is writing it"), alone_with(path):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert os.listdir(tmp_path) == [".out.jsonl.lock"]
    with alone_with(path):
        pass
    assert os.listdir(tmp_path) == []


def test_a_lock_that_was_removed_meanwhile_is_not_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder removes it while we wait to look at it: then we would hold a file that nobody else can see."""
    beside, flock = tmp_path / ".out.lock", fcntl.flock
    seen: list[int] = []

    def lock(handle: int, how: int) -> None:
        seen.append(handle)
        if len(seen) == 1:
            beside.unlink()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", lock)
    with alone_with(tmp_path / "out"):
        assert len(seen) == 2
        assert beside.exists()
