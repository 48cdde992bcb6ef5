"""Records in the format that a file's name says: JSON Lines, JSON, CSV or Parquet.

All of them are made at the end from JSON Lines that were written as results came, so a kill loses nothing. A column is
as wide as its kind says: what differs from record to record, such as scores by sample id, never becomes columns.
"""

import csv
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, get_args, get_type_hints

from tracerank.cli.terminal import json_text
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.runs.atomic import whole_file
from tracerank.votes.decision_table import COUNTS, NESTED, NUMBER, TEXT, WHOLE, Columns, arrow_schema, arrow_table


def _columns_of(kind: type) -> Columns:
    """By the fields of a dataclass."""
    kinds = {str: TEXT, int: WHOLE, float: NUMBER}
    hints = get_type_hints(kind).items()
    return {name: next((kinds[one] for one in (hint, *get_args(hint)) if one in kinds), COUNTS) for name, hint in hints}


_ROWS = 1000
"""Rows of Parquet that are held at a time."""

Write = Callable[[BinaryIO, Iterator[dict[str, Any]], Columns], None]


def check_format(path: Path) -> None:
    """Refuse a name whose format nobody can write here, before any work."""
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(filter(None, FORMATS))
        raise UsageError(f"{path}: no records can be written as {path.suffix}; name a file that ends in {known}")
    if path.suffix.lower() == ".parquet":
        _parquet(path)


def write_records(path: Path, records: Iterable[Mapping[str, Any]], columns: Columns) -> None:
    """The records in the format of the name, whole or not at all."""
    with whole_file(path) as file:
        FORMATS[path.suffix.lower()](file, map(dict, records), columns)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file of JSON Lines."""
    with open(path, "rb") as file:
        yield from map(json.loads, file)


def _lines(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    for record in records:
        file.write(json_text(record).encode() + b"\n")


def _json(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    file.write(b"[")
    for place, record in enumerate(records):
        file.write((b",\n" if place else b"\n") + json_text(record).encode())
    file.write(b"\n]\n")


def _csv(file: BinaryIO, records: Iterator[dict[str, Any]], columns: Columns) -> None:
    # With the mark that spreadsheets tell UTF-8 by.
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


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """Where records of an evaluation go: a folder that stays, or a file that is made of one at the end."""

    folder: Path
    file: Path | None

    @classmethod
    def named(cls, path: Path, force: bool) -> "RecordsFile":
        """A file where the name has the end of one, unless a folder of that name is there."""
        if not path.suffix or path.suffix.lower() not in FORMATS or path.is_dir():
            return cls(path, None)
        check_format(path)
        if path.exists() and not force:
            raise UsageError(f"{path}: exists already; choose another name or overwrite it with --force")
        return cls(path.with_name(f"{path.name}.part"), path)

    def finish(self) -> None:
        """Make the file of the folder, which then goes."""
        if self.file is None:
            return
        from tracerank.evaluation.records import CONFIG, RECORDS, Record

        columns = {**_columns_of(Record), "dropped": COUNTS, "counts": COUNTS, "escalated": NESTED}
        write_records(self.file, read_lines(self.folder / RECORDS), columns)
        if set(os.listdir(self.folder)) >= {CONFIG, RECORDS}:
            shutil.rmtree(self.folder)
