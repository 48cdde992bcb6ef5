"""A picklable callable from an Arrow table of rollouts to one of decisions."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.methods import EVIDENCE, MethodOptions, load_method
from tracerank.readers import pools_of_placed
from tracerank.readers.base import RecordAt
from tracerank.readers.detect import AUTO
from tracerank.readers.runs.pools import Report
from tracerank.readers.sources.arrow import plain_row
from tracerank.votes.base import decide_stream, decision_line
from tracerank.votes.decision_table import DECISION, arrow_table

SOURCE = "_source"
"""Optional column with the file of a row, for messages and for the ``source`` of a decision."""
_AT_ONCE = 256
"""Rows that are turned into Python objects together."""


@dataclass(frozen=True)
class DecidePools:
    """Rows in, decisions out: ``DecidePools("majority")(batch)``. The method is loaded once a process, on first use.

    A batch must hold all rollouts of each of its questions, in the order in which they were sampled.
    """

    method: str = EVIDENCE
    """A method's name or folder, as ``tracerank select --method`` takes it."""
    options: MethodOptions = field(default_factory=MethodOptions)
    k: int | None = None
    """Only the first ``k`` rollouts of a question count; None: all."""
    reader: str = AUTO

    def __call__(self, rows: Any, report: Report | None = None) -> Any:
        """One row a question, in the columns of ``tracerank select -o x.parquet``; both tables are of Arrow.

        ``report`` receives rows that cannot be read; without it each is a warning.
        """
        with needed("batches need", "readers", UsageError):
            import pyarrow
        if not isinstance(rows, pyarrow.Table):
            raise UsageError(f"expected an Arrow table, got {type(rows).__name__}; Ray: batch_format='pyarrow'")
        pools = pools_of_placed(_records(rows), self.reader, report)
        first = pools if self.k is None else (pool.first(self.k) for pool in pools)
        decided = decide_stream(_loaded(self.method, self.options), first, lambda pool, reason: None)  # in the row
        lines = (decision_line(pool, decision, self.method) for pool, decision in decided)
        return arrow_table(pyarrow, lines, DECISION)


_loaded = lru_cache(maxsize=2)(load_method)


def _records(rows: Any) -> Iterator[RecordAt]:
    """The rows of an Arrow table as records, each cell as JSON would hold it."""
    for index, row in enumerate(row for batch in rows.to_batches(_AT_ONCE) for row in batch.to_pylist()):
        record = plain_row(row)
        yield RecordAt(record, str(record.pop(SOURCE, None) or f"batch:row {index + 1}"), 0)
