"""Decisions as rows of a table: the columns, the kind of each, and how Arrow holds them.

What differs from record to record, such as scores by sample id, stays in one column. Callers bring Arrow; nothing here
imports it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

TEXT, WHOLE, NUMBER, COUNTS, NESTED = "text", "whole", "number", "counts by key", "nested"
"""What is nested is JSON in a cell, also in Parquet: its lists hold values of several kinds."""
_TEXTS, _NUMBERS, _USAGE = "texts by key", "numbers by key", "usage"
_WHOLES, _SCORES = "list of whole numbers", "list of scores"
Columns = Mapping[str, str]
"""Name of a column to the kind of its values, any of which may be missing."""

DECISION: Columns = MappingProxyType(
    {
        **dict.fromkeys(("question_id", "question", "answer"), TEXT),
        "sample_id": WHOLE,
        "scores": _NUMBERS,
        "dropped": _TEXTS,
        "group": _WHOLES,
        "confidence": NUMBER,
        "basis": TEXT,
        "rank_score": NUMBER,
        "usage": _USAGE,
        **dict.fromkeys(("note", "problem", "reply"), TEXT),
        "counts": COUNTS,
        **dict.fromkeys(("method", "source"), TEXT),
        "score_list": _SCORES,
        **dict.fromkeys(("escalated", "missing", "claims", "lacks", "reports"), NESTED),
    }
)
"""What ``tracerank select`` writes."""
_LONE = re.compile("[\ud800-\udfff]")


def arrow_schema(arrow: Any, columns: Columns) -> Any:
    """The schema of a table with these columns; ``arrow`` is the library."""
    whole, number, text = arrow.int64(), arrow.float64(), arrow.string()
    kinds = {
        TEXT: text,
        WHOLE: whole,
        NUMBER: number,
        NESTED: text,
        _TEXTS: arrow.map_(text, text),
        _NUMBERS: arrow.map_(text, number),
        COUNTS: arrow.map_(text, whole),
        _WHOLES: arrow.list_(whole),
        _SCORES: arrow.list_(arrow.struct([("sample_id", whole), ("score", number)])),
        _USAGE: arrow.struct([("prompt_tokens", whole), ("completion_tokens", whole), ("calls", whole)]),
    }
    return arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])


def arrow_table(arrow: Any, records: Iterable[Mapping[str, Any]], columns: Columns) -> Any:
    """The records as such a table."""
    rows = [{name: _arrow_value(row.get(name), kind) for name, kind in columns.items()} for row in records]
    return arrow.Table.from_pylist(rows, arrow_schema(arrow, columns))


def _arrow_value(value: Any, kind: str) -> Any:
    if kind == NESTED and value is not None:
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return _LONE.sub(lambda found: json.dumps(found[0])[1:-1], value)  # no UTF-8 has these
    if kind in (_TEXTS, _NUMBERS, COUNTS) and value is not None:
        return [(_arrow_value(key, TEXT), _arrow_value(each, TEXT)) for key, each in value.items()]
    return value
