"""One callable for every engine decides exactly as ``tracerank select``."""

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import Run
from tests.scale.tables import rows_of, write_rows
from tracerank.cli.terminal import json_text
from tracerank.errors import UsageError
from tracerank.methods import MethodOptions
from tracerank.pools.pool import Pool
from tracerank.readers import RolloutWarning
from tracerank.readers.files.inputs import iter_input
from tracerank.scale import DecidePools
from tracerank.scale.decide_pools import _loaded
from tracerank.votes.decision_table import DECISION


def test_rows_are_decided_as_select_decides_them_byte_for_byte(
    run: Run, pools: list[Pool], checkpoint: Path, tmp_path: Path
) -> None:
    file = write_rows(tmp_path / "pools.parquet", rows_of(pools))
    for method in ("default", "majority", str(checkpoint)):
        assert run("select", file, "--method", method, "-o", tmp_path / "x.jsonl", "--force", "-q").exit_code == 0
        lines = DecidePools(method).lines(iter_input(file))  # type: ignore[arg-type]
        assert "".join(json_text(line) + "\n" for line in lines) == (tmp_path / "x.jsonl").read_text(encoding="utf-8")


def test_the_table_is_the_one_that_select_writes(run: Run, pools: list[Pool], tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    file = write_rows(tmp_path / "pools.parquet", rows_of(pools))
    assert run("select", file, "-k", 3, "-o", tmp_path / "x.parquet", "-q").exit_code == 0
    expected = pq.read_table(tmp_path / "x.parquet")
    batch = pq.read_table(file).append_column("_source", pa.array([f"{file}:row {n + 1}" for n in range(72)]))
    assert DecidePools(k=3)(batch).equals(expected)


def test_every_kind_of_batch_says_the_same_and_gets_its_own_kind_back(pools: list[Pool]) -> None:
    table = pa.Table.from_pylist(rows_of(pools[:4]))
    decide = DecidePools("majority")
    expected = decide(table)
    assert list(expected.column_names) == list(DECISION)
    assert decide(table.to_pydict()) == expected.to_pydict()
    frame = decide(table.to_pandas())
    assert frame["answer"].tolist() == expected["answer"].to_pylist()
    assert frame["sample_id"].tolist() == expected["sample_id"].to_pylist()


def test_columns_of_numpy_are_rows_too(pools: list[Pool]) -> None:
    frame = pa.Table.from_pylist(rows_of(pools[:2])).to_pandas()
    found = DecidePools("majority")({name: frame[name].to_numpy() for name in ("question_id", "question", "answer")})
    assert found["question_id"] == [pool.question.id for pool in pools[:2]]


def test_it_is_pickled_without_what_it_has_loaded_and_loads_once_a_process(
    pools: list[Pool], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    _loaded.cache_clear()
    from tracerank.scale import decide_pools

    whole = decide_pools.load_method
    monkeypatch.setattr(decide_pools, "load_method", lambda *given: calls.append(given[0]) or whole(*given))
    decide = DecidePools("default", MethodOptions(seed=3))
    table = pa.Table.from_pylist(rows_of(pools[:1]))
    decide(table)
    packed = pickle.dumps(decide)
    assert len(packed) < 2000
    assert pickle.loads(packed)(table).equals(decide(table))
    assert len(calls) == 1


def test_a_bad_row_is_told_and_costs_only_itself(pools: list[Pool]) -> None:
    rows: list[dict[str, Any]] = [*rows_of(pools[:2]), {"answer": "x"}]
    with pytest.warns(RolloutWarning, match="batch:row 13"):
        assert len(DecidePools("majority")(pa.Table.from_pylist(rows))) == 2


def test_a_batch_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="expected an Arrow table"):
        DecidePools()([{"question": "?"}])
    with pytest.raises(UsageError, match="differ in length"):
        DecidePools()({"question": ["?"], "answer": []})
