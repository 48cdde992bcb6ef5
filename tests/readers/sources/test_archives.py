"""Inspect archives as files: both layouts, bombs, damage, and names that mean mischief."""

import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.sources import archives
from tracerank.readers.sources.archives import iter_eval


def sample(number: int, epoch: int, **changes: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": f"Ada {epoch}"}]
    return {"id": number, "epoch": epoch, "input": "Who?", "target": "Ada", "messages": messages, **changes}


def archive(path: Path, members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> str:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, value in members.items():
            file.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return str(path)


def good(*epochs: int) -> dict[str, Any]:
    return {f"samples/1_epoch_{epoch}.json": sample(1, epoch) for epoch in epochs}


def split(name: str) -> tuple[list[RecordAt], list[Problem]]:
    found = list(iter_eval(name))
    problems = [item for item in found if isinstance(item, Problem)]
    return [item for item in found if isinstance(item, RecordAt)], problems


def test_samples_come_question_by_question_and_epoch_by_epoch(tmp_path: Path) -> None:
    order = [(2, 10), (1, 2), (2, 2), (1, 1)]
    members = {f"samples/{n}_epoch_{epoch}.json": sample(n, epoch) for n, epoch in order}
    name = archive(tmp_path / "x.eval", {"header.json": {}, "_journal/start.json": {}, **members})
    records, problems = split(name)
    assert [(item.value["id"], item.value["epoch"]) for item in records] == [(1, 1), (1, 2), (2, 2), (2, 10)]
    assert records[0].source == f"{name}!samples/1_epoch_1.json"
    assert not problems


def test_chunks_are_put_together(tmp_path: Path) -> None:
    prefix = "samples/a/b_epoch_1"
    texts = [{"role": "user", "content": str(n)} for n in range(5)]
    shell = {**sample(1, 1), "message_refs": [[0, 2], [4, 9], [1, 2]]}
    del shell["messages"]
    members = {
        f"{prefix}/sample.json": shell,
        f"{prefix}/messages/0.json": texts[:3],
        f"{prefix}/messages/3.json": texts[3:],
        f"{prefix}/attachments/0.json": ["x", "y"],
        f"{prefix}/attachments/2.json": ["z"],
        f"{prefix}/events/0.json": "no JSON",
    }
    (record,), problems = split(archive(tmp_path / "x", members))
    assert [message["content"] for message in record.value["messages"]] == ["0", "1", "4", "1"]
    assert record.value["attachments"] == {"0": "x", "1": "y", "2": "z"}
    assert not problems


def test_ranges_that_repeat_a_conversation_a_million_times_are_refused(tmp_path: Path) -> None:
    prefix = "samples/1_epoch_1"
    members = {
        f"{prefix}/sample.json": {"message_refs": [[0, 1000]] * 1001},
        f"{prefix}/messages/0.json": [{}] * 1000,
        **good(2),
    }
    records, (problem,) = split(archive(tmp_path / "x", members))
    assert len(records) == 1
    assert "messages" in problem.reason


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_compression_of_the_standard_library_is_read(tmp_path: Path, method: int) -> None:
    assert len(split(archive(tmp_path / "x", good(1, 2), method))[0]) == 2


# ---- bombs


def test_a_bomb_is_refused_and_costs_no_sibling(tmp_path: Path) -> None:
    bomb = b'{"id": 1, "x": "' + b" " * (20 << 20) + b'"}'
    name = archive(tmp_path / "x", {"samples/1_epoch_1.json": bomb, **good(2)})
    records, (problem,) = split(name)
    assert [item.value["epoch"] for item in records] == [2]
    assert "zip bomb" in problem.reason


def test_an_archive_of_bombs_is_an_error(tmp_path: Path) -> None:
    name = archive(tmp_path / "x", {"samples/1_epoch_1.json": b" " * (20 << 20)})
    with pytest.raises(ReadError, match=r"not one of its samples could be read; the first: refused: .*zip bomb"):
        list(iter_eval(name))


def test_the_parts_of_a_sample_count_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_SAMPLE_BYTES", 1000)
    chunks = {f"samples/1_epoch_1/messages/{n}.json": [{"role": "user", "content": "x" * 80}] for n in range(20)}
    members = {"samples/1_epoch_1/sample.json": {"message_refs": [[0, 20]]}, **chunks, **good(2)}
    records, (problem,) = split(archive(tmp_path / "x", members))
    assert (len(records), "more than 1,000" in problem.reason) == (1, True)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    name = archive(tmp_path / "x", good(1, 2, 3), zipfile.ZIP_STORED)
    with zipfile.ZipFile(name, "a") as file:
        shared = file.getinfo("samples/1_epoch_1.json")
        for number in range(4, 40):
            copy = zipfile.ZipInfo(f"samples/1_epoch_{number}.json")
            copy.CRC, copy.compress_size, copy.file_size = shared.CRC, shared.compress_size * 9, shared.file_size
            copy.header_offset = shared.header_offset
            file.filelist.append(copy)
            file.NameToInfo[copy.filename] = copy
        file._didModify = True  # type: ignore[attr-defined]
    with pytest.raises(ReadError, match="overlap"):
        list(iter_eval(name))


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(ReadError, match="3 members are more than 2"):
        list(iter_eval(archive(tmp_path / "x", good(1, 2, 3))))


# ---- damage


def test_a_member_larger_than_it_says_is_dropped(tmp_path: Path) -> None:
    name = archive(tmp_path / "x", good(1, 2))
    data = bytearray(Path(name).read_bytes())
    place = data.index(b"PK\x01\x02")
    data[place + 24 : place + 28] = (5).to_bytes(4, "little")
    Path(name).write_bytes(data)
    records, problems = split(name)
    assert (len(records), len(problems)) == (1, 1)


def test_a_cut_archive_is_refused(tmp_path: Path) -> None:
    name = archive(tmp_path / "x", good(1, 2))
    data = Path(name).read_bytes()
    for length in (4, 30, len(data) // 2, len(data) - 1):
        Path(name).write_bytes(data[:length])
        with pytest.raises(ReadError, match="damaged or cut off"):
            list(iter_eval(name))


def test_other_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="expected an Inspect log"):
        list(iter_eval(archive(tmp_path / "x", {"a.jsonl": "{}"})))


def test_members_that_are_no_samples_are_dropped(tmp_path: Path) -> None:
    members = {
        "samples/1_epoch_1.json": "[]",
        "samples/1_epoch_2.json": "nonsense",
        "samples/1_epoch_3.json": "",
        **good(4),
    }
    records, problems = split(archive(tmp_path / "x", members))
    assert [item.value["epoch"] for item in records] == [4]
    assert len(problems) == 3


def test_the_last_of_members_with_one_name_counts(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x", "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for note in ("old", "new"):
            file.writestr("samples/1_epoch_1.json", json.dumps(sample(1, 1, note=note)))
    (record,), _ = split(str(tmp_path / "x"))
    assert record.value["note"] == "new"


def test_the_message_names_the_package_for_zstandard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zstandard = pytest.importorskip("zstandard")
    name = archive(tmp_path / "x", good(1), zipfile.ZIP_STORED)
    plain = json.dumps(sample(1, 1)).encode()
    packed = zstandard.ZstdCompressor().compress(plain)
    with zipfile.ZipFile(name, "w", zipfile.ZIP_STORED) as file:
        file.writestr("samples/1_epoch_1.json", packed)
        info = file.getinfo("samples/1_epoch_1.json")
        info.compress_type, info.file_size, info.CRC = 93, len(plain), archives.zlib.crc32(plain)
    assert split(name)[0][0].value == sample(1, 1)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    if sys.version_info < (3, 14) and "zipfile_zstd" not in sys.modules:
        with pytest.raises(ReadError, match=r"or zstandard; install it: .* -m pip install "):
            list(iter_eval(name))
