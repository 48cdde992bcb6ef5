"""Rollouts as rows of Parquet: the canonical fields as columns, searches and messages as nested lists."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from os import PathLike
from typing import Any, BinaryIO, get_args, get_type_hints

from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.pools.types import Document, Evidence, View

PARQUET = ".parquet"
ROWS = 256
"""Of a row group: an engine reads a group at a time, and a transcript can take megabytes."""


class RowWriter:
    """A Parquet file to which records of ``rollout_to_record`` are written as they come."""

    def __init__(self, file: BinaryIO, name: str | PathLike[str]) -> None:
        with needed(f"{name}: writing Parquet needs", "readers", UsageError):
            self._arrow: Any = import_module("pyarrow")
            parquet: Any = import_module("pyarrow.parquet")
        self._schema = canonical_schema(self._arrow)
        self._writer = parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[Mapping[str, Any]] = []

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self._flush(len(self._rows))
        self._writer.close()

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add records as rows."""
        self._rows += records
        while len(self._rows) >= ROWS:
            self._flush(ROWS)

    def _flush(self, count: int) -> None:
        if count:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows[:count], self._schema))
            del self._rows[:count]


def canonical_schema(arrow: Any) -> Any:
    """The columns of a canonical rollout; ``arrow`` is the library."""
    text, whole, number = arrow.string(), arrow.int64(), arrow.float64()
    kinds = {str: text, int: whole, float: number, bool: arrow.bool_()}

    def struct(kind: type, **parts: Any) -> Any:
        plain = ((name, get_args(hint) or (hint,)) for name, hint in get_type_hints(kind).items() if name not in parts)
        return arrow.struct([*((name, kinds[found[0]]) for name, found in plain), *parts.items()])

    call = {"id": text, "type": text, "function": arrow.struct({"name": text, "arguments": text})}
    message = {"role": text, "content": text, "reasoning_content": text, "tool_call_id": text}
    evidence = struct(Evidence, document=struct(Document))
    search = arrow.struct({"query": text, "event": whole, "evidence": arrow.list_(evidence)})
    columns = {
        **dict.fromkeys(("schema", "question_id", "question", "dataset"), text),
        "references": arrow.list_(text),
        "sample_id": whole,
        "answer": text,
        **dict.fromkeys(("label", "confidence"), number),
        "setting": text,
        "searches": arrow.list_(search),
        "views": arrow.list_(struct(View)),
        **dict.fromkeys(("problem", "source"), text),
        "messages": arrow.list_(arrow.struct({**message, "tool_calls": arrow.list_(arrow.struct(call))})),
        "usage": struct(Usage),
        "agent": text,
    }
    return arrow.schema(list(columns.items()))
