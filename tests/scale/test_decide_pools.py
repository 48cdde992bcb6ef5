"""One callable for every engine decides exactly as ``tracerank select``."""

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.scale.tables import rows_of, write_rows
from tracerank.errors import UsageError
from tracerank.methods import MethodOptions, load_method
from tracerank.pools.pool import Pool
from tracerank.readers import RolloutWarning, iter_pools
from tracerank.scale import DecidePools
from tracerank.votes.base import decide_stream, decision_line
from tracerank.votes.decision_table import DECISION, arrow_table


def test_rows_are_decided_as_the_local_loop_decides_them(pools: list[Pool], tmp_path: Path) -> None:
    file = write_rows(tmp_path / "pools.parquet", rows_of(pools))
    method = load_method("evidence")
    first = (pool.first(3) for pool in iter_pools(file))
    expected = [decision_line(*each, "evidence") for each in decide_stream(method, first)]
    batch = pq.read_table(file).append_column("_source", pa.array([f"{file}:row {n + 1}" for n in range(72)]))
    found = DecidePools(k=3)(batch)
    assert found.equals(arrow_table(pa, expected, DECISION))
    assert found["source"][0].as_py().startswith(f"{file}:row ")


def test_it_is_pickled_without_the_method(pools: list[Pool]) -> None:
    decide = DecidePools("evidence", MethodOptions(seed=3))
    table = pa.Table.from_pylist(rows_of(pools[:1]))
    expected = decide(table)
    packed = pickle.dumps(decide)
    assert len(packed) < 2000
    assert pickle.loads(packed)(table).equals(expected)


def test_a_bad_row_is_reported_and_costs_only_itself(pools: list[Pool]) -> None:
    rows: list[dict[str, Any]] = [*rows_of(pools[:2]), {"answer": "x"}]
    with pytest.warns(RolloutWarning, match="batch:row 13"):
        assert len(DecidePools("majority")(pa.Table.from_pylist(rows))) == 2


def test_anything_else_than_a_batch_is_refused() -> None:
    with pytest.raises(UsageError, match="expected an Arrow table"):
        DecidePools()([{"question": "?"}])
