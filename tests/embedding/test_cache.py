"""The vector cache: found by text and encoder, shared by processes, safe from kills, full disks and foreign files."""

import os
import pickle
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tracerank.cache_folders import default_cache_folder
from tracerank.embedding.base import HashEmbedder
from tracerank.embedding.cache import FILE_NAME, CachedEmbedder, StoredEncoder, VectorCache, text_key
from tracerank.errors import EmbeddingError
from tracerank.runs import sqlite_file

NAME, WIDTH = "hash-16/16", 16
TEXTS = [f"text number {number}" for number in range(60)]
HALVES = HashEmbedder(WIDTH).embed(TEXTS).astype(np.float16)
SRC = Path(__file__).parents[2] / "src"
WRITER = """
import sys
from tracerank.embedding import cache
from tracerank.embedding.base import HashEmbedder
cache.BATCH_TEXTS = 25
folder, start, stop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
embedder = cache.CachedEmbedder(HashEmbedder(16), cache.VectorCache(folder))
print("ready", flush=True)
for begin in range(start, stop, 1000):
    embedder.embed([f"text number {number}" for number in range(begin, min(begin + 1000, stop))])
print(embedder.hits, embedder.misses, flush=True)
"""


def writer(folder: Path, start: int, stop: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), str(start), str(stop)]
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finished(process: subprocess.Popen[str]) -> list[str]:
    out, problem = process.communicate(timeout=120)
    assert process.returncode == 0, problem
    return out.splitlines()


def damage(folder: Path, change: str, *values: object) -> None:
    with sqlite3.connect(folder / FILE_NAME) as file:
        file.execute(change, values)
    file.close()


class Counting(HashEmbedder):
    """Remembers what it was asked, and fails after so many calls."""

    def __init__(self, calls: int = 1000) -> None:
        super().__init__(WIDTH)
        self.asked: list[str] = []
        self.calls = calls

    def embed(self, texts: list[str]) -> np.ndarray:
        if self.calls == 0:
            raise RuntimeError("stopped")
        self.calls -= 1
        self.asked += texts
        return super().embed(texts)


# The file


def test_what_is_written_is_read_by_another_cache(tmp_path: Path) -> None:
    VectorCache(tmp_path / "new" / "folder").write(NAME, TEXTS, HALVES)
    opened = pickle.loads(pickle.dumps(VectorCache(tmp_path / "new" / "folder", readonly=True)))
    found = opened.read(NAME, WIDTH, ["unknown", *TEXTS, *TEXTS])
    assert list(found) != []
    assert found.keys() == set(TEXTS)
    assert np.array_equal(np.stack([found[text] for text in TEXTS]), HALVES)
    assert opened.read("other", WIDTH, TEXTS) == opened.read(NAME, WIDTH, []) == {}
    assert opened.encoders() == [StoredEncoder(NAME, WIDTH, 60)]


def test_encoders_widths_and_odd_texts_do_not_meet(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    odd = ["", "\ud800", "é", "\0", "a" * 100_000]
    encoders = [("a", 3), ("ab", 4), ("", 5), ("a", 6)]
    for name, width in encoders:
        cache.write(name, odd, np.full((5, width), width, np.float16))
    for name, width in encoders:
        assert np.array_equal(np.stack(list(cache.read(name, width, odd).values())), np.full((5, width), width))
    assert sum(one.count for one in cache.encoders()) == 20


def test_a_damaged_vector_is_found_replaced_and_removed(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.write(NAME, TEXTS, HALVES)
    damage(tmp_path, "UPDATE vectors SET vector = ? WHERE key = ?", b"short", text_key(TEXTS[3]))
    flipped = bytes([HALVES[7].tobytes()[0] ^ 4]) + HALVES[7].tobytes()[1:]
    damage(tmp_path, "UPDATE vectors SET vector = ? WHERE key = ?", flipped, text_key(TEXTS[7]))
    assert cache.check() == 2
    assert TEXTS[3] not in cache.read(NAME, WIDTH, TEXTS)
    CachedEmbedder(HashEmbedder(WIDTH), cache).embed(TEXTS)  # embeds the short one again
    assert cache.check() == 1
    assert cache.remove() == 1
    assert cache.check() == 0
    assert cache.encoders() == [StoredEncoder(NAME, WIDTH, 59)]


def test_removing_an_encoder_gives_the_space_back(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    for name in ("one", "two"):
        cache.write(name, [f"{number}" for number in range(2000)], np.ones((2000, 32), np.float16))
    before = cache.path.stat().st_size
    assert cache.remove("one") == 2000
    assert cache.path.stat().st_size < 0.6 * before
    assert cache.encoders() == [StoredEncoder("two", 32, 2000)]
    with pytest.raises(EmbeddingError, match="no vectors of 'one'; it has those of 'two'"):
        cache.remove("one")


FOREIGN = sqlite3.connect(":memory:")
FOREIGN.execute("CREATE TABLE vectors (mine)")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a database at all" * 50, "damaged, or of another program .*move it away"),
        (b"SQLite format 3\0" + b"\1" * 4000, "damaged, or of another program .*move it away"),
        (FOREIGN.serialize(), "a file of another program; move it away"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_in_one_line_and_left_alone(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(EmbeddingError, match=rf"{FILE_NAME}: {words}") as caught:
        VectorCache(tmp_path)
    assert "\n" not in str(caught.value)
    assert (tmp_path / FILE_NAME).read_bytes() == content


def test_an_unusable_folder_ends_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddingError, match="set TRACERANK_CACHE"):
        VectorCache(tmp_path / "file")
    with pytest.raises(EmbeddingError, match="no vector cache"):
        VectorCache(tmp_path / "none", readonly=True)
    assert not (tmp_path / "none").exists()


def test_a_folder_without_write_access_is_read_and_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    VectorCache(tmp_path).write(NAME, TEXTS, HALVES)
    monkeypatch.setattr(sqlite_file.os, "access", lambda *_: False)
    embedder = Counting()
    cached = CachedEmbedder(embedder, VectorCache(tmp_path))
    assert np.array_equal(cached.embed(TEXTS), HALVES.astype(np.float32))
    with pytest.raises(EmbeddingError, match="make its folder writable, or set TRACERANK_CACHE"):
        cached.embed(["new"])
    assert embedder.asked == []
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_a_full_disk_and_a_writer_that_does_not_end_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = VectorCache(tmp_path)
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert cache.read(NAME, WIDTH, TEXTS) == {}  # reading waits for no writer
    with pytest.raises(EmbeddingError, match="in use by another process"):
        cache.write(NAME, TEXTS, HALVES)
    other.close()
    connect = sqlite3.connect

    def small(*arguments: object, **options: object) -> sqlite3.Connection:
        file = connect(*arguments, **options)  # type: ignore[call-overload]
        file.execute("PRAGMA max_page_count = 20")
        return file

    monkeypatch.setattr(sqlite_file.sqlite3, "connect", small)
    with pytest.raises(EmbeddingError, match="disk is full; free some space"):
        cache.write(NAME, [f"{number}" for number in range(9000)], np.ones((9000, WIDTH), np.float16))
    assert cache.encoders() == []  # all of a batch, or nothing


# Several processes


def test_processes_that_begin_together_share_one_file_while_it_is_read(tmp_path: Path) -> None:
    texts = [f"text number {number}" for number in range(4500)]
    wanted = HashEmbedder(WIDTH).embed(texts).astype(np.float16)
    writers = [writer(tmp_path, start, start + 3000) for start in (0, 1500, 0)]
    while any(process.poll() is None for process in writers):
        if (tmp_path / FILE_NAME).exists():
            found = VectorCache(tmp_path).read(NAME, WIDTH, texts)
            assert all(np.array_equal(found[text], wanted[row]) for row, text in enumerate(texts) if text in found)
    for process in writers:
        finished(process)
    assert VectorCache(tmp_path).encoders() == [StoredEncoder(NAME, WIDTH, 4500)]
    assert VectorCache(tmp_path).check() == 0


def test_a_killed_writer_leaves_whole_batches_and_no_lock(tmp_path: Path) -> None:
    chance = random.Random(7)
    for attempt in range(6):
        process = writer(tmp_path, 0, 10_000_000)
        assert process.stdout is not None
        if attempt % 3:
            process.stdout.readline()  # one dies while opening, the others while writing
        time.sleep(chance.uniform(0.05, 0.3))
        process.kill()
        process.communicate()
    cache = VectorCache(tmp_path)
    assert cache.check() == 0
    [stored] = cache.encoders()
    assert stored.count % 25 == 0
    texts = [f"text number {number}" for number in range(stored.count)]
    assert len(cache.read(NAME, WIDTH, texts)) == stored.count > 100
    cache.write(NAME, ["new"], HALVES[:1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def resident() -> int:
        [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")]
        return 1024 * int(line.split()[1])

    cache = VectorCache(tmp_path)
    vectors = np.ones((500, 384), np.float16)
    cache.write("wide", [f"{number}" for number in range(500)], vectors)
    cache.read("wide", 384, [f"{number}" for number in range(500)])
    before = resident()
    for start in range(0, 20_000, 500):
        cache.write("wide", [f"{number}" for number in range(start, start + 500)], vectors)
    for start in range(0, 20_000, 500):
        assert len(cache.read("wide", 384, [f"{number}" for number in range(start, start + 500)])) == 500
    assert cache.path.stat().st_size > 15 << 20
    assert resident() - before < 6 << 20


# The embedder in front of it


def test_each_distinct_text_is_embedded_once_ever(tmp_path: Path) -> None:
    embedder = Counting()
    first = CachedEmbedder(embedder, VectorCache(tmp_path))
    fresh = first.embed(["a", "b", "a", "c"])
    again = CachedEmbedder(embedder, VectorCache(tmp_path))
    assert np.array_equal(again.embed(["c", "a", "b", "a"]), fresh[[3, 0, 1, 0]])
    assert embedder.asked == ["a", "b", "c"]
    assert (first.hits, first.misses, again.hits, again.misses) == (1, 3, 4, 0)
    assert (first.name, first.width, first.fingerprint) == ("hash-16", 16, NAME)
    assert again.embed([]).shape == (0, 16)


def test_another_model_behind_the_same_address_is_not_mixed_in(tmp_path: Path) -> None:
    class Server(HashEmbedder):
        def __init__(self, model: str) -> None:
            super().__init__(64)
            self.name, self.fingerprint, self.model = "http://localhost/v1#default", None, model

        def embed(self, texts: list[str]) -> np.ndarray:
            return super().embed([f"{self.model} {text}" for text in texts])

    cache = VectorCache(tmp_path)
    before = CachedEmbedder(Server("one"), cache).embed(["Paris"])
    assert CachedEmbedder(Server("one"), cache).embed(["Rome"]).shape == (1, 64)
    replaced = CachedEmbedder(Server("a quite different one, and longer"), cache)
    assert np.array_equal(replaced.embed(["Paris"]), before)  # nothing is asked of it yet
    with pytest.raises(EmbeddingError, match=r"other vectors than those stored.*cosine 0\.\d+.*cache --remove"):
        replaced.embed(["Oslo"])


@pytest.mark.parametrize(("value", "words"), [(np.nan, "not finite"), (np.inf, "not finite"), (1e5, "half precision")])
def test_values_that_cannot_be_stored_are_refused_and_nothing_is(tmp_path: Path, value: float, words: str) -> None:
    class Wild(HashEmbedder):
        def embed(self, texts: list[str]) -> np.ndarray:
            return np.array([[0.0], [value]], np.float32)

    cache = VectorCache(tmp_path)
    with pytest.raises(EmbeddingError, match=words):
        CachedEmbedder(Wild(1), cache).embed(["a", "b"])
    assert cache.encoders() == []


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"TRACERANK_CACHE": "/data/vectors", "XDG_CACHE_HOME": "/cache"}, "/data/vectors"),
        ({"XDG_CACHE_HOME": "/cache"}, "/cache/tracerank/vectors"),
        ({"HOME": "/home/me"}, "/home/me/.cache/tracerank/vectors"),
    ],
)
def test_the_usual_folder(variables: dict[str, str], wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACERANK_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_cache_folder() == Path(wanted)
