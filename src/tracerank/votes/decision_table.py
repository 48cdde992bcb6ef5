"""Decisions as rows of a table: the columns, the kind of each, and how Arrow holds them.

A column is as wide as its kind says: what differs from record to record, such as scores by sample id, never becomes
columns. Whoever writes files or runs on an engine brings Arrow; nothing here imports it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

TEXT, WHOLE, NUMBER, TEXTS, NUMBERS, COUNTS, PLACES, SCORES, USAGE, NESTED = (
    "text",
    "whole",
    "number",
    "texts by key",
    "numbers by key",
    "counts by key",
    "list of whole numbers",
    "list of scores",
    "usage",
    "nested",
)
"""What is nested is JSON in a cell, also in Parquet: its lists hold values of several kinds."""
Columns = Mapping[str, str]
"""Name of a column to the kind of its values, any of which may be missing."""

DECISION: Columns = MappingProxyType(
    {
        "question_id": TEXT,
        "question": TEXT,
        "answer": TEXT,
        "sample_id": WHOLE,
        "scores": NUMBERS,
        "dropped": TEXTS,
        "group": PLACES,
        "confidence": NUMBER,
        "usage": USAGE,
        "note": TEXT,
        "problem": TEXT,
        "reply": TEXT,
        "counts": COUNTS,
        "method": TEXT,
        "source": TEXT,
        "score_list": SCORES,
        "escalated": NESTED,
        "missing": NESTED,
    }
)
"""What ``tracerank select`` writes."""
_LONE = re.compile("[\ud800-\udfff]")


def arrow_schema(arrow: Any, columns: Columns) -> Any:
    """The schema of a table with these columns; ``arrow`` is the library."""
    kinds = _arrow_kinds(arrow)
    return arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])


def arrow_table(arrow: Any, records: Iterable[Mapping[str, Any]], columns: Columns) -> Any:
    """The records as such a table."""
    rows = [{name: _arrow_value(row.get(name), kind) for name, kind in columns.items()} for row in records]
    return arrow.Table.from_pylist(rows, arrow_schema(arrow, columns))


def _arrow_kinds(arrow: Any) -> dict[str, Any]:
    whole, number, text = arrow.int64(), arrow.float64(), arrow.string()
    return {
        TEXT: text,
        WHOLE: whole,
        NUMBER: number,
        TEXTS: arrow.map_(text, text),
        NUMBERS: arrow.map_(text, number),
        COUNTS: arrow.map_(text, whole),
        PLACES: arrow.list_(whole),
        SCORES: arrow.list_(arrow.struct([("sample_id", whole), ("score", number)])),
        NESTED: text,
        USAGE: arrow.struct([("prompt_tokens", whole), ("completion_tokens", whole), ("calls", whole)]),
    }


def _arrow_value(value: Any, kind: str) -> Any:
    if kind == NESTED and value is not None:
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return _LONE.sub(lambda found: json.dumps(found[0])[1:-1], value)  # no UTF-8 has these
    if kind in (TEXTS, NUMBERS, COUNTS) and value is not None:
        return [(_arrow_value(key, TEXT), _arrow_value(each, TEXT)) for key, each in value.items()]
    return value
