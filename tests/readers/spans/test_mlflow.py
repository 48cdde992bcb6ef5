"""MLflow's traces as tables keep them, and what assessments may say."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tracerank.pools.pool import Pool
from tracerank.readers import read_pools

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = Path(__file__).parents[1] / "sdk_logs" / "fixtures" / "mlflow" / "search_traces.jsonl.gz"


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(ROWS.read_bytes()).splitlines()]


def found(pools: list[Pool]) -> list[tuple[str, str | None, list[tuple[str | None, int]]]]:
    return [
        (pool.question.text, rollout.answer, [(one.query, len(one.evidence)) for one in rollout.searches])
        for pool in pools
        for rollout in pool.rollouts
    ]


def write_csv(path: Path, columns: list[str]) -> None:
    """As pandas does it: a list or an object in a cell is what Python prints."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        table.writerows([row[name] for name in columns] for row in rows())


def write_parquet(path: Path, columns: list[str]) -> None:
    plain = [{name: row[name] for name in columns} for row in rows()]
    texts = [{k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in plain]
    pq.write_table(pa.Table.from_pylist(texts), path)


@pytest.mark.parametrize("write", [write_csv, write_parquet])
@pytest.mark.parametrize("columns", [["trace_id", "trace"], ["trace_id", "request", "response", "spans"]])
def test_a_table_of_traces_is_read_like_the_traces(tmp_path: Path, write: Any, columns: list[str]) -> None:
    path = tmp_path / "table"
    write(path, columns)
    assert found(read_pools(path)) == found(read_pools(ROWS))


def test_assessments_are_label_and_references_and_nothing_else(tmp_path: Path) -> None:
    trace = json.loads(rows()[0]["trace"])
    trace["info"]["assessments"] = [
        {"assessment_name": "politeness", "feedback": {"value": 0.0}, "rationale": "Salzach"},
        {"assessment_name": "Correctness", "feedback": {"value": "yes"}, "rationale": "Salzach"},
        {"assessment_name": "expected_response", "expectation": {"value": "The Danube"}},
        {"assessment_name": "note", "expectation": {"value": "Salzach"}},
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    (pool,) = read_pools(path)
    (rollout,) = pool.rollouts
    assert (rollout.answer, rollout.label, pool.question.references) == ("Danube", 1.0, ("The Danube",))
    assert "Salzach" not in str(pool)


def test_spans_in_the_attributes_of_older_versions_are_read(tmp_path: Path) -> None:
    trace = json.loads(rows()[0]["trace"])
    spans = [
        {
            "name": span["name"],
            "context": {"trace_id": span["trace_id"], "span_id": span["span_id"]},
            "parent_id": span["parent_span_id"],
            "start_time": span["start_time_unix_nano"],
            "end_time": span["end_time_unix_nano"],
            "status_code": "OK",
            "status_message": "",
            "attributes": span["attributes"],
            "events": [],
        }
        for span in trace["data"]["spans"]
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"info": {"request_id": "tr-1", "status": "OK"}, "data": {"spans": spans}}))
    assert found(read_pools(path)) == found(read_pools(ROWS))[:1]
