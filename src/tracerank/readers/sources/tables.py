"""Tables as text, CSV and its kin, to records: one a row, the names of the header as fields.

The header alone says what parts the cells: whichever of four delimiters gives it the most names that readers know.
Rows are streamed; one that does not fit the header is named with its line. What a column means is not decided here.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracerank.errors import ReadError
from tracerank.readers.base import Record
from tracerank.readers.sources.record_fields import is_known_field

_DELIMITERS = (",", "\t", ";", "|")
_NAME = re.compile(r"[^\W\d][\w .()/-]{0,60}")
_MAX_CELL = 2**31 - 1
_MAX_OPEN_QUOTES = 100
"""Rows whose quotes are never closed and behind which reading begins anew."""


class Header(NamedTuple):
    """What the first line of a table says."""

    names: tuple[str, ...]
    delimiter: str


def header_of(first: bytes, following: bytes) -> Header | None:
    """The header of a table by its first line and what follows; None: the text is no table."""
    line = first.decode("utf-8", "replace").rstrip("\r\n")
    best: tuple[int, int, Header] | None = None
    for delimiter in _DELIMITERS:
        cells = [cell.strip() for cell in _cells(line, delimiter)]
        if len(cells) < 2 or not all(_NAME.fullmatch(cell) for cell in cells if cell):
            continue
        names = _named(cells)
        score = sum(map(is_known_field, names)), len(cells)
        if best is None or score > best[:2]:
            best = (*score, Header(names, delimiter))
    if best is None:
        return None
    return best[2] if best[0] or _goes_on(best[2], following) else None


def _goes_on(header: Header, following: bytes) -> bool:
    """Whether what follows a header of unknown names looks like its rows, and not like JSON."""
    lines = following.decode("utf-8", "replace").splitlines(keepends=True)
    try:
        rows = [row for row in csv.reader(lines, delimiter=header.delimiter) if any(row)]
    except csv.Error:
        return False
    if not rows or any(row[0].lstrip()[:1] in ("{", "[") for row in rows):
        return False
    return len(rows[0]) == len(header.names)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _named(cells: Sequence[str]) -> tuple[str, ...]:
    """The names of the columns: those that readers know in their spelling, a name that comes again with a number."""
    plain = [re.sub(r"[ .-]+", "_", cell.lower()).strip("_") for cell in cells]
    names = [known if is_known_field(known) else cell for known, cell in zip(plain, cells, strict=True)]
    return tuple(
        f"{name or 'column'}_{names[: index + 1].count(name)}" if not name or names.count(name) > 1 else name
        for index, name in enumerate(names)
    )


class Row(NamedTuple):
    """One row, or why there is none."""

    source: str
    """``file:line`` of its first line."""
    value: Record | None
    """None: it is no row, as the reason says."""
    size: int = 0
    reason: str | None = None


class _Lines:
    """The lines of a table, decoded, and those of the row that is being read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self.row: list[str] = []

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        self.row.append(next(self._lines).decode("utf-8", "replace"))
        return self.row[-1]


def iter_rows(name: str, header: Header, number: int, lines: Iterator[bytes]) -> Iterator[Row]:
    """The rows below a header that stands on line ``number``, with a reason where one does not fit it."""
    csv.field_size_limit(_MAX_CELL)
    at = number + 1
    for _ in range(_MAX_OPEN_QUOTES):
        source = _Lines(lines)
        rows = csv.reader(source, delimiter=header.delimiter)
        rest: list[str] = []
        try:
            for cells in rows:
                text, source.row = source.row, []
                if len(text) > 1 and sum(line.count('"') for line in text) % 2:
                    rest = text  # the quote that was opened here is closed nowhere
                    break
                yield from _row(name, header, at, cells, sum(map(len, text)))
                at += len(text)
        except csv.Error as error:
            yield Row(f"{name}:{at}", None, reason=f"not a row of the table ({error}); it was dropped")
            at += len(source.row)
            continue
        if not rest:
            return
        yield Row(f"{name}:{at}", None, reason="a quote is opened here and never closed; the line was dropped")
        lines = iter([line.encode() for line in rest[1:]])
        at += 1
    raise ReadError(f"{name}:{at}: too many quotes that are never closed; is this a table?")


def _row(name: str, header: Header, line: int, cells: list[str], size: int) -> Iterator[Row]:
    if not any(cell.strip() for cell in cells):
        return
    source, wanted = f"{name}:{line}", len(header.names)
    if len(cells) > wanted and any(cell.strip() for cell in cells[wanted:]):
        reason = (
            f"row of {len(cells)} cells below a header of {wanted}: a cell that holds {header.delimiter!r} needs quotes"
        )
        yield Row(source, None, reason=f"{reason}; it was dropped")
        return
    if len(cells) < wanted:
        reason = f"row of {len(cells)} cells below a header of {wanted}; those that are missing count as empty"
        yield Row(source, None, reason=reason)
    pairs = zip(header.names, cells, strict=False)
    # An empty cell is null, as in Parquet.
    yield Row(source, {field: cell if cell.strip() else None for field, cell in pairs}, size)
