"""A picklable callable from a batch of rollout rows to a batch of decisions.

A batch is an Arrow table, a pandas frame or a dict of columns, as engines pass them; the result is of the same kind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.methods import EVIDENCE, MethodOptions, load_method
from tracerank.readers import pools_of_placed
from tracerank.readers.detect import AUTO
from tracerank.readers.files.parquet import plain_value
from tracerank.readers.files.records import RecordAt
from tracerank.readers.grouping import Report
from tracerank.votes.base import decide_stream, decision_line, with_evidence_note
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

    def __call__(self, batch: Any) -> Any:
        """One row a question, in the columns of ``tracerank select -o x.parquet``."""
        table = self.decided(_arrow(batch))
        if isinstance(batch, Mapping):
            return table.to_pydict()
        return table.to_pandas() if hasattr(batch, "iloc") else table

    def decided(self, rows: Any, report: Report | None = None) -> Any:
        """The same of an Arrow table; ``report`` receives rows that cannot be read."""
        import pyarrow

        return arrow_table(pyarrow, self._lines(rows, report), DECISION)

    def _lines(self, rows: Any, report: Report | None) -> Iterator[dict[str, Any]]:
        pools = pools_of_placed(_records(rows), self.reader, report)
        first = pools if self.k is None else (pool.first(self.k) for pool in pools)
        method = _loaded(self.method, self.options)
        for pool, decision in decide_stream(method, first, lambda pool, reason: None):  # the row has the reason
            yield decision_line(pool, with_evidence_note(pool, decision), self.method)


_loaded = lru_cache(maxsize=2)(load_method)


def _arrow(batch: Any) -> Any:
    with needed("batches need", "readers", UsageError):
        import pyarrow
    try:
        if isinstance(batch, Mapping):
            return pyarrow.table({name: pyarrow.array(list(each), from_pandas=True) for name, each in batch.items()})
        return batch if isinstance(batch, pyarrow.Table) else pyarrow.Table.from_pandas(batch, preserve_index=False)
    except (pyarrow.ArrowException, AttributeError, TypeError) as error:
        raise UsageError(
            f"expected an Arrow table, a pandas frame or a dict of columns, got {type(batch).__name__} ({error})"
        ) from None


def _records(rows: Any) -> Iterator[RecordAt]:
    """The rows of an Arrow table as records, each cell as JSON would hold it."""
    for index, row in enumerate(row for batch in rows.to_batches(_AT_ONCE) for row in batch.to_pylist()):
        record = {str(name): plain_value(value) for name, value in row.items()}
        yield RecordAt(record, str(record.pop(SOURCE, None) or f"batch:row {index + 1}"), 0)
