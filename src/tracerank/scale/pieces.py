"""Parquet files cut into pieces of work, from footers and the columns that name the question.

A piece is a run of row groups in which questions are whole. Where they are not, rows are first gathered by a partition
of the questions, and a piece is such a partition. Reads no transcript to plan; decides nothing and writes nothing.
"""

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson

from tracerank.errors import ReadError, UsageError
from tracerank.extras import needed
from tracerank.pools.types import Question
from tracerank.readers.base import Record
from tracerank.readers.files.field_map import FieldMap, name_and_map
from tracerank.readers.files.parquet import iter_parquet, plain_value
from tracerank.readers.files.record_fields import QUESTION_FIELDS, goes_by_bare_id, question_of
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.files.remote import is_remote, opened_remote

PIECE_BYTES = 64 * 2**20
"""Of uncompressed rows in a piece or a partition: what a worker holds, and what a kill can cost."""
PARTITION, ORDER, SOURCE, SIZE, RECORD = "partition", "order", "source", "size", "record"
"""Columns of gathered rows; a record is JSON, since files need not agree about their columns."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows that one worker takes."""

    name: str
    """Of its shard."""
    files: tuple[str, ...]
    """One, unless it is gathered."""
    groups: tuple[int, int] | None = None
    """First row group and the one behind the last; None: all, counted when it is read."""
    first: int = 0
    """Rows of the file before it."""
    rows: int = 0
    """None of ours is lost if a worker reads as many."""
    is_gathered: bool = False
    """Its rows are records with where they stood."""

    def told(self) -> str:
        """As one value, for an engine's column."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> "Piece":
        values = json.loads(text)
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

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


def plan(files: Sequence[str], reader: str, is_declared: bool = False) -> Plan:
    """The pieces of the files; ``is_declared``: whoever asks knows that no question is in two files."""
    if is_declared:
        counted = [_footer(name) for name in files]
        pieces = [_whole(number, name, found) for number, (name, found) in enumerate(zip(files, counted, strict=True))]
        return Plan(tuple(pieces), True, sum(map(_bytes, counted)), "each file holds whole questions, as declared")
    scan = _Scan(Questions.of(reader))
    for name in files:
        scan.add(name)
    return scan.plan()


def _whole(number: int, name: str, footer: Any) -> Piece:
    return Piece(f"{number:05}", (name,), (0, footer.num_row_groups), 0, footer.num_rows)


def _footer(name: str) -> Any:
    with opened(name) as file:
        return file.metadata


def _bytes(footer: Any) -> int:
    return sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))


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
class Questions:
    """Tells which question a row belongs to, from few of its columns."""

    fields: FieldMap

    @classmethod
    def of(cls, reader: str) -> "Questions":
        return cls(name_and_map(reader)[1])

    def columns(self, name: str, schema: Any) -> list[str]:
        """The columns to look at; raises where none says it."""
        mapped = {path.partition(".")[0] for ours, path in self.fields.paths.items() if ours in QUESTION_FIELDS}
        found = [one for one in schema.names if one in QUESTION_FIELDS or one in mapped]
        if not found:
            raise UsageError(
                f"{name}: no column says which question a row belongs to; name it with --map question_id=COLUMN, or "
                "give --sharded if each file holds whole questions"
            )
        return found

    def key(self, record: Record) -> str:
        """Equal for rollouts of one question; empty: nothing says which."""
        record = self.fields.applied(record, set()) if self.fields.paths else record
        question = question_of(record) or Question("", "")
        return question.text if goes_by_bare_id(record, question) else question.id


class _Scan:
    """The files, row group by row group: is every question in one run of rows?"""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._heads: list[int] = []  # a digest for each run of rows with one question
        self._parts: list[tuple[str, int, int, int, bool]] = []  # file, row group, rows, bytes, goes on from before

    def add(self, name: str) -> None:
        with opened(name) as file:
            columns = self._questions.columns(name, file.schema_arrow)
            before: str | None = None
            for number in range(file.num_row_groups):
                about = file.metadata.row_group(number)
                table = file.read_row_group(number, columns=columns, use_threads=False)
                keys = [self._questions.key(plain_value(row)) for row in table.to_pylist()]
                goes_on = bool(keys) and keys[0] == before
                for key in keys:
                    if key != before:
                        self._heads.append(int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little"))
                    before = key
                self._parts.append((name, number, about.num_rows, about.total_byte_size, goes_on))

    def plan(self) -> Plan:
        heads = np.array(self._heads, np.uint64)
        is_sharded = len(np.unique(heads)) == len(heads)
        pieces: list[Piece] = []
        begun: list[tuple[str, int, int, int, bool]] = []
        rows_before = 0
        for part in self._parts:
            is_other = bool(begun) and begun[-1][0] != part[0]
            is_full = sum(one[3] for one in begun) >= PIECE_BYTES and not (is_sharded and part[4])
            if begun and (is_other or is_full):
                pieces.append(_cut(len(pieces), begun, rows_before))
                rows_before = 0 if is_other else pieces[-1].first + pieces[-1].rows
                begun = []
            begun.append(part)
        if begun:
            pieces.append(_cut(len(pieces), begun, rows_before))
        size = sum(part[3] for part in self._parts)
        if is_sharded:
            return Plan(tuple(pieces), True, size, f"{len(heads):,} questions, each in one place: nothing is shuffled")
        found = f"{len(heads):,} runs of rows for {len(np.unique(heads)):,} questions: rows are gathered by question"
        return Plan(tuple(pieces), False, size, found)


def _cut(number: int, parts: Sequence[tuple[str, int, int, int, bool]], first: int) -> Piece:
    groups = (parts[0][1], parts[-1][1] + 1)
    return Piece(f"{number:05}", (parts[0][0],), groups, first, sum(part[2] for part in parts))


def rows_of(piece: Piece) -> Iterator[RecordAt | Problem]:
    """The rows of a piece in the order of the input."""
    if piece.is_gathered:
        yield from _gathered(piece)
        return
    (name,) = piece.files
    groups = None if piece.groups is None else range(*piece.groups)
    if not is_remote(name):
        yield from iter_parquet(name, None, groups, piece.first)
        return
    with opened_remote(name) as stream:
        yield from iter_parquet(name, stream, groups, piece.first)


def _gathered(piece: Piece) -> Iterator[RecordAt]:
    with needed("gathered rows need", "readers", ReadError):
        import pyarrow
    tables = []
    for name in piece.files:
        with opened(name) as file:
            tables.append(file.read(columns=[ORDER, SOURCE, SIZE, RECORD], use_threads=False))
    table = pyarrow.concat_tables(tables)
    for place in np.argsort(table.column(ORDER).to_numpy(), kind="stable").tolist():
        record, source, size = (table.column(name)[place].as_py() for name in (RECORD, SOURCE, SIZE))
        yield RecordAt(orjson.loads(record), source, size)


def rows_to_gather(piece: Piece, place: int, partitions: int, reader: str) -> Iterator[dict[str, Any] | Problem]:
    """The rows of a piece with the partition that each belongs to; ``place`` orders the pieces."""
    questions = Questions.of(reader)
    for number, item in enumerate(rows_of(piece)):
        if isinstance(item, Problem):
            yield item
            continue
        key = questions.key(item.value)
        yield {
            PARTITION: zlib.crc32(key.encode()) % partitions,
            ORDER: (place << 40) + number,
            SOURCE: item.source,
            SIZE: item.size,
            RECORD: orjson.dumps(item.value),
        }
