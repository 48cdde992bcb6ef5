"""Which question a row belongs to, told from few of its columns, so that files can be cut between questions.

Coarser than the grouping of ``readers/grouping.py``, never finer: what that brings together has one key here. Where no
column says it, the row is read by its reader, as ``select`` would.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.errors import TraceRankError
from tracerank.pools.types import Question
from tracerank.readers import pools_of_placed
from tracerank.readers.base import Record
from tracerank.readers.files.field_map import FieldMap, name_and_map
from tracerank.readers.files.parquet import plain_value
from tracerank.readers.files.record_fields import QUESTION_FIELDS, goes_by_bare_id, question_of
from tracerank.readers.files.records import RecordAt


@dataclass(frozen=True, slots=True)
class Named:
    """What a row says about its question."""

    key: str
    """Equal for rollouts of one question; empty: nothing says which."""
    id: str
    """The question's id, which must not lead to two keys."""


NOBODY = Named("", "")


@dataclass(frozen=True, slots=True)
class Questions:
    """Tells the question of a row."""

    reader: str
    fields: FieldMap

    @classmethod
    def of(cls, reader: str) -> "Questions":
        return cls(reader, name_and_map(reader)[1])

    def columns(self, names: Sequence[str]) -> list[str]:
        """The columns to look at: those that may name the question, or all if none of them does."""
        mapped = {path.partition(".")[0] for ours, path in self.fields.paths.items() if ours in QUESTION_FIELDS}
        return [one for one in names if one in QUESTION_FIELDS or one in mapped] or list(names)

    def of_rows(self, table: Any) -> list[Named]:
        """For each row of an Arrow table; rows that are alike, one behind the other, are looked at once."""
        found: list[Named] = []
        before: Mapping[str, Any] | None = None
        for row in table.to_pylist():
            if row != before:
                named = self.of_record(plain_value(row))
            found.append(named)
            before = row
        return found

    def of_record(self, record: Record) -> Named:
        mapped = self.fields.applied(record, set()) if self.fields.paths else record
        question = question_of(mapped)
        if question is None:
            question = self._read(record)
        if not question.id:
            return NOBODY
        # A mere id may be that of the run: such rollouts come together by what was asked.
        key = normalize_text(question.text) if goes_by_bare_id(mapped, question) else question.id
        return Named(key, question.id)

    def _read(self, record: Record) -> Question:
        """What the reader of the record makes of it."""
        nobody = Question("", "")
        try:
            placed = [RecordAt(record, "row:1", 0)]
            return next((pool.question for pool in pools_of_placed(placed, self.reader, lambda _: None)), nobody)
        except TraceRankError:
            return nobody  # told when it is decided on


def digest(text: str) -> int:
    """Eight bytes that stand for a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
