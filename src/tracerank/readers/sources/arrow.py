"""Rows of Parquet and Arrow files, and of frames in memory, to records.

Needs pyarrow for files. Columns that hold JSON as text are left to the readers, who know which ones they are.
"""

import base64
import datetime
import decimal
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracerank.errors import ReadError, UsageError
from tracerank.extras import needed
from tracerank.readers.base import Problem, RecordAt

_STREAM_MAGIC = b"\xff\xff\xff\xff"
"""Of an Arrow stream of batches, which is what the library ``datasets`` saves."""
MAX_RATIO = 1000
"""Decoded bytes to bytes of the file; dictionaries let a few bytes stand for gigabytes."""
_SMALL = 1 << 28
"""The ratio of what is smaller than this does not matter."""
_ROWS = 64
"""Rows decoded at a time: a transcript can take megabytes."""
_MAX_DEPTH = 64
_PLAIN = frozenset((str, int, bool, type(None)))
_UNDECODABLE = (ValueError, LookupError, TypeError, OverflowError)
"""What pyarrow raises of a row."""


def iter_parquet(name: str) -> Iterator[RecordAt | Problem]:
    """The rows of a Parquet file in order, with a Problem in the place of each that cannot be decoded."""
    return _iter_rows(name, "Parquet", _parquet_batches)


def iter_arrow(name: str) -> Iterator[RecordAt | Problem]:
    """The same of an Arrow file or stream."""
    return _iter_rows(name, "Arrow", _arrow_batches)


def _iter_rows(name: str, kind: str, batches_of: Any) -> Iterator[RecordAt | Problem]:
    with needed(f"{name}: {'an' if kind == 'Arrow' else 'a'} {kind} file needs", "readers", ReadError):
        importlib.import_module("pyarrow.parquet")
    number = 0
    # pyarrow raises OSError, ValueError (also for broken UTF-8), NotImplementedError and others of its own.
    try:
        for batch, size in batches_of(name):
            for record in _records(batch):
                number += 1
                source = f"{name}:row {number}"
                if isinstance(record, str):
                    yield Problem(source, record)
                else:
                    yield RecordAt(record, source, size // max(batch.num_rows, 1))
    except MemoryError:
        raise ReadError(f"{name}: a row is too large for this machine's memory; split the file") from None
    except (OSError, ValueError, LookupError, TypeError, NotImplementedError, OverflowError) as error:
        what = f"the {kind} data is damaged or cut off ({_one_line(error)})"
        if not number:
            raise ReadError(f"{name}: {what}, nothing could be read; fetch or write the file again") from None
        yield Problem(f"{name}:row {number + 1}", f"{what}; what came before was read, the rest is missing")
    if not number:
        raise ReadError(f"{name}: the {kind} file has no rows")


def _iter_sized(name: str, limit: int, batches: Iterable[Any]) -> Iterator[tuple[Any, int]]:
    """The batches with the bytes that their rows take; refuses more of them than a file of this size holds."""
    total, has_dictionary = 0, None
    for batch in batches:
        if has_dictionary is None:
            has_dictionary = "dictionary<" in str(batch.schema)
        size = sum(map(_decoded_bytes, batch.columns)) if has_dictionary else batch.nbytes
        total += size
        if total > limit:
            raise _bomb(name)
        yield batch, size


def _parquet_batches(name: str) -> Iterator[tuple[Any, int]]:
    module = importlib.import_module("pyarrow.parquet")
    limit = max(_SMALL, MAX_RATIO * os.path.getsize(name))
    with module.ParquetFile(name) as plain:
        groups = [plain.metadata.row_group(index) for index in range(plain.num_row_groups)]
    columns = [group.column(index) for group in groups for index in range(group.num_columns)]
    if sum(column.total_uncompressed_size for column in columns) > limit:
        raise _bomb(name)
    # A text of a dictionary may stand in every row: such columns stay dictionaries until they were measured.
    doubtful = {
        column.path_in_schema
        for column in columns
        if column.physical_type == "BYTE_ARRAY"
        and "DICTIONARY" in "".join(column.encodings)
        and column.num_values * column.total_uncompressed_size > limit
    }
    with module.ParquetFile(name, read_dictionary=sorted(doubtful) or None) as opened:
        yield from _iter_sized(name, limit, opened.iter_batches(batch_size=_ROWS, use_threads=False))


def _arrow_batches(name: str) -> Iterator[tuple[Any, int]]:
    pyarrow: Any = importlib.import_module("pyarrow")
    with pyarrow.memory_map(name) as file:
        is_stream = file.read(4) == _STREAM_MAGIC
        file.seek(0)
        opened = pyarrow.ipc.open_stream(file) if is_stream else pyarrow.ipc.open_file(file)
        batches = opened if is_stream else map(opened.get_batch, range(opened.num_record_batches))
        parts = (batch.slice(start, _ROWS) for batch in batches for start in range(0, batch.num_rows, _ROWS))
        yield from _iter_sized(name, max(_SMALL, MAX_RATIO * os.path.getsize(name)), parts)


def _bomb(name: str) -> ReadError:
    reason = f"refused: unpacks to more than {MAX_RATIO} times its size, like a zip bomb"
    return ReadError(f"{name}: {reason}; write it anew with more row groups, or as JSON Lines, if it is meant")


def _decoded_bytes(column: Any) -> int:
    """Bytes that a column takes without its dictionaries."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        lengths = compute.binary_length(column.dictionary)
        return int(compute.sum(compute.take(lengths, column.indices)).as_py() or 0)
    if types.is_struct(column.type):
        return sum(map(_decoded_bytes, column.flatten()))
    if types.is_list(column.type) or types.is_large_list(column.type):
        return _decoded_bytes(column.flatten())
    if types.is_map(column.type):
        return _decoded_bytes(column.keys) + _decoded_bytes(column.items)
    return int(column.nbytes)


def _records(batch: Any) -> Iterator[dict[str, Any] | str]:
    """The rows of a batch, with a reason in the place of each that cannot be decoded."""
    try:
        values = batch.to_pylist()
    except _UNDECODABLE:  # one row, or several: which, and why, is asked one by one
        for row in range(batch.num_rows):
            try:
                (value,) = batch.slice(row, 1).to_pylist()
            except _UNDECODABLE as error:
                yield f"the row cannot be decoded ({_one_line(error)}); it was dropped"
            else:
                yield plain_row(value)
        return
    yield from map(plain_row, values)


def rows_in(given: Any) -> Iterator[Any]:
    """The rows of a frame of pandas, polars, Daft or Ray, an Arrow table, a Hugging Face dataset, or a list."""
    if hasattr(given, "collect"):  # a lazy frame of polars or Daft
        given = given.collect()
    rows: Iterable[Any] = given
    if isinstance(given, Mapping):
        # A dictionary of data sets has one for each of its splits.
        is_split = bool(given) and all(hasattr(part, "column_names") for part in given.values())
        rows = (row for part in given.values() for row in part) if is_split else [given]
    elif hasattr(given, "iter_rows"):
        rows = given.iter_rows(named=True) if hasattr(given, "get_columns") else given.iter_rows()
    elif hasattr(given, "to_batches"):
        rows = (row for batch in given.to_batches(_ROWS) for row in batch.to_pylist())
    elif hasattr(given, "to_pylist"):
        rows = given.to_pylist()
    elif hasattr(given, "iloc"):
        names = [str(name) for name in given.columns]
        rows = (dict(zip(names, row, strict=True)) for row in given.itertuples(index=False, name=None))
    for row in rows:
        if not isinstance(row, Mapping | list):
            raise UsageError(f"expected paths, a frame or rows that are objects, got {type(row).__name__}")
        yield plain_value(row)


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON would hold it."""
    return {str(name): cell if type(cell) in _PLAIN else plain_value(cell) for name, cell in row.items()}


def plain_value(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """A cell as JSON would hold it."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, str | int):
        return value
    if hasattr(value, "tolist"):  # an array or a number of numpy's, as pandas keeps them
        value = value.tolist()
        return plain_value(value, depth - 1) if depth else None
    if depth == 0 or kind.__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Mapping):
        pairs = value.items()
        return {str(key): each if type(each) in _PLAIN else plain_value(each, depth - 1) for key, each in pairs}
    if isinstance(value, list | tuple):
        # A map column comes as pairs.
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return {str(key): plain_value(item, depth - 1) for key, item in value}
        return [plain_value(item, depth - 1) for item in value]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, bytes):
        return _text(value)
    return str(value)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
