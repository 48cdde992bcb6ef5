"""Files to records: shapes of files, compression, and damage."""

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.sources import json_lines
from tracerank.readers.sources.json_lines import PATIENCE, iter_records, read_one

ROWS = [{"n": 1, "text": "é"}, {"n": 2}, {"n": 3}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def file(folder: Path, content: str | bytes, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def values(path: Path) -> list[Any]:
    return [item.value for item in iter_records(path) if isinstance(item, RecordAt)]


def problems(path: Path) -> list[str]:
    return [str(item).removeprefix(f"{path}:") for item in iter_records(path) if isinstance(item, Problem)]


@pytest.mark.parametrize(
    "content",
    [
        LINES,
        LINES.rstrip("\n"),
        LINES.replace("\n", "\r\n"),
        "\n\n" + LINES.replace("\n", "\n \n"),
        "\ufeff" + LINES,
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        "\ufeff\n" + json.dumps(ROWS, indent=1),
        "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]\n",
    ],
)
def test_every_shape_of_file_gives_the_same_records(tmp_path: Path, content: str) -> None:
    assert values(file(tmp_path, content)) == ROWS
    assert values(file(tmp_path, gzip.compress(content.encode()), "misnamed.json")) == ROWS


def test_records_know_their_line_and_size(tmp_path: Path) -> None:
    path = file(tmp_path, '{"n": 1}\n\n{"n": 22}\n')
    first, second = iter_records(path)
    assert first == RecordAt({"n": 1}, f"{path}:1", 8)
    assert second == RecordAt({"n": 22}, f"{path}:3", 10)


def test_elements_of_an_array_know_their_index(tmp_path: Path) -> None:
    path = file(tmp_path, json.dumps(ROWS))
    assert [item.source for item in iter_records(path)] == [f"{path}:[{index}]" for index in range(3)]


def test_a_broken_line_is_a_problem_and_reading_goes_on(tmp_path: Path) -> None:
    path = file(tmp_path, '{"n": 1}\n{"n": "cut\ngarbage\n[1]\n"text"\n{"n": 2}\n')
    assert values(path) == [{"n": 1}, {"n": 2}]
    found = problems(path)
    assert [line.partition(":")[0] for line in found] == ["2", "3", "4", "5"]
    assert all("expected a JSON object" in line for line in found)


def test_a_broken_first_line_is_a_problem_too(tmp_path: Path) -> None:
    for broken in ('{"n": "cut', '{"n": 1, "m":', '{"n": [', "[INFO] starting", "header"):
        path = file(tmp_path, broken + "\n" + LINES)
        assert values(path) == ROWS, broken
        assert len(problems(path)) == 1


def test_a_cut_array_gives_its_whole_elements(tmp_path: Path) -> None:
    path = file(tmp_path, json.dumps(ROWS)[:-4])
    assert values(path) == ROWS[:2]
    assert problems(path) == ["[2]: the JSON array breaks off here; what came before was read"]


def test_a_bad_element_does_not_cost_its_siblings(tmp_path: Path) -> None:
    path = file(tmp_path, '[{"n": 1, "s": "a]}\\",[{"}, {"n": nope}, 5, null, {"n": NaN}, {"n": 3}] tail')
    assert [value["n"] for value in values(path)][0::2] == [1, 3]
    assert len(problems(path)) == 4


def test_nan_lone_surrogates_and_broken_utf8_are_read(tmp_path: Path) -> None:
    path = file(tmp_path, b'{"a": NaN}\n{"\\ud800k": ["x\\udc00y", {"z": "\\ud83d\\ude00"}]}\n{"a": "\xff"}\n')
    first, second, third = values(path)
    assert first["a"] != first["a"]
    assert second == {"\ufffdk": ["x\ufffdy", {"z": "\U0001f600"}]}
    assert third == {"a": "\ufffd"}


def test_deep_nesting_is_a_problem(tmp_path: Path) -> None:
    path = file(tmp_path, '{"n": 1}\n{"n": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    assert values(path) == [{"n": 1}]
    assert "nested too deeply" in problems(path)[0]
    deep = file(tmp_path, '[{"n": 1}, ' + '{"n":' * 5000 + "1" + "}" * 5000 + ', {"n": 2}]')
    assert values(deep) == [{"n": 1}, {"n": 2}]


def test_a_number_of_too_many_digits_is_told_without_advice_to_programs() -> None:
    found = read_one(b'{"n": ' + b"9" * 5000 + b"}", "x:1")
    assert isinstance(found, Problem)
    assert "value has 5000 digits); expected a JSON object, it was dropped" in found.reason


def test_a_cut_gzip_stream_gives_what_could_be_read(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"n": number, "noise": os.urandom(30).hex()}) + "\n" for number in range(2000))
    packed = gzip.compress(lines.encode())
    path = file(tmp_path, packed[: len(packed) // 2])
    found = values(path)
    assert 500 < len(found) < 2000
    assert [value["n"] for value in found] == list(range(len(found)))
    assert "gzip data is damaged or cut off" in problems(path)[-1]
    array = gzip.compress(json.dumps(json.loads("[" + ",".join(lines.splitlines()) + "]")).encode())
    assert len(values(file(tmp_path, array[: len(array) // 2]))) > 500


def test_a_gzip_stream_without_anything_readable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="gzip data is damaged"):
        list(iter_records(file(tmp_path, gzip.compress(LINES.encode())[:14])))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\n\t\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"[]", "empty"),
        (b"[1, 2]", "no JSON object in it"),
        (b"[", "no JSON object in it"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary"),
        (b"caf\xe9 cr\xe8me, " * 50, "not UTF-8"),
        ('{"n": 1}\n'.encode("utf-16"), "UTF-8"),
        ('{"n": 1}\n'.encode("utf-16-le"), "UTF-8"),
        (b"# a title\n\nsome text\n", "no JSON object in it"),
        (b'{"n": "never\nends', "no JSON object in it"),
        (b"1\n2\n3\n", "no JSON object in it"),
        (b"text\n" * (PATIENCE + 5), f"first {PATIENCE} lines"),
        (gzip.compress(b"", mtime=0), "empty"),
    ],
)
def test_an_unusable_file_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    path = file(tmp_path, content)
    with pytest.raises(ReadError, match=reason) as caught:
        list(iter_records(path))
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="no such file"):
        list(iter_records(tmp_path / "missing.jsonl"))
    with pytest.raises(ReadError, match=r"is a directory; name the files in it, for example .*/\*\.jsonl"):
        list(iter_records(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_forbidden_file_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, LINES)
    path.chmod(0)
    with pytest.raises(ReadError, match="cannot be read"):
        list(iter_records(path))


def test_json_lines_stream_in_constant_memory(tmp_path: Path) -> None:
    line = json.dumps({"text": "x" * 100_000}) + "\n"
    path = file(tmp_path, line * 200)
    tracemalloc.start()
    try:
        count = sum(1 for _ in iter_records(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 200
    assert peak < 3_000_000


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_SMALL", 2**20)
    bomb = file(tmp_path, gzip.compress(b"\n".join([LINES.encode(), b" " * 2**25])), "bomb.jsonl.gz")
    tracemalloc.start()
    with pytest.raises(ReadError, match=r"bomb\.jsonl\.gz: refused: unpacks to more than 200 times its size"):
        values(bomb)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_is_dropped_and_told_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 1000)
    long = json.dumps({"n": "x" * 5000}) + "\n"
    content = (LINES + long + LINES + long.rstrip()).encode()
    path = file(tmp_path, gzip.compress(content) if packed else content)
    assert values(path) == ROWS * 2
    assert problems(path) == [
        "4: a line of more than 1,000 bytes; it was dropped",
        "8: a line of more than 1,000 bytes; it was dropped",
    ]
    as_long = json.dumps({"n": "x" * (1000 - len('{"n": ""}') - 1)}) + "\n"
    assert len(as_long) == 1000
    assert len(values(file(tmp_path, LINES + as_long))) == 4


@pytest.mark.parametrize(
    "content",
    [json.dumps([{"n": "x" * 50}] * 200), json.dumps([{"n": "x" * 50}] * 200, indent=1), '{"n": "' + "x" * 9000 + '"}'],
    ids=["array", "lines of an array", "object"],
)
def test_a_file_that_is_one_value_is_held_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    path = file(tmp_path, content)
    assert values(path)
    monkeypatch.setattr(json_lines, "MAX_VALUE_BYTES", 5000)
    with pytest.raises(ReadError, match="one JSON value of more than 5,000 bytes; write it as JSON Lines"):
        values(path)


def test_a_table_with_a_line_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 1000)
    with pytest.raises(ReadError, match="a line of the table has more than 1,000 bytes"):
        values(file(tmp_path, "question,answer\nWho?,Ada\nWho?," + "x" * 2000 + "\n", "rows.csv"))


def test_what_does_not_fit_into_memory_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(json_lines, "_from_array", full)
    with pytest.raises(ReadError, match="does not fit into this machine's memory"):
        values(file(tmp_path, "[{}]"))
