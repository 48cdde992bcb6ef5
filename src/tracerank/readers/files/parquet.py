"""Parquet files to records, one a row, streamed by row group.

Needs pyarrow, which is optional. Columns that hold JSON as text are left to the readers, who know which ones they are.
"""

import base64
import datetime
import decimal
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracerank.errors import ReadError
from tracerank.extras import needed
from tracerank.readers.files.records import Problem, RecordAt

_ROWS = 64
"""Rows decoded at a time: a transcript can take megabytes."""

_DEEPEST = 64
_PLAIN = frozenset((str, int, float, bool, type(None)))
_UNDECODABLE = (ValueError, LookupError, TypeError, OverflowError)
"""What pyarrow raises of a row."""


def iter_parquet(
    name: str, file: Any = None, groups: Sequence[int] | None = None, first: int = 0
) -> Iterator[RecordAt | Problem]:
    """The rows of a Parquet file in order, with a Problem in the place of each that cannot be decoded.

    ``file`` is what to read where the name cannot be opened here; ``groups`` the row groups that are wanted, with
    ``first`` rows before them.
    """
    with needed(f"{name}: a Parquet file needs", "readers", ReadError):
        module = importlib.import_module("pyarrow.parquet")
    number = first
    # pyarrow raises OSError, ValueError (also for broken UTF-8), NotImplementedError and others of its own.
    try:
        with module.ParquetFile(name if file is None else file) as opened:
            for batch in opened.iter_batches(batch_size=_ROWS, row_groups=groups, use_threads=False):
                size = batch.nbytes // max(batch.num_rows, 1)
                for record in _records(batch):
                    number += 1
                    source = f"{name}:row {number}"
                    yield Problem(source, record) if isinstance(record, str) else RecordAt(record, source, size)
    except MemoryError:
        raise ReadError(f"{name}: a row is too large for this machine's memory; split the file") from None
    except (OSError, ValueError, LookupError, TypeError, NotImplementedError, OverflowError) as error:
        what = f"the Parquet data is damaged or cut off ({_one_line(error)})"
        if number == first:
            raise ReadError(f"{name}: {what}, nothing could be read; fetch or write the file again") from None
        yield Problem(f"{name}:row {number + 1}", f"{what}; what came before was read, the rest is missing")
    if number == first:
        raise ReadError(f"{name}: the Parquet file has no rows")


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
                yield _record(value)
        return
    yield from map(_record, values)


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): plain_value(cell) for name, cell in row.items()}


def plain_value(value: Any, depth: int = _DEEPEST) -> Any:
    """A cell as JSON would hold it."""
    if type(value) in _PLAIN or isinstance(value, str | int | float):
        return value
    if hasattr(value, "tolist"):  # an array or a number of numpy's, as pandas keeps them
        value = value.tolist()
        return plain_value(value, depth - 1) if depth else None
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        return {str(key): plain_value(item, depth - 1) for key, item in value.items()}
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
