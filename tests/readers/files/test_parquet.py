"""Parquet files: rows as records, whatever the types, and damage that costs only what it hits."""

import datetime
import decimal
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.readers import Problem, read_pools
from tracerank.readers.files.parquet import iter_parquet
from tracerank.readers.files.records import RecordAt
from tracerank.readers.formats.chat import ChatReader

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(path: Path, table: Any, **options: Any) -> str:
    pq.write_table(table, path, **options)
    return str(path)


def rows(name: str) -> list[RecordAt]:
    found = list(iter_parquet(name))
    assert all(isinstance(item, RecordAt) for item in found)
    return found  # type: ignore[return-value]


def canonical(count: int) -> list[dict[str, Any]]:
    return [{"question": "Who?", "answer": f"Ada {n}", "searches": []} for n in range(count)]


def test_rows_are_records_across_row_groups(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"n": n} for n in range(200)])
    name = written(tmp_path / "x.parquet", table, row_group_size=30)
    found = rows(name)
    assert [item.value["n"] for item in found] == list(range(200))
    assert (found[0].source, found[199].source) == (f"{name}:row 1", f"{name}:row 200")
    assert all(item.size > 0 for item in found)


def test_cells_become_what_json_would_hold(tmp_path: Path) -> None:
    cells = {
        "when": datetime.datetime(2024, 5, 1, 12, 30),
        "day": datetime.date(2024, 5, 1),
        "price": decimal.Decimal("1.50"),
        "raw": b"abc",
        "other": b"\xff\xfe",
        "nested": {"a": [{"b": None}]},
        "messages": '[{"role": "user"}]',
    }
    table = pa.Table.from_pylist([cells])
    maps = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    (item,) = rows(written(tmp_path / "x", table.append_column("map", maps)))
    assert item.value == {
        "when": "2024-05-01T12:30:00",
        "day": "2024-05-01",
        "price": 1.5,
        "raw": "abc",
        "other": "//4=",
        "nested": {"a": [{"b": None}]},
        "messages": '[{"role": "user"}]',
        "map": {"k": 1},
    }
    json.dumps(item.value)


def test_a_table_of_transcripts_is_read_like_any_file(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "search", "arguments": '{"query": "q"}'}}
    messages = [
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "Doc 1(Title: A) x"},
        {"role": "assistant", "content": "Exact Answer: Ada"},
    ]
    # As data sets keep them: lists as JSON in a text column.
    table = pa.Table.from_pylist([{"question": "Who?", "messages": json.dumps(messages)}] * 2)
    (pool,) = read_pools(written(tmp_path / "x.parquet", table), reader=ChatReader())
    assert [rollout.answer for rollout in pool.rollouts] == ["Ada", "Ada"]
    assert [search.query for search in pool.rollouts[0].searches] == ["q"]
    assert pool.rollouts[1].source == f"{tmp_path / 'x.parquet'}:row 2"


def test_formats_are_recognised_by_content_whatever_the_name(tmp_path: Path) -> None:
    name = written(tmp_path / "data.bin", pa.Table.from_pylist(canonical(3)))
    (pool,) = read_pools(name)
    assert [rollout.answer for rollout in pool.rollouts] == ["Ada 0", "Ada 1", "Ada 2"]


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    name = written(tmp_path / "x.parquet", pa.Table.from_pylist(canonical(50)))
    data = Path(name).read_bytes()
    for length in (4, 5, 12, len(data) // 2, len(data) - 1):
        Path(name).write_bytes(data[:length])
        with pytest.raises(ReadError, match="damaged or cut off"):
            list(iter_parquet(name))


def test_damage_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([{"text": f"{n} " * 200} for n in range(300)])
    name = written(tmp_path / "x", table, row_group_size=100, use_dictionary=False, write_page_checksum=False)
    data = bytearray(Path(name).read_bytes())
    start = pq.ParquetFile(name).metadata.row_group(2).column(0).data_page_offset
    data[start : start + 60] = b"\xff" * 60
    Path(name).write_bytes(data)
    found = list(iter_parquet(name))
    assert sum(isinstance(item, RecordAt) for item in found) >= 192
    assert isinstance(found[-1], Problem)
    assert "what came before was read" in found[-1].reason


def test_a_row_that_is_no_text_costs_only_itself(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 3, [None, *pa.array([b"good", b"\xff\xff", b"fine"]).buffers()[1:]])
    found = list(iter_parquet(written(tmp_path / "x", pa.table({"text": broken}))))
    assert [isinstance(item, RecordAt) for item in found] == [True, False, True]


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no rows"):
        list(iter_parquet(written(tmp_path / "x", pa.table({"a": pa.array([], pa.string())}))))


def test_the_message_names_the_package_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = written(tmp_path / "x", pa.Table.from_pylist(canonical(1)))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ReadError, match=r"needs pyarrow; install it: .* -m pip install "):
        read_pools(name)
