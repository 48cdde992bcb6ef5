"""Files behind addresses are read like those of this machine."""

import gzip
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.builders import pool
from tracerank.errors import ReadError
from tracerank.methods import load_selector
from tracerank.pools.canonical import write_pools
from tracerank.readers import read_pools
from tracerank.readers.sources.open import find_files
from tracerank.readers.sources.question_files import read_questions
from tracerank.readers.sources.remote import address, is_remote, remote_identity
from tracerank.votes.folders import folder_of, selector_digest

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    """Two files of a store in memory."""
    files = fsspec.filesystem("memory")
    write_pools(tmp_path / "a.jsonl", [pool("Paris", "Rome", "Paris")])
    data = (tmp_path / "a.jsonl").read_bytes()
    files.pipe("/bucket/a.jsonl", data)
    files.pipe("/bucket/deep/b.jsonl.gz", gzip.compress(data.replace(b"Paris", b"Lyon!")))
    yield "memory://bucket"
    files.rm("/bucket", recursive=True)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A folder that a server of this machine hands out."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *given: object) -> None:
            pass

    (tmp_path / "web").mkdir()
    write_pools(tmp_path / "web" / "pools.jsonl", [pool("Paris", "Rome", "Paris")])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "web")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_file_is_read_and_named_by_its_address(store: str) -> None:
    [found] = read_pools(f"{store}/a.jsonl")
    assert [rollout.answer for rollout in found.rollouts] == ["Paris", "Rome", "Paris"]
    assert found.rollouts[0].source == "memory://bucket/a.jsonl:1"


def test_folders_and_patterns_stand_for_their_files(store: str) -> None:
    assert find_files(store).names == ("memory://bucket/a.jsonl", "memory://bucket/deep/b.jsonl.gz")
    assert find_files(f"{store}/*.jsonl").names == ("memory://bucket/a.jsonl",)


def test_a_path_object_that_lost_a_stroke_is_still_an_address(store: str) -> None:
    assert address(str(Path("s3://bucket/x.jsonl"))) == "s3://bucket/x.jsonl"
    assert len(read_pools(Path(f"{store}/a.jsonl"))) == 1


@pytest.mark.parametrize("name", ["pools.jsonl", "C:/pools.jsonl", "/a/b", "file:///a", "a:b"])
def test_other_names_are_files(name: str) -> None:
    assert not is_remote(name)


def test_what_is_not_there_is_said_in_one_line(store: str) -> None:
    with pytest.raises(ReadError, match=r"memory://bucket/no\.jsonl: no such file"):
        read_pools(f"{store}/no.jsonl")
    with pytest.raises(ReadError, match="no file there matches"):
        read_pools(f"{store}/*.csv")
    with pytest.raises(ReadError, match="nosuch://x"):
        read_pools("nosuch://x/y.jsonl")


def test_a_damaged_file_is_named_by_its_address(store: str) -> None:
    fsspec.filesystem("memory").pipe("/bucket/bad.jsonl", b"\0\1\2")
    with pytest.raises(ReadError, match=r"^memory://bucket/bad\.jsonl: is a binary file"):
        read_pools(f"{store}/bad.jsonl")


def test_plain_questions_and_documents_are_read_from_there_too(store: str, tmp_path: Path) -> None:
    from tracerank.lab.corpus.build import DocumentReader

    files = fsspec.filesystem("memory")
    files.pipe("/bucket/asked.txt.gz", gzip.compress(b"Who built the bridge?\nWhat does it cross?\n"))
    files.pipe("/bucket/docs.jsonl", b'{"id": "d1", "title": "Orn", "text": "The bridge crosses the Orn."}\n')
    assert [question.text for question in read_questions([Path(f"{store}/asked.txt.gz")])] == [
        "Who built the bridge?",
        "What does it cross?",
    ]
    [document] = DocumentReader(print).read([Path(f"{store}/docs.jsonl")])
    assert document.text == "The bridge crosses the Orn."


def test_a_selector_is_loaded_from_there_too(store: str) -> None:
    files = fsspec.filesystem("memory")
    for path in folder_of("evidence").iterdir():
        files.pipe(f"/bucket/mine/{path.name}", path.read_bytes())
    there = load_selector(f"{store}/mine")
    assert selector_digest(f"{store}/mine") == selector_digest("evidence")
    decided = pool("Paris", "Rome", "Paris")
    assert there.decide(decided) == load_selector("evidence").decide(decided)


def test_another_content_is_another_file(store: str) -> None:
    before = remote_identity(f"{store}/a.jsonl")
    assert remote_identity(f"{store}/a.jsonl") == before
    fsspec.filesystem("memory").pipe("/bucket/a.jsonl", b"{}")
    assert remote_identity(f"{store}/a.jsonl") != before


def test_a_file_of_the_web_is_read(web: str) -> None:
    pytest.importorskip("aiohttp")
    [found] = read_pools(f"{web}/pools.jsonl")
    assert found.rollouts[0].source == f"{web}/pools.jsonl:1"
    with pytest.raises(ReadError, match="no such file"):
        read_pools(f"{web}/other.jsonl")
