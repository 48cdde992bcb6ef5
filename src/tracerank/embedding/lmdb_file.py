"""One LMDB file: shared by the threads of a process, reopened after a fork, grown when full, its errors in words.

Knows keys and values only, nothing of texts and vectors. Without ``writemap`` the file is as long as what it holds and
a full disk is an error, not a SIGBUS; every commit is synced, so a kill or a power cut costs the open transaction only.
"""

import errno
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias, TypeVar

import lmdb

from tracerank.errors import EmbeddingError

FIRST_MAP_BYTES = 64 << 20
"""Address space, not disk: it doubles whenever the file has filled it."""
MAX_MAP_BYTES = 1 << 40
MAX_READERS = 1024
SCARCE_BYTES = 32 << 20
"""With less than this free on the disk, a failed write is blamed on it: LMDB reports a half-written page as EIO."""
_META_BYTES = 8192  # the two meta pages that every LMDB file begins with
_UNLOCKED_ATTEMPTS = 50

T = TypeVar("T")
Transaction: TypeAlias = "lmdb.Transaction[memoryview]"


class LmdbFile:
    """An open file; get one with ``open_lmdb``, because LMDB forbids a process to open a file twice."""

    def __init__(self, path: Path, is_readonly: bool, map_bytes: int, max_map_bytes: int) -> None:
        self.path = path
        self.is_readonly = is_readonly
        self.max_map_bytes = max_map_bytes
        self._gate = threading.Condition()  # the map may change only while this process has no transaction
        self._transactions = 0
        with errors_in_words(path):
            # Where the lock file cannot be written there are no locks; _read_unlocked makes up for it.
            self._lmdb = lmdb.open(
                str(path),
                subdir=False,
                create=False,
                readonly=is_readonly,
                lock=not is_readonly,
                map_size=map_bytes,
                max_readers=MAX_READERS,
            )
            last_page, page_bytes = self._lmdb.info()["last_pgno"], self._lmdb.stat()["psize"]
            if not is_readonly:
                self._lmdb.reader_check()  # frees the places of readers that were killed
        if path.stat().st_size < (last_page + 1) * page_bytes:
            self.close()
            raise _damaged(path, "its end is missing")

    def close(self) -> None:
        """Let go of the file; a process that is forked closes what it inherited."""
        self._lmdb.close()

    def read(self, action: Callable[[Transaction], T]) -> T:
        """The action's result on one snapshot; never waits for a writer of another process."""
        with errors_in_words(self.path):
            return self._read_unlocked(action) if self.is_readonly else self._run(action, write=False)

    def write(self, action: Callable[[Transaction], T]) -> T:
        """Run the action in the one write transaction there can be; all of it is stored, or nothing."""
        if self.is_readonly:
            raise EmbeddingError(
                f"{self.path.parent}: cannot be written; make the folder writable or set TRACERANK_CACHE to another"
            )
        with errors_in_words(self.path):
            while True:
                try:
                    return self._run(action, write=True)
                except lmdb.MapFullError:
                    self._grow()

    def unload(self) -> None:
        """Give back the memory of what was read, unless somebody is reading: mapped pages count as the process's."""
        with self._gate, errors_in_words(self.path):
            if self._transactions == 0:
                self._lmdb.set_mapsize(self._lmdb.info()["map_size"])

    def _run(self, action: Callable[[Transaction], T], write: bool) -> T:
        while True:
            try:
                with self._entered(), self._lmdb.begin(write=write, buffers=True) as transaction:
                    return action(transaction)
            except lmdb.MapResizedError:  # another process made it larger
                self._resize(lambda: 0)

    def _read_unlocked(self, action: Callable[[Transaction], T]) -> T:
        """Nothing tells a writer of this reader, so a snapshot counts only if no commit came in between."""
        for _ in range(_UNLOCKED_ATTEMPTS):
            before = self._lmdb.info()["last_txnid"]
            result = self._run(action, write=False)
            if self._lmdb.info()["last_txnid"] == before:
                return result
        raise EmbeddingError(f"{self.path.parent}: is being written by its owner; try again later or use a copy of it")

    def _grow(self) -> None:
        def larger() -> int:
            size = self._lmdb.info()["map_size"]
            if size >= self.max_map_bytes:
                raise EmbeddingError(
                    f"{self.path.parent}: has reached its limit of {size:,} bytes; "
                    "remove vectors with `tracerank cache prune` or set TRACERANK_CACHE to another folder"
                )
            return min(2 * size, self.max_map_bytes)

        self._resize(larger)

    def _resize(self, size: Callable[[], int]) -> None:
        with self._gate:
            self._gate.wait_for(lambda: self._transactions == 0)
            self._lmdb.set_mapsize(size())

    @contextmanager
    def _entered(self) -> Iterator[None]:
        with self._gate:
            self._transactions += 1
        try:
            yield
        finally:
            with self._gate:
                self._transactions -= 1
                self._gate.notify_all()


_open: weakref.WeakValueDictionary[tuple[int, int], LmdbFile] = weakref.WeakValueDictionary()
_opening = threading.Lock()


def _close_inherited() -> None:
    """In a forked child: LMDB's locks belong to the parent, the child opens its own."""
    global _opening
    _opening = threading.Lock()
    for file in list(_open.values()):
        file.close()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


def open_lmdb(path: Path, is_readonly: bool, map_bytes: int, max_map_bytes: int) -> LmdbFile:
    """The process's one opening of an existing file; raises FileNotFoundError when there is none."""
    with _opening:
        found = path.stat()
        if found.st_size < _META_BYTES:
            raise _damaged(path, "its beginning is missing")
        return _shared((found.st_dev, found.st_ino), path, is_readonly, map_bytes, max_map_bytes)


def create_lmdb(path: Path, map_bytes: int, max_map_bytes: int) -> LmdbFile:
    """A new empty file, or the one that another process has just made."""
    with _opening:
        path.touch()
        found = path.stat()
        return _shared((found.st_dev, found.st_ino), path, False, map_bytes, max_map_bytes)


def _shared(key: tuple[int, int], path: Path, is_readonly: bool, map_bytes: int, max_map_bytes: int) -> LmdbFile:
    file = _open.get(key)
    if file is None:
        file = _open[key] = LmdbFile(path, is_readonly, map_bytes, max_map_bytes)
    return file


@contextmanager
def errors_in_words(path: Path) -> Iterator[None]:
    """LMDB's and the system's errors as one line that names the folder and the way out."""
    try:
        yield
    except (lmdb.MapFullError, lmdb.MapResizedError):
        raise
    except lmdb.Error as error:
        raise _in_words(path, error) from None
    except MemoryError as error:  # also lmdb's own: address space has run out
        raise EmbeddingError(f"{path.parent}: no memory to map the cache ({error})") from None
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(path.parent) from None
        raise EmbeddingError(
            f"{path.parent}: {error.strerror}; set TRACERANK_CACHE to a folder that can be used"
        ) from None


def _in_words(path: Path, error: lmdb.Error) -> EmbeddingError:
    damaged = (lmdb.InvalidError, lmdb.VersionMismatchError, lmdb.CorruptedError, lmdb.PageNotFoundError)
    if isinstance(error, damaged):
        return _damaged(path, str(error))
    if isinstance(error, lmdb.DiskError) or (
        "Input/output" in str(error) and shutil.disk_usage(path.parent).free < SCARCE_BYTES
    ):
        return _disk_full(path.parent)
    if isinstance(error, lmdb.ReadersFullError):
        return EmbeddingError(f"{path.parent}: more than {MAX_READERS} readers at once; use fewer processes")
    return EmbeddingError(f"{path.parent}: the cache cannot be used: {error}; set TRACERANK_CACHE to another folder")


def _disk_full(folder: Path) -> EmbeddingError:
    return EmbeddingError(
        f"{folder}: the disk is full; free some space, run `tracerank cache prune`, or set TRACERANK_CACHE to a folder "
        "on another disk; what was stored before is safe"
    )


def _damaged(path: Path, why: str) -> EmbeddingError:
    return EmbeddingError(f"{path}: damaged ({why}); delete {path.parent} to make the cache anew")
