"""Rollouts as rows of Parquet."""

import json
from io import BytesIO

import pytest
from hypothesis import HealthCheck, given, settings

from tests.pools.test_atif_export import QUESTION, ROLLOUT
from tests.pools.test_canonical import questions, rollouts
from tracerank.pools.arrow_rows import ROWS, RowWriter
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout

parquet = pytest.importorskip("pyarrow.parquet")


def test_rows_are_written_in_groups_of_the_same_size_and_the_rest_at_the_end() -> None:
    file = BytesIO()
    with RowWriter(file, "x.parquet") as writer:
        for begin, end in ((0, 100), (100, 2 * ROWS + 50), (2 * ROWS + 50, 2 * ROWS + 60)):
            writer.write(rollout_to_record(QUESTION, Rollout(number, "x")) for number in range(begin, end))
    written = parquet.ParquetFile(file)
    assert [written.metadata.row_group(index).num_rows for index in range(written.num_row_groups)] == [ROWS, ROWS, 60]
    assert written.read().column("sample_id").to_pylist() == list(range(2 * ROWS + 60))


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(questions, rollouts)
def test_any_rollout_comes_back_from_a_row(question: Question, rollout: Rollout) -> None:
    _comes_back(question, rollout)


def test_a_rollout_with_everything_comes_back_from_a_row() -> None:
    _comes_back(QUESTION, ROLLOUT)


def _comes_back(question: Question, rollout: Rollout) -> None:
    file = BytesIO()
    record = json.loads(json.dumps(rollout_to_record(question, rollout)).encode("utf-8", "replace"))
    with RowWriter(file, "x.parquet") as writer:
        writer.write([record])
    (row,) = parquet.read_table(file).to_pylist()
    assert record_to_parsed(row)[:2] == record_to_parsed(record)[:2]
