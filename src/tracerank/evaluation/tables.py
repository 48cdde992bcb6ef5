"""A report's tables: raw values with the kind of each column, and the texts that are made of them.

Values are rounded in ``shown`` alone; CSV and JSON hold them as they are.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int | float | None

TEXT, COUNT, PERCENT, POINTS = "text", "count", "percent", "points"
NUMBER, PRECISE = "number", "precise"
_FORMATS: Mapping[str, Callable[[float], str]] = {
    PERCENT: lambda value: f"{100 * value:.1f}",
    POINTS: lambda value: f"{round(100 * value, 1) + 0.0:+.1f}",  # plus zero, so that -0.0 is +0.0
    PRECISE: lambda value: f"{value:.3g}",
}
"""The others are shown as whole numbers or with one digit."""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column, and how its values are shown."""

    name: str
    kind: str = PERCENT
    """``percent`` and ``points`` are shares between 0 and 1 (or their differences), shown as hundredths."""


def columns(heads: str) -> tuple[Column, ...]:
    """The columns of ``NAME:KIND, NAME, ...``."""
    return tuple(Column(name, kind or PERCENT) for name, _, kind in (head.partition(":") for head in heads.split(", ")))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of raw values; the first column names the row."""

    name: str
    """For files and machines."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()

    def shown_rows(self) -> list[list[str]]:
        """Every cell as text."""
        return [
            [shown(value, column.kind) for value, column in zip(row, self.columns, strict=True)] for row in self.rows
        ]

    def as_json(self) -> dict[str, Any]:
        """Unrounded, a mapping per row."""
        names = [column.name for column in self.columns]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"name": self.name, "title": self.title, "rows": rows, "notes": list(self.notes)}


def shown(value: Value, kind: str) -> str:
    """A cell for people; a dash where the value is unknown."""
    if value is None or isinstance(value, str):
        return "–" if value is None else value
    if kind in _FORMATS:
        return _FORMATS[kind](value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def markdown(tables: Sequence[Table], title: str) -> str:
    """A document of all tables."""
    parts = [f"# {_inert(title)}"]
    for table in tables:
        head = [_inert(column.name) for column in table.columns]
        rule = ["---" if column.kind == TEXT else "---:" for column in table.columns]
        rows = [head, rule, *([_inert(cell) for cell in row] for row in table.shown_rows())]
        parts += [f"## {_inert(table.title)}", "\n".join(f"| {' | '.join(row)} |" for row in rows), *table.notes]
    return "\n\n".join(parts) + "\n"


def csv_text(table: Table) -> str:
    """One table as CSV, unrounded; what is unknown is empty."""
    rows = [[column.name for column in table.columns], *table.rows]
    text = io.StringIO()
    cells = ([safe_cell(value) if isinstance(value, str) else value for value in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(cells)
    return text.getvalue()


_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)*%?")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def safe_cell(text: str) -> str:
    """A text that no spreadsheet runs as a formula: with an apostrophe before it, as spreadsheets themselves write.

    Texts of rollouts quote web pages, which can hold anything; controls are spelled out.
    """
    text = _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _inert(text: str) -> str:
    """Names come from files: nothing in them may end a cell or become markup."""
    return re.sub(r"([\\|<>`*_\[\]])", r"\\\1", " ".join(text.split()))
