"""Locks on files that end with the process that holds them; taking one never waits."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracerank.errors import UsageError


def holds(handle: int) -> bool:
    """Take the lock of an open file until it is closed; False if another process holds it."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Keep other processes from writing the file of this name; raises UsageError if one does."""
    beside = path.with_name(f".{path.name}.lock")
    handle = _lock(beside, path)
    try:
        yield
    finally:
        with suppress(OSError):
            beside.unlink()  # while it is held: a process that opened it meanwhile sees that it is gone
        os.close(handle)


def _lock(beside: Path, path: Path) -> int:
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        is_ours = holds(handle)
        with suppress(FileNotFoundError):
            if is_ours and os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        os.close(handle)
        if not is_ours:
            raise UsageError(f"{path}: another process is writing it; wait for it, or choose another name")
        # Otherwise the process that held it has just removed the file.
