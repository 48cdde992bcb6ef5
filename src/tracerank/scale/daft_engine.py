"""Daft: a partitioned write puts the rows of a part together, worker processes decide on parts.

The write streams, so that memory depends on the number of parts more than on the size of the input.
"""

from collections.abc import Iterator
from typing import Any

from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.scale.decide_pools import SOURCE
from tracerank.scale.job import PART, ROW, ROWS, Job, OutputFolder

ROW_GROUP_BYTES = 32 * 2**10
"""Rows that Daft holds for each part before it writes them; by default it would hold the whole input."""

UNORDERED = "rollouts have no sample_id and Daft keeps no order of rows: add the column, or use --engine ray or local"


def decide_on_daft(job: Job) -> Iterator[dict[str, Any]]:
    """Decide on the missing parts, yielding each with its error."""
    daft: Any
    with needed("--engine daft needs", "daft", UsageError):
        import daft
        from daft.functions import monotonically_increasing_id

    @daft.func.batch(return_dtype=daft.DataType.int64())  # type: ignore[untyped-decorator]
    def part_of(keys: Any) -> list[int]:
        return job.parts_of(keys.to_pylist())

    @daft.cls(max_concurrency=job.workers, use_process=job.workers > 1)
    class Worker:
        @daft.method(return_dtype=daft.DataType.string())  # type: ignore[untyped-decorator]
        def decided(self, part: int) -> str:
            rows = OutputFolder(job.output).table(f"{ROWS}/{PART}={part}")
            is_ordered = job.is_numbered(rows.column_names) or len(rows.column(name).unique()) == len(rows)
            return job.decide_part(rows) if is_ordered else UNORDERED

    rows = daft.read_parquet(list(job.files), file_path_column=SOURCE)
    name = job.key_column(rows.column_names)
    rows = rows.with_column(ROW, monotonically_increasing_id()).with_column(PART, part_of(daft.col(name)))
    rows = rows.where(daft.col(PART).is_in(sorted(job.missing)))
    with daft.execution_config_ctx(parquet_target_row_group_size=ROW_GROUP_BYTES, scantask_max_parallel=job.workers):
        written = rows.write_parquet(f"{job.output}/{ROWS}", partition_cols=[PART]).to_pydict()
    if parts := sorted(set(written.get(PART, []))):
        frame = daft.from_pydict({"part": parts}).into_batches(1)  # so that workers share them evenly
        yield from frame.with_column("error", Worker().decided(daft.col("part"))).iter_rows()
