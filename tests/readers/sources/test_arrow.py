"""Parquet and Arrow files and frames: rows as records, bounded, and damage that costs only what it hits."""

import datetime
import decimal
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError, UsageError
from tracerank.readers import Problem, read_pools
from tracerank.readers.base import RecordAt
from tracerank.readers.detect import READERS
from tracerank.readers.sources.arrow import iter_parquet

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
    (pool,) = read_pools(written(tmp_path / "x.parquet", table), reader=READERS["openai-chat"])
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


# ---- more rows than bytes


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_dictionary_that_stands_for_gigabytes_is_refused(tmp_path: Path, is_nested: bool) -> None:
    count = 2000
    texts: Any = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array(["x" * 1_000_000]))
    if is_nested:
        texts = pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), texts)
    table = pa.table({"question": ["Who?"] * len(texts), "answer": texts})
    name = written(tmp_path / "x.parquet", table, compression="zstd", store_schema=False)
    assert Path(name).stat().st_size < 1500
    with pytest.raises(ReadError, match=r"x\.parquet: refused: unpacks to more than 1000 times its size"):
        list(iter_parquet(name))


def test_a_dictionary_that_stands_in_many_rows_is_read(tmp_path: Path) -> None:
    table = pa.table({"question": ["Who is it that the texts are about?" * 20] * 20_000})
    assert len(rows(written(tmp_path / "x.parquet", table, compression="zstd"))) == 20_000


# ---- frames

FRAME_ROWS = [
    {"question": "Who?", "answer": "Ada", "confidence": 0.5},
    {"question": "Who?", "answer": "Bob", "confidence": None},
]


class Dataset:
    """What ``datasets.Dataset`` has in common with others: names of columns, and rows when iterated."""

    column_names = ("question", "answer", "confidence")

    def __iter__(self) -> Any:
        return iter(FRAME_ROWS)


class Polars:
    """What a frame of polars looks like: iterating it gives columns."""

    def __iter__(self) -> Any:
        return iter((["Who?"], ["Ada"]))

    def get_columns(self) -> Any:
        return list(self)

    def iter_rows(self, *, named: bool) -> Any:
        assert named
        return iter(FRAME_ROWS)


class Daft:
    """What a frame of Daft looks like, of which rows are objects; one of Ray has no ``collect``."""

    def collect(self) -> "Daft":
        return self

    def iter_rows(self) -> Any:
        return iter(FRAME_ROWS)


def pandas_frame() -> Any:
    return pytest.importorskip("pandas").DataFrame(FRAME_ROWS)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda: FRAME_ROWS, lambda: iter(FRAME_ROWS), pandas_frame, Polars, Daft, Dataset),
        *(lambda: pa.Table.from_pylist(FRAME_ROWS), lambda: pa.RecordBatch.from_pylist(FRAME_ROWS)),
    ],
)
def test_pools_are_read_from_frames_and_lists(make: Any) -> None:
    (pool,) = read_pools(make())
    assert [(one.answer, one.confidence, one.source) for one in pool.rollouts] == [
        ("Ada", 0.5, "rows:[0]"),
        ("Bob", None, "rows:[1]"),
    ]


def test_splits_are_read_together_and_fields_mapped() -> None:
    (pool,) = read_pools({"train": Dataset(), "test": Dataset()})
    assert len(pool) == 4
    (pool,) = read_pools([{"q": "Who?", "a": "Ada"}], fields={"question": "q", "answer": "a"})
    assert pool.rollouts[0].answer == "Ada"


def test_chats_in_memory_are_read_as_those_of_a_file() -> None:
    chat = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ada"}]
    for given in (chat, [chat], [{"messages": chat}]):
        assert read_pools(given)[0].rollouts[0].answer == "Ada"


@pytest.mark.parametrize("given", [5, [5], [{"question": "?"}, "x"]])
def test_what_has_no_rows_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="expected paths, a frame or rows that are objects"):
        read_pools(given)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_arrow_files_and_saved_data_sets_are_read(tmp_path: Path, kind: str) -> None:
    table = pa.Table.from_pylist(FRAME_ROWS)
    for name in ("state.json", "dataset_info.json"):
        (tmp_path / name).write_text('{"about": "the data set"}')
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as file, new(file, table.schema) as writer:
        writer.write_table(table)
    problems: list[Problem] = []
    (pool,) = read_pools(tmp_path, on_problem=problems.append)
    assert ([one.answer for one in pool.rollouts], problems) == (["Ada", "Bob"], [])
    data = (tmp_path / "data.arrow").read_bytes()
    (tmp_path / "data.arrow").write_bytes(data[: len(data) // 2])
    with pytest.raises(ReadError, match="the Arrow data is damaged"):
        read_pools(tmp_path / "data.arrow")
