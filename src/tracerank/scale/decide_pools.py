"""One picklable callable: a batch of rollout rows with whole questions in it to one decision row a question.

A batch is an Arrow table, a pandas frame or a dict of columns, as engines hand them out; what comes back is of the same
kind. Knows no engine and no file.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.methods import EVIDENCE, MethodOptions, load_method
from tracerank.pools.pool import Pool
from tracerank.readers import pools_of_placed
from tracerank.readers.detect import AUTO
from tracerank.readers.files.parquet import plain_value
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.grouping import Report
from tracerank.votes.base import Method, decide_stream, decision_line, with_evidence_note
from tracerank.votes.decision_table import DECISION, arrow_table
from tracerank.votes.selector import EmbedderChoice

SOURCE = "_source"
"""Column that says where a row stood, for messages and for the decision's ``source``."""
_LOADED = 2
"""Methods that a worker keeps."""


@dataclass(frozen=True)
class DecidePools:
    """Rows in, decisions out: ``DecidePools("default")(batch)``. Loads what decides once a process, when first called.

    A batch must hold all rollouts of each of its questions, in the order in which they were sampled.
    """

    method: str = EVIDENCE
    """A method, or the folder of a selector, as ``tracerank select --method`` takes it."""
    options: MethodOptions = field(default_factory=MethodOptions)
    k: int | None = None
    """Rollouts of a question that count; None: all."""
    reader: str = AUTO

    def __call__(self, batch: Any) -> Any:
        """The decisions on a batch, one row a question, in the columns that ``tracerank select -o x.parquet`` has."""
        lines = self.lines(records_of(batch))
        with needed("decision rows need", "readers", UsageError):
            import pyarrow
        table = arrow_table(pyarrow, lines, DECISION)
        if _is_of(batch, "pandas"):
            return table.to_pandas()
        return table if _is_of(batch, "pyarrow") else table.to_pydict()

    def lines(
        self,
        records: Iterable[RecordAt],
        report: Report | None = None,
        window_bytes: int | None = None,
        embedder: EmbedderChoice = None,
    ) -> Iterator[dict[str, Any]]:
        """The same of records that stand somewhere, as ``tracerank select`` writes them; problems are reported."""
        for _, line in self.decided(self.pools(records, report, window_bytes), report, embedder):
            yield line

    def pools(
        self, records: Iterable[RecordAt], report: Report | None = None, window_bytes: int | None = None
    ) -> Iterator[Pool]:
        """The pools of the records, cut to their first K rollouts."""
        for pool in pools_of_placed(records, self.reader, report, window_bytes):
            yield pool if self.k is None else pool.first(self.k)

    def decided(
        self, pools: Iterable[Pool], report: Report | None = None, embedder: EmbedderChoice = None
    ) -> Iterator[tuple[Pool, dict[str, Any]]]:
        """Each pool with its decision's row; a pool on which the method fails costs only itself, and is reported."""

        def failed(pool: Pool, reason: str) -> None:
            if report is not None:
                source = next((one.source for one in pool.rollouts if one.source), None)
                report(Problem(source or "the input", f"question {pool.question.id!r}: not decided: {reason}"))

        name, method = self.loaded(embedder)
        for pool, decision in decide_stream(method, pools, failed):
            yield pool, decision_line(pool, with_evidence_note(pool, decision), name)

    def loaded(self, embedder: EmbedderChoice = None) -> tuple[str, Method]:
        """What decides, and what its rows call it; ``embedder`` stands for the selector's own encoder."""
        return _loaded(self.method, self.options, cast(Hashable, embedder))


@lru_cache(maxsize=_LOADED)
def _loaded(method: str, options: MethodOptions, embedder: Hashable) -> tuple[str, Method]:
    """Once a process, however often an engine pickles the callable."""
    own = options
    if embedder is not None:
        # Whoever made its vectors has compared them with the selector's. An object passes where a name would.
        own = replace(own, encoder=cast(str, embedder), allow_encoder_mismatch=True)
    return method, load_method(method, own)


def records_of(batch: Any) -> Iterator[RecordAt]:
    """The rows of a batch as records, each cell as JSON would hold it."""
    if _is_of(batch, "pandas"):
        batch = {name: _cells(batch[name]) for name in batch.columns}
    if isinstance(batch, Mapping):
        columns = {
            str(name): values.tolist() if hasattr(values, "tolist") else values for name, values in batch.items()
        }
        if len({len(values) for values in columns.values()}) > 1:
            raise UsageError("the columns of a batch differ in length; give one value a row to each")
        rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    elif _is_of(batch, "pyarrow"):
        rows = batch.to_pylist()
    else:
        raise UsageError(f"expected an Arrow table, a pandas frame or a dict of columns, got {type(batch).__name__}")
    for place, row in enumerate(rows):
        record = {str(name): plain_value(value) for name, value in row.items()}
        yield RecordAt(record, str(record.pop(SOURCE, None) or f"batch:row {place + 1}"), 0)


def _cells(column: Any) -> list[Any]:
    """The values of a frame's column, None for what is missing; whole numbers that a gap made fractions are whole."""
    is_there = column.notna().tolist()
    cells = [value if has else None for value, has in zip(column.tolist(), is_there, strict=True)]
    there = [value for value in cells if value is not None]
    if not all(is_there) and there and all(isinstance(value, float) and value.is_integer() for value in there):
        return [None if value is None else int(value) for value in cells]
    return cells


def _is_of(batch: Any, library: str) -> bool:
    return type(batch).__module__.partition(".")[0] == library
