"""Records in the format that a file's name says: JSON Lines, JSON, CSV or Parquet.

What differs from record to record, such as scores by sample id, stays in one column.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from tracerank.cli.terminal import json_text
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.runs.atomic import whole_file
from tracerank.runs.resumable import read_lines
from tracerank.votes.decision_table import Columns, arrow_schema, arrow_table

_ROWS = 1000
"""Rows of Parquet that are held at a time."""
Write = Callable[[BinaryIO, Iterator[dict[str, Any]], Columns], None]


def check_format(path: Path) -> None:
    """Refuse a name whose format cannot be written here, before any work."""
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(filter(None, FORMATS))
        raise UsageError(f"{path}: records cannot be written as {path.suffix}; name a file that ends in {known}")
    if path.suffix.lower() == ".parquet":
        _parquet(path)


def write_records(path: Path, records: Iterable[Mapping[str, Any]], columns: Columns) -> None:
    """The records in the format of the name, whole or not at all."""
    with whole_file(path) as file:
        FORMATS[path.suffix.lower()](file, map(dict, records), columns)


def finish_as(path: Path, columns: Columns) -> Callable[[Path, Path], object] | None:
    """What turns JSON Lines into the format of the name; None if they are it."""
    if FORMATS[path.suffix.lower()] is _lines:
        return None
    return partial(_convert, columns=columns)


def _convert(part: Path, path: Path, columns: Columns) -> None:
    write_records(path, read_lines(part), columns)


def _lines(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    for record in records:
        file.write(json_text(record).encode() + b"\n")


def _json(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    file.write(b"[")
    for index, record in enumerate(records):
        file.write((b",\n" if index else b"\n") + json_text(record).encode())
    file.write(b"\n]\n")


def _csv(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    # With the mark by which spreadsheets recognise UTF-8.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(record.get(name)) for name in columns] for record in records)
    text.detach()


def _cell(value: object) -> object:
    from tracerank.evaluation.tables import safe_cell

    if isinstance(value, str):
        return safe_cell(value)
    return json_text(value) if isinstance(value, dict | list) else value


def _parquet_rows(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    arrow, parquet = _parquet(Path(getattr(file, "name", "")))
    with parquet.ParquetWriter(file, arrow_schema(arrow, columns)) as writer:
        while block := list(islice(records, _ROWS)):
            writer.write_table(arrow_table(arrow, block, columns))


def _parquet(path: Path) -> tuple[Any, Any]:
    with needed(f"{path}: writing Parquet needs", "readers", UsageError):
        return import_module("pyarrow"), import_module("pyarrow.parquet")


FORMATS: Mapping[str, Write] = MappingProxyType(
    {"": _lines, ".jsonl": _lines, ".ndjson": _lines, ".json": _json, ".csv": _csv, ".parquet": _parquet_rows}
)
"""By the end of the file's name."""
