"""Who works on a file: a lock that goes with its holder, however that ends. Waits for nobody.

Of what other processes see, only the lock itself; where the system has none, everybody gets it.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracerank.errors import UsageError


def holds(handle: int) -> bool:
    """Take the lock of an open file, until it is closed or this process ends; whether nobody else has it."""
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
    """Nobody else works on what will have this name; raises UsageError if somebody does."""
    beside = path.with_name(f".{path.name}.lock")
    handle = _taken(beside, path)
    try:
        try:
            yield
        finally:
            with suppress(OSError):
                beside.unlink()  # while it is held: who opened it meanwhile sees that it is gone
    finally:
        os.close(handle)


def _taken(beside: Path, path: Path) -> int:
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        is_ours = holds(handle)
        if is_ours and _is_file(handle, beside):
            return handle
        os.close(handle)
        if not is_ours:
            raise UsageError(f"{path}: another process is writing it; wait for it, or choose another name")
        # Else whoever had it was just removing it.


def _is_file(handle: int, path: Path) -> bool:
    """Whether an open file still is the one of this name."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
