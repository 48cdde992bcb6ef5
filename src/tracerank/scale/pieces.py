"""Parquet files cut into pieces of work, from footers and the columns that name the question.

A piece is a run of row groups in which questions are whole. Where they are not, rows are first gathered by a partition
of the questions (``gathering.py``), and a piece is such a partition. Decides nothing and writes nothing.
"""

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tracerank.errors import ReadError, UsageError
from tracerank.extras import needed
from tracerank.readers.files.parquet import iter_parquet
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.files.remote import is_remote, opened_remote
from tracerank.scale.questions import Named, Questions, digest

PIECE_BYTES = 64 * 2**20
"""Of uncompressed rows in a piece or a partition: what a worker reads, and what a kill can cost."""
SMALL_PIECE_BYTES = 8 * 2**20
"""The same where more than the rows is held: all vectors of a piece, or the rows that are on their way."""
_PARQUET = (".parquet", ".pq")
_AT_ONCE = 65_536
"""Rows of a row group that are looked at together."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows that one worker takes."""

    name: str
    """Of its shard."""
    files: tuple[str, ...]
    """One, unless it is gathered."""
    groups: tuple[int, int] | None = None
    """First row group and the one behind the last; None: all."""
    first: int = 0
    """Rows of the file before it."""
    rows: int = 0
    """As many must be read, or the file has changed."""
    is_gathered: bool = False
    """Its rows are records with where they stood."""
    is_in_runs: bool = False
    """The rows of a question are known to follow each other, so a pool need not be kept open for long."""

    def record(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Piece":
        groups = values["groups"]
        return cls(**{**values, "files": tuple(values["files"]), "groups": None if groups is None else tuple(groups)})


@dataclass(frozen=True, slots=True)
class Plan:
    """How the files are cut."""

    pieces: tuple[Piece, ...]
    is_sharded: bool
    """Each question is whole in its piece; False: rows have to be gathered first."""
    bytes: int
    """Of all rows, uncompressed."""
    why: str
    """What was found, for the user."""
    problems: tuple[Problem, ...] = ()
    """Files that were left out."""

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "pieces": [piece.record() for piece in self.pieces]}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Plan":
        pieces = tuple(Piece.of(piece) for piece in values["pieces"])
        return cls(**{**values, "pieces": pieces, "problems": tuple(Problem(**one) for one in values["problems"])})


def plan(
    files: Sequence[str],
    reader: str,
    is_declared: bool = False,
    *,
    piece_bytes: int | None = None,
    are_named: bool = True,
) -> Plan:
    """The pieces of the files; ``is_declared``: whoever asks knows that no question is in two files.

    ``are_named``: by the user, so that each must be readable; files of a folder may be left out.
    """
    scan = _Scan(Questions.of(reader), is_declared)
    problems: list[Problem] = []
    for name in files:
        try:
            scan.add(name)
        except ReadError as error:
            if are_named or not name.lower().endswith(_PARQUET):
                raise
            problems.append(Problem(name, f"{str(error).removeprefix(f'{name}: ')}; the file was left out"))
    if not scan.rows:
        first = f"; the first problem: {problems[0]}" if problems else ""
        raise ReadError(f"{files[0]}{' and others' if len(files) > 1 else ''}: no rows to decide on{first}")
    return scan.plan(piece_bytes, tuple(problems))


@contextmanager
def opened(name: str) -> Iterator[Any]:
    """A Parquet file, here or behind an address."""
    with needed(f"{name}: a Parquet file needs", "readers", ReadError):
        import pyarrow.parquet as parquet
    try:
        if is_remote(name):
            with opened_remote(name) as stream, parquet.ParquetFile(stream) as file:
                yield file
        else:
            with parquet.ParquetFile(name) as file:
                yield file
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ReadError(f"{name}: cannot be read as Parquet ({reason}); engines read Parquet files only") from None


@dataclass(frozen=True, slots=True)
class _Part:
    """A row group."""

    file: str
    number: int
    rows: int
    bytes: int
    goes_on: bool
    """Its first question began in the one before."""


class _Scan:
    """The files, row group by row group: is every question in one run of rows?"""

    def __init__(self, questions: Questions, is_declared: bool) -> None:
        self._questions = questions
        self._is_declared = is_declared
        self._heads = array("Q")  # a digest for each run of rows with one key
        self._ids, self._keys = array("Q"), array("Q")  # digests of each id that was met, and of its key
        self._parts: list[_Part] = []

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self._parts)

    def add(self, name: str) -> None:
        """Look at a file, or at its footer alone where nothing is to be found out."""
        parts: list[_Part] = []
        heads, ids, keys = array("Q"), array("Q"), array("Q")
        with opened(name) as file:
            before: Named | None = None
            for number in range(file.num_row_groups):
                about = file.metadata.row_group(number)
                goes_on = False
                if not self._is_declared:
                    columns = self._questions.columns(file.schema_arrow.names)
                    is_first = True
                    batches = file.iter_batches(_AT_ONCE, row_groups=[number], columns=columns, use_threads=False)
                    for named in (one for batch in batches for one in self._questions.of_rows(batch)):
                        if not named.key:
                            continue  # a bad row is in nobody's way
                        is_same = before is not None and named.key == before.key
                        goes_on = goes_on or (is_first and is_same)
                        is_first = False
                        if not is_same:
                            heads.append(digest(named.key))
                        if named != before:
                            ids.append(digest(named.id))
                            keys.append(digest(named.key))
                        before = named
                if about.num_rows:
                    parts.append(_Part(name, number, about.num_rows, about.total_byte_size, goes_on))
            if not self._is_declared and parts and not keys:
                raise UsageError(
                    f"{name}: no column says which question a row belongs to; name it with --map question_id=COLUMN, "
                    "or give --sharded if each file holds whole questions"
                )
        self._parts += parts
        self._heads += heads
        self._ids += ids
        self._keys += keys

    def plan(self, piece_bytes: int | None, problems: tuple[Problem, ...]) -> Plan:
        size = sum(part.bytes for part in self._parts)
        if self._is_declared:
            pieces = self._cut(None, is_in_runs=False)
            return Plan(pieces, True, size, "each file holds whole questions, as declared", problems)
        heads, ids, keys = (np.frombuffer(one, np.uint64) for one in (self._heads, self._ids, self._keys))
        count = len(np.unique(heads))
        order = np.lexsort((keys, ids))
        is_same_id = ids[order][1:] == ids[order][:-1]
        if (is_same_id & (keys[order][1:] != keys[order][:-1])).any():
            raise UsageError(
                "some rows have the same id and ask different things; say which column is the question's id "
                "(--map question_id=COLUMN), give --sharded if each file holds whole questions, or take --engine local"
            )
        if count == len(heads):
            pieces = self._cut(piece_bytes or PIECE_BYTES, is_in_runs=True)
            why = f"{count:,} questions, each in one place: nothing is shuffled"
            return Plan(pieces, True, size, why, problems)
        pieces = self._cut(SMALL_PIECE_BYTES, is_in_runs=False)
        why = f"{len(heads):,} runs of rows for {count:,} questions: rows are gathered by question"
        return Plan(pieces, False, size, why, problems)

    def _cut(self, piece_bytes: int | None, *, is_in_runs: bool) -> tuple[Piece, ...]:
        """The parts as pieces of about this size, never of two files; None: a file is a piece."""
        cut: list[list[_Part]] = []
        size = 0
        for part in self._parts:
            is_full = piece_bytes is not None and size >= piece_bytes and not (is_in_runs and part.goes_on)
            if not cut or is_full or cut[-1][-1].file != part.file:
                cut.append([])
                size = 0
            cut[-1].append(part)
            size += part.bytes
        pieces: list[Piece] = []
        for number, parts in enumerate(cut):
            file, groups = parts[0].file, (parts[0].number, parts[-1].number + 1)
            before = pieces[-1] if pieces and pieces[-1].files == (file,) else None
            first = 0 if before is None else before.first + before.rows
            rows = sum(part.rows for part in parts)
            pieces.append(Piece(f"{number:05}", (file,), groups, first, rows, is_in_runs=is_in_runs))
        return tuple(pieces)


def rows_of(piece: Piece) -> Iterator[RecordAt | Problem]:
    """The rows of a piece that lies in its file, in the order of the input."""
    (name,) = piece.files
    groups = None if piece.groups is None else range(*piece.groups)
    if not is_remote(name):
        yield from iter_parquet(name, None, groups, piece.first)
        return
    with opened_remote(name) as stream:
        yield from iter_parquet(name, stream, groups, piece.first)


def is_mark(name: str) -> bool:
    """Whether a file of a folder only says that others are complete, as Spark and Hadoop write them."""
    return os.path.basename(name).startswith("_") and not name.lower().endswith(_PARQUET)
