"""Locks on files that end with the process that holds them; taking one never waits."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracerank.errors import UsageError


@contextmanager
def alone_with(path: Path, beside: Path | None = None) -> Iterator[None]:
    """Keep other processes from writing the file of this name; raises UsageError if one does.

    The lock is on a file beside it, which is removed at the end.
    """
    beside = beside or path.with_name(f".{path.name}.lock")
    handle = _lock(beside, path)
    try:
        yield
    finally:
        with suppress(OSError):
            if _is_at(handle, beside):
                beside.unlink()  # while it is held: a process that opened it meanwhile sees that it is gone
        os.close(handle)


def _lock(beside: Path, path: Path) -> int:
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise UsageError(f"{path}: another process is writing it; wait for it, or choose another name") from None
        except OSError:
            return handle  # this file system has no locks
        if _is_at(handle, beside):
            return handle
        os.close(handle)  # the process that held it has just removed or renamed the file


def _is_at(handle: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), os.stat(path))
    return False
