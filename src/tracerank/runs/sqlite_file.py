"""One SQLite file in WAL mode for the threads and processes of one machine: short transactions, errors in one line."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tracerank.errors import TraceRankError

BUSY_SECONDS = 60.0
_ELSEWHERE = "set TRACERANK_CACHE to another folder"
_REASONS = {
    sqlite3.SQLITE_BUSY: f"in use by another process for more than {BUSY_SECONDS:g} s; try again later",
    sqlite3.SQLITE_FULL: "the disk is full; free some space, or set TRACERANK_CACHE to a folder on another disk",
    sqlite3.SQLITE_READONLY: f"cannot be written; make its folder writable, or {_ELSEWHERE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened or made; {_ELSEWHERE}",
}


class SqliteFile:
    """A file with given tables; safe to share between threads, to fork and to pickle."""

    def __init__(
        self, path: Path, tables: str, mark: int, error: type[TraceRankError], *, synced: bool, readonly: bool = False
    ) -> None:
        """``mark``: number in the header by which the file is known as ours; ``synced``: survives power cuts whole."""
        self.path, self._error = path, error
        self._synchronous = "FULL" if synced else "NORMAL"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise error(f"{path}: {problem.strerror}; {_ELSEWHERE}") from None
        # Without write access SQLite cannot keep its locks; "immutable" reads what was last checkpointed.
        is_locked = path.exists() and not os.access(path.parent, os.W_OK)
        self._address = f"{path.absolute().as_uri()}{'?immutable=1' if is_locked else ''}"
        self.readonly = readonly or is_locked
        with self.open() as file:
            if not self.readonly and file.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                file.execute("PRAGMA journal_mode = WAL")  # readers do not wait for a writer
                file.executescript(f"BEGIN IMMEDIATE; {tables} PRAGMA application_id = {mark}; COMMIT;")
            if file.execute("PRAGMA application_id").fetchone() != (mark,):
                raise error(f"{path}: a file of another program; move it away, or {_ELSEWHERE}")

    def check_writable(self) -> None:
        """Raise unless the file can be written."""
        if self.readonly:
            raise self._error(f"{self.path}: {_REASONS[sqlite3.SQLITE_READONLY]}")

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction, so that threads and forked processes share nothing."""
        try:
            with closing(sqlite3.connect(self._address, BUSY_SECONDS, isolation_level=None, uri=True)) as file, file:
                file.execute(f"PRAGMA synchronous = {self._synchronous}")
                yield file
        except sqlite3.Error as problem:
            reason = _REASONS.get(getattr(problem, "sqlite_errorcode", 0) & 0xFF)
            reason = reason or f"damaged, or of another program ({problem}); move it away, or {_ELSEWHERE}"
            raise self._error(f"{self.path}: {reason}") from None
