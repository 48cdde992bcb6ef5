"""Pools as Parquet: rows in the canonical form, in files cut by question or not."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool


def rows_of(pools: Iterable[Pool]) -> list[dict[str, Any]]:
    """Rows that all have the same fields: Arrow takes the columns of the first."""
    rows = [rollout_to_record(pool.question, rollout) for pool in pools for rollout in pool.rollouts]
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def write_rows(path: Path, rows: Sequence[dict[str, Any]], group: int = 16) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path, row_group_size=group)
    return path


def scattered(folder: Path, pools: Sequence[Pool], files: int = 3) -> Path:
    """Files over which every question's rollouts are spread."""
    rows = rows_of(pools)
    for number in range(files):
        write_rows(folder / f"{number}.parquet", rows[number::files])
    return folder
