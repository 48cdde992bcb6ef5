"""Cells for people, values for machines."""

import csv
import io

import pytest

from tracerank.evaluation.tables import (
    COUNT,
    NUMBER,
    PERCENT,
    POINTS,
    PRECISE,
    TEXT,
    Column,
    Table,
    Value,
    csv_text,
    markdown,
    shown,
)

TABLE = Table("main", "accuracy", (Column("method", TEXT), Column("a|b"), Column("n", COUNT)), (("x", 1 / 3, 7),))


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1 / 3, PERCENT, "33.3"),
        (0.0312, POINTS, "+3.1"),
        (-0.0001, POINTS, "+0.0"),
        (-0.05, POINTS, "-5.0"),
        (1234567, COUNT, "1,234,567"),
        (1234.56, NUMBER, "1,234.6"),
        (0.000123456, PRECISE, "0.000123"),
        (None, PERCENT, "–"),
        ("x", TEXT, "x"),
    ],
)
def test_cells_are_rounded_for_people(value: Value, kind: str, text: str) -> None:
    assert shown(value, kind) == text


def test_csv_and_json_are_unrounded() -> None:
    assert csv_text(TABLE) == f"method,a|b,n\nx,{1 / 3},7\n"
    assert TABLE.as_json()["rows"] == [{"method": "x", "a|b": 1 / 3, "n": 7}]


def test_names_from_files_cannot_break_a_markdown_table() -> None:
    hostile = Table("t", "t", (Column("method", TEXT), Column("v")), (("a | b\n| <img src=x> [l](u) `c`", None),))
    line = markdown([hostile], "title").splitlines()[-1]
    assert line == r"| a \| b \| \<img src=x\> \[l\](u) \`c\` | – |"


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\n=1", "\uff1d1+1", "\uff0bcmd", "\uff0dx", "\uff20x"]
)
def test_a_text_that_a_spreadsheet_would_run_is_defused(text: str) -> None:
    table = Table("t", "t", (Column("method", TEXT),), ((text,),))
    [[_], [cell]] = csv.reader(io.StringIO(csv_text(table)))
    assert cell == f"'{text}"


@pytest.mark.parametrize("text", ["-42", "+1,000.5", "-3%", "plain = text", "\rx"])
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    table = Table("t", "t", (Column("method", TEXT),), ((text,),))
    [[_], [cell]] = csv.reader(io.StringIO(csv_text(table)))
    assert cell == text.replace("\r", "\\r")
