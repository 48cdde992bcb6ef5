"""Decisions in the format that a file's name says: JSON Lines, JSON, CSV or Parquet.

What differs from decision to decision, such as scores by sample id, stays in one column.
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
from tracerank.votes.decision_table import DECISION, arrow_schema, arrow_table

LINES = ("", ".jsonl", ".ndjson")
_ROWS = 1000
"""Rows of Parquet that are held at a time."""


def check_format(path: Path) -> None:
    """Refuse a name whose format cannot be written here, before any work."""
    if path.suffix.lower() not in (*LINES, *_FORMATS):
        known = ", ".join((*LINES[1:], *_FORMATS))
        raise UsageError(f"{path}: decisions cannot be written as {path.suffix}; name a file that ends in {known}")
    if path.suffix.lower() == ".parquet":
        _parquet(path)


def finish_decisions(part: Path, path: Path) -> None:
    """Make the file of complete JSON Lines, in the format of its name."""
    if path.suffix.lower() in LINES:
        part.replace(path)
        return
    with whole_file(path) as file:
        _FORMATS[path.suffix.lower()](file, read_lines(part))


def _write_json(file: BinaryIO, records: Iterator[dict[str, Any]]) -> None:
    file.write(b"[")
    for index, record in enumerate(records):
        file.write((b",\n" if index else b"\n") + json_text(record).encode())
    file.write(b"\n]\n")


def _write_csv(file: BinaryIO, records: Iterator[dict[str, Any]]) -> None:
    # With the mark by which spreadsheets recognise UTF-8.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(DECISION)
    writer.writerows([_cell(record.get(name)) for name in DECISION] for record in records)
    text.detach()


def _cell(value: object) -> object:
    if isinstance(value, str):
        return safe_cell(value)
    return json_text(value) if isinstance(value, dict | list) else value


def _write_parquet(file: BinaryIO, records: Iterator[dict[str, Any]]) -> None:
    arrow, parquet = _parquet(Path(file.name))
    with parquet.ParquetWriter(file, arrow_schema(arrow, DECISION)) as writer:
        while block := list(islice(records, _ROWS)):
            writer.write_table(arrow_table(arrow, block, DECISION))


def _parquet(path: Path) -> tuple[Any, Any]:
    with needed(f"{path}: writing Parquet needs", "readers", UsageError):
        return import_module("pyarrow"), import_module("pyarrow.parquet")


_FORMATS = {".json": _write_json, ".csv": _write_csv, ".parquet": _write_parquet}
"""By the end of the file's name; the others are JSON Lines."""
