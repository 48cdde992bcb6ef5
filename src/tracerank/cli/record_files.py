"""Records in the format that a file's name says: JSON Lines, JSON, CSV or Parquet.

What differs from record to record, such as scores by sample id, stays in one column.
"""

import csv
import io
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from tracerank.cli.terminal import json_text
from tracerank.errors import UsageError
from tracerank.evaluation.tables import safe_cell
from tracerank.extras import needed
from tracerank.runs.atomic import whole_file
from tracerank.runs.resumable import read_lines
from tracerank.votes.decision_table import Columns, arrow_schema, arrow_table

LINES = ("", ".jsonl", ".ndjson")
_ROWS = 1000
"""Rows of Parquet that are held at a time."""


def check_format(path: Path) -> None:
    """Refuse a name whose format cannot be written here, before any work."""
    kind = path.suffix.lower()
    if kind not in FORMATS and kind not in LINES:
        known = ", ".join((*LINES[1:], *FORMATS))
        raise UsageError(f"{path}: records cannot be written as {path.suffix}; name a file that ends in {known}")
    if kind == ".parquet":
        _parquet(path)


def finish_records(part: Path, path: Path, columns: Columns) -> None:
    """Make the file of complete JSON Lines, in the format of its name."""
    if path.suffix.lower() in LINES:
        part.replace(path)
        return
    with whole_file(path) as file:
        FORMATS[path.suffix.lower()](file, read_lines(part), columns)


def _write_json(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    file.write(b"[")
    for index, record in enumerate(records):
        file.write((b",\n" if index else b"\n") + json_text(record).encode())
    file.write(b"\n]\n")


def _write_csv(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    # With the mark by which spreadsheets recognise UTF-8.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(record.get(name)) for name in columns] for record in records)
    text.detach()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return safe_cell(value)
    return json_text(value) if isinstance(value, dict | list) else value


def _write_parquet(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    arrow, parquet = _parquet(Path(file.name))
    with parquet.ParquetWriter(file, arrow_schema(arrow, columns)) as writer:
        while block := list(islice(records, _ROWS)):
            writer.write_table(arrow_table(arrow, block, columns))


def _parquet(path: Path) -> tuple[Any, Any]:
    with needed(f"{path}: writing Parquet needs", "readers", UsageError):
        return import_module("pyarrow"), import_module("pyarrow.parquet")


FORMATS = {".json": _write_json, ".csv": _write_csv, ".parquet": _write_parquet}
"""By the end of the file's name; the others are JSON Lines."""
