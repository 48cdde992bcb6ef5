"""A SQLite file opened for reading and nothing else: no write beside it, no code of the file run, bounded work.

Only columns that a table really stores are shown: views, virtual tables and computed columns could run what the file
says. Where a journal lies beside the file, a private copy of both is read, since the last changes stand in it and
SQLite would write to settle it. What the tables mean is read in ``sqlite_stores.py``.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracerank.errors import ReadError

if TYPE_CHECKING:
    from sqlite3 import Connection

SQLITE_MAGIC = b"SQLite format 3\0"
JOURNALS = ("-wal", "-journal")
BESIDE = (*JOURNALS, "-shm")
"""Endings of the files that SQLite keeps beside a store."""

_MAX_VALUE_BYTES = 1 << 28
_MAX_TABLES = 1000
_STEPS_AT_ONCE = 100_000
_STEPS, _STEPS_A_BYTE = 20_000_000, 100
"""Of SQLite's machine: a sound file needs a few for each byte, a tree that runs in circles never ends."""


class DamagedFile(ReadError):
    """A file that SQLite itself cannot read to its end."""


class Tables:
    """The tables of an open file: which columns they have, and their rows."""

    def __init__(self, name: str, connection: "Connection") -> None:
        self._name = name
        self._connection = connection
        found = self.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        plain = [str(table) for table, sql in found if isinstance(sql, str) and not _is_virtual(sql)][:_MAX_TABLES]
        self.columns: Mapping[str, frozenset[str]] = {table: self._columns(table) for table in plain}
        """By table, in the order of their making."""

    def _columns(self, table: str) -> frozenset[str]:
        stored = self.rows("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", table)
        return frozenset(str(column) for (column,) in stored)

    def with_columns(self, *columns: str) -> str | None:
        """The first table that has these columns, whatever its name; None: there is none."""
        return next((quoted(table) for table, own in self.columns.items() if own.issuperset(columns)), None)

    def rows(self, query: str, *values: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one; raises DamagedFile."""
        import sqlite3

        try:
            cursor = self._connection.execute(query, values)
            while (row := cursor.fetchone()) is not None:
                yield row
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            what = " ".join(str(error).split())[:200] or type(error).__name__
            raise DamagedFile(f"{self._name}: the SQLite file cannot be read ({what}); copy it again") from None


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def opened(name: str) -> Iterator[Tables]:
    """The tables of a file, which stays as it is."""
    try:
        import sqlite3
    except ImportError:
        raise ReadError(f"{name}: is a SQLite file, which this Python was built without; export it as JSON") from None
    with _settled(name) as (path, options):
        try:
            connection = sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise ReadError(f"{name}: the SQLite file cannot be opened ({error}); copy it again") from None
        try:
            _confine(connection, sum(os.path.getsize(part) for part in _parts(str(path))))
            yield Tables(name, connection)
        finally:
            connection.close()


def _confine(connection: "Connection", size: int) -> None:
    import sqlite3

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for setting in ("trusted_schema = OFF", "query_only = ON", "mmap_size = 0", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {setting}")
    left = (_STEPS + _STEPS_A_BYTE * size) // _STEPS_AT_ONCE

    def is_over() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(is_over, _STEPS_AT_ONCE)


def _is_virtual(sql: str) -> bool:
    return sql.lstrip()[:14].upper() == "CREATE VIRTUAL"


def _parts(name: str) -> list[str]:
    """The file and its journals, as far as something stands in them."""
    beside = [name + ending for ending in JOURNALS]
    return [name, *(path for path in beside if os.path.isfile(path) and os.path.getsize(path))]


@contextmanager
def _settled(name: str) -> Iterator[tuple[Path, str]]:
    """The file, or a private copy with its journals, and how to open it."""
    if len(_parts(name)) == 1:
        yield Path(name), "mode=ro&immutable=1"
        return
    with tempfile.TemporaryDirectory(prefix="tracerank-") as folder:
        copy = os.path.join(folder, "store")
        before = _state(name)
        for part in before:
            shutil.copyfile(part, copy + part[len(name) :])
        if _state(name) != before:
            reason = "the SQLite file is being written; stop the agent, or read a copy (sqlite3 .backup)"
            raise ReadError(f"{name}: {reason}")
        yield Path(copy), "mode=rw"  # the journal is played into the copy


def _state(name: str) -> dict[str, tuple[int, int]]:
    """Sizes and times of the file and its journals, by which a change is noticed."""
    return {part: ((found := os.stat(part)).st_size, found.st_mtime_ns) for part in _parts(name)}
