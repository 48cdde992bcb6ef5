"""Ray Data: a hash shuffle puts the rows of a part together, a pool of actors decides on parts.

Ray spills a shuffle that exceeds its object store to disk and repeats the task of a worker that died.
"""

import logging
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.scale.decide_pools import SOURCE
from tracerank.scale.job import PART, ROW, Job

STORE_BYTES = 512 * 2**20
"""Object store of a Ray that is started here."""
MAX_PARTITIONS = 256
"""Of the shuffle; each takes memory while it lasts."""


def decide_on_ray(job: Job) -> Iterator[dict[str, Any]]:
    """Decide on the missing parts, yielding each with its error."""
    with needed("--engine ray needs", "ray", UsageError):
        import ray
        import ray.data
        from ray.data.expressions import monotonically_increasing_id
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if not ray.is_initialized():
        here = {"num_cpus": job.workers + 1, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        where: dict[str, Any] = {} if os.environ.get("RAY_ADDRESS") else here
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
    ray.data.DataContext.get_current().enable_progress_bars = False
    read = partial(ray.data.read_parquet, list(job.files), partitioning=None)
    columns = read().schema().names
    # Ray gives the file of a row under this name.
    rows = read() if "path" in columns else read(include_paths=True).rename_columns({"path": SOURCE})
    placed = partial(_with_parts, key=job.key_column(columns), job=job)
    rows = rows.with_column(ROW, monotonically_increasing_id()).map_batches(placed, batch_format="pyarrow")
    decided = rows.groupby(PART, num_partitions=min(len(job.missing), MAX_PARTITIONS)).map_groups(
        _Worker,
        fn_constructor_args=(job,),
        batch_format="pyarrow",
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=job.workers),
    )
    yield from decided.iter_rows()


class _Worker:
    """An actor that decides on parts."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, rows: Any) -> dict[str, list[Any]]:
        return {"part": [rows.column(PART)[0].as_py()], "error": [self._job.decide_part(rows)]}


def _with_parts(rows: Any, *, key: str, job: Job) -> Any:
    """The rows of missing parts, each with its part."""
    from pyarrow import array, compute, int64

    parts = array(job.parts_of(rows.column(key).to_pylist()), int64())
    return rows.append_column(PART, parts).filter(compute.is_in(parts, array(sorted(job.missing), int64())))
