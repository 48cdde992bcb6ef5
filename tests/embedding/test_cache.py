"""The vector cache: content-addressed, shared by processes, safe from kills, full disks and foreign folders."""

import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import lmdb
import numpy as np
import pytest

from tracerank.cache_folders import default_cache_folder
from tracerank.embedding import cache_folder
from tracerank.embedding.base import HashEmbedder
from tracerank.embedding.cache import FEW_SMALL_AT_ONCE, CachedEmbedder, FillingTally, VectorCache, existing_cache
from tracerank.embedding.cache_folder import vector_keys
from tracerank.embedding.lmdb_file import LmdbFile
from tracerank.errors import EmbeddingError, UsageError

NAME = "hash-16/16"
TEXTS = [f"text number {number}" for number in range(60)]
VECTORS = HashEmbedder(16).embed(TEXTS)
SRC = Path(__file__).parents[2] / "src"

WRITER = """
import sys
from tracerank.embedding.base import HashEmbedder
from tracerank.embedding.cache import VectorCache
from tracerank.embedding.cache import CachedEmbedder
folder, start, stop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
embedder = CachedEmbedder(HashEmbedder(16), VectorCache(folder, map_bytes=1 << 16), chunk=25)
print("ready", flush=True)
for begin in range(start, stop, 1000):
    embedder.embed([f"text number {number}" for number in range(begin, min(begin + 1000, stop))])
print(embedder.hits, embedder.misses, flush=True)
"""


def writer(folder: Path, start: int, stop: int, source: str = WRITER) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", source, str(folder), str(start), str(stop)]
    environment = os.environ | {"PYTHONPATH": str(SRC)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finished(process: subprocess.Popen[str]) -> list[str]:
    out, problem = process.communicate(timeout=120)
    assert process.returncode == 0, problem
    return out.splitlines()


class Counting(HashEmbedder):
    """Remembers what it was asked, and fails after so many calls."""

    def __init__(self, calls: int = 1000) -> None:
        super().__init__(16)
        self.asked: list[str] = []
        self.calls = calls

    def embed(self, texts: list[str]) -> np.ndarray:
        if self.calls == 0:
            raise RuntimeError("stopped")
        self.calls -= 1
        self.asked += texts
        return super().embed(texts)


def damage(folder: Path, text: str, value: bytes) -> None:
    [key] = vector_keys(NAME, [text])
    path = str(folder / "vectors-1.mdb")
    with lmdb.open(path, subdir=False, map_size=1 << 26) as opened, opened.begin(write=True) as transaction:
        transaction.put(key, value)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_what_is_put_is_got_in_the_given_precision(tmp_path: Path, dtype: str) -> None:
    cache = VectorCache(tmp_path / "new" / "folder", dtype)
    assert cache.put_many(NAME, TEXTS, VECTORS) == 60
    assert cache.put_many(NAME, TEXTS[:5], VECTORS[:5]) == 0
    found = VectorCache(cache.folder).get_many(NAME, ["unknown", *TEXTS])
    assert found[0] is None
    assert np.array_equal(np.stack(found[1:]), VECTORS.astype(dtype).astype(np.float32))
    assert cache.get_many("other", ["a"]) == [None]
    assert cache.get_many(NAME, []) == []


def test_two_encoders_and_odd_texts_do_not_meet(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "float32")
    odd = ["", "\ud800", "é", "\0", "a" * 100_000]
    for number, name in enumerate(("a", "ab", "")):
        cache.put_many(name, odd, np.full((5, 3 + number), number, np.float32))
    for number, name in enumerate(("a", "ab", "")):
        assert np.array_equal(np.stack(cache.get_many(name, odd)), np.full((5, 3 + number), number))
    assert cache.verify().entries == 15
    assert not cache.verify().bad


def test_another_width_or_precision_is_refused(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put_many(NAME, TEXTS, VECTORS)
    with pytest.raises(EmbeddingError, match=r"are 16 wide, not 8; .*tracerank cache prune 'hash-16/16'"):
        cache.put_many(NAME, ["a"], np.zeros((1, 8), np.float32))
    with pytest.raises(EmbeddingError, match="holds float16 vectors, not float32"):
        VectorCache(tmp_path, "float32")
    with pytest.raises(ValueError, match="dtype"):
        VectorCache(tmp_path, "int8")


@pytest.mark.parametrize(("value", "words"), [(np.nan, "not finite"), (np.inf, "not finite"), (1e5, "half precision")])
def test_values_that_cannot_be_stored_are_refused_and_nothing_is(tmp_path: Path, value: float, words: str) -> None:
    cache = VectorCache(tmp_path)
    with pytest.raises(EmbeddingError, match=words):
        cache.put_many("x", ["a", "b"], np.array([[0.0], [value]], np.float32))
    assert cache.get_many("x", ["a", "b"]) == [None, None]


def test_each_distinct_text_is_embedded_once_ever(tmp_path: Path) -> None:
    embedder = Counting()
    first = CachedEmbedder(embedder, VectorCache(tmp_path), chunk=2)
    fresh = first.embed(["a", "b", "a", "c"])
    again = CachedEmbedder(embedder, VectorCache(tmp_path))
    assert np.array_equal(again.embed(["c", "a", "b", "a"]), fresh[[3, 0, 1, 0]])
    assert embedder.asked == ["a", "b", "c"]
    assert (first.hits, first.misses, again.hits, again.misses) == (1, 3, 4, 0)
    assert (first.name, first.width, first.fingerprint) == ("hash-16", 16, NAME)
    assert again.embed([]).shape == (0, 16)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_stored_vectors_are_the_same_in_the_precision_of_the_cache(tmp_path: Path, dtype: str) -> None:
    embedder = CachedEmbedder(HashEmbedder(16), VectorCache(tmp_path / "cache", dtype))
    new = embedder.embed_stored(["one", "two words", "one"])
    known = embedder.embed_stored(["one", "two words", "one"])
    assert new.dtype == known.dtype == np.dtype(dtype)
    assert np.array_equal(new, known)
    assert np.array_equal(new.astype(np.float32), embedder.embed(["one", "two words", "one"]))


def test_pages_of_small_vectors_are_given_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = VectorCache(tmp_path, small_at_once=FEW_SMALL_AT_ONCE)
    unloaded = []
    monkeypatch.setattr(cache._files, "unload", lambda: unloaded.append(True))
    texts = [f"text {number}" for number in range(300)]  # of 8 bytes each, but on pages all over the file
    cache.put_many("e", texts, np.ones((300, 4), np.float32))
    cache.get_many("e", texts)
    cache.get_many("e", [f"absent {number}" for number in range(300)])
    assert len(unloaded) == 14  # 900 look-ups, at most 64 between two of them, the first 64 free


def test_many_small_vectors_are_put_and_found_part_by_part(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, small_at_once=FEW_SMALL_AT_ONCE)
    texts = [f"text {number}" for number in range(300)]
    vectors = np.arange(300, dtype=np.float32)[:, None] * np.ones((1, 4), np.float32)
    assert cache.put_many("e", texts[:200], vectors[:200]) == 200
    assert cache.put_many("e", texts, vectors) == 100
    assert np.array_equal(np.stack(cache.get_many("e", texts)), vectors)
    assert cache.get_many("e", [*texts[:290], *("absent",) * 10])[290:] == [None] * 10
    assert cache.info().entries == 300


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
    with pytest.raises(EmbeddingError, match=r"other vectors than those stored.*cosine 0\.\d+.*cache prune"):
        replaced.embed(["Oslo"])


def test_an_embedder_s_own_fingerprint_is_used(tmp_path: Path) -> None:
    embedder = HashEmbedder(16)
    embedder.fingerprint = "mine"  # type: ignore[attr-defined]
    cached = CachedEmbedder(embedder, VectorCache(tmp_path))
    cached.embed(["a"])
    assert [record.fingerprint for record in cached.cache.info().fingerprints] == ["mine"]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="stopped"):
        CachedEmbedder(Counting(calls=3), VectorCache(tmp_path), chunk=10).embed(TEXTS)
    rest = Counting()
    CachedEmbedder(rest, VectorCache(tmp_path)).embed(TEXTS)
    assert rest.asked == TEXTS[30:]


def test_another_process_finds_what_this_one_stored(tmp_path: Path) -> None:
    VectorCache(tmp_path).put_many(NAME, TEXTS, VECTORS)
    assert finished(writer(tmp_path, 0, 100))[-1] == "60 40"
    assert VectorCache(tmp_path).info().entries == 100


def test_processes_read_while_others_write_and_the_map_grows(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, map_bytes=1 << 16)
    texts = [f"text number {number}" for number in range(4500)]
    wanted = cache.rounded(HashEmbedder(16).embed(texts))
    writers = [writer(tmp_path, start, start + 3000) for start in (0, 1500)]
    are_writing = True
    while are_writing:
        are_writing = any(process.poll() is None for process in writers)
        rows = np.zeros_like(wanted)
        found = cache.read_into(NAME, texts, rows)
        assert np.array_equal(rows[found], wanted[found])
    assert found.all()
    for process in writers:
        finished(process)
    assert cache.read_into(NAME, texts, rows).all()
    assert cache.info().entries == cache.verify().entries == 4500
    assert not cache.verify().bad


def test_a_reader_does_not_wait_for_a_writer_that_holds_the_lock(tmp_path: Path) -> None:
    source = """
import sys, time
from tracerank.embedding.cache import VectorCache
cache = VectorCache(sys.argv[1])
cache._files.write(lambda transaction: (print("locked", flush=True), time.sleep(60)))
"""
    cache = VectorCache(tmp_path)
    cache.put_many(NAME, TEXTS, VECTORS)
    process = writer(tmp_path, 0, 0, source)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        started = time.monotonic()
        assert cache.get_many(NAME, TEXTS)[0] is not None
        assert time.monotonic() - started < 5
    finally:
        process.kill()
        process.communicate()
    assert cache.put_many(NAME, ["new"], VECTORS[:1]) == 1  # the lock of a killed writer is free


def test_a_writer_killed_twenty_times_leaves_only_whole_vectors(tmp_path: Path) -> None:
    chance = random.Random(7)
    killed = 0
    for attempt in range(20):
        process = writer(tmp_path, 0, 10_000_000)
        assert process.stdout is not None
        if attempt % 5:
            process.stdout.readline()  # some die while opening, most while writing
            time.sleep(chance.uniform(0.05, 0.35))
        else:
            time.sleep(chance.uniform(0.1, 0.4))
        process.kill()
        process.communicate()
        killed += process.returncode == -9
    assert killed == 20
    cache = VectorCache(tmp_path)
    check = cache.verify()
    assert check.bad == ()
    assert check.entries % 25 == 0  # batches are whole
    assert check.entries > 100
    texts = [f"text number {number}" for number in range(check.entries)]
    assert np.array_equal(np.stack(cache.get_many(NAME, texts)), cache.rounded(HashEmbedder(16).embed(texts)))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_and_threads_use_the_same_cache(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, map_bytes=1 << 16)
    cache.put_many(NAME, TEXTS[:30], VECTORS[:30])
    child = os.fork()
    if child == 0:
        try:
            is_good = cache.get_many(NAME, TEXTS[:1])[0] is not None and cache.put_many(NAME, TEXTS, VECTORS) == 30
            os._exit(0 if is_good else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    problems = []

    def work(number: int) -> None:
        try:
            for step in range(20):
                names = [f"{number} {step} {text}" for text in TEXTS]
                VectorCache(tmp_path).put_many(NAME, names, VECTORS)
                assert all(row is not None for row in cache.get_many(NAME, names))
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert cache.info().entries == cache.verify().entries == 60 + 4 * 20 * 60


def test_a_pickled_cache_opens_the_same_folder(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "float32")
    cache.put_many(NAME, TEXTS, VECTORS)
    assert pickle.loads(pickle.dumps(cache)).info() == cache.info()


def test_the_map_grows_up_to_its_limit_and_then_says_so(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, map_bytes=1 << 15, max_map_bytes=1 << 18)
    stored = 0

    def fill() -> None:
        nonlocal stored
        while True:
            stored += cache.put_many(NAME, [f"{stored} {text}" for text in TEXTS], VECTORS)

    with pytest.raises(EmbeddingError, match=r"reached its limit of 262,144 bytes; .*cache prune"):
        fill()
    assert cache.info().entries == stored > 600
    assert not cache.verify().bad


def test_a_folder_opened_for_reading_is_read_but_not_written(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="no vector cache"):
        VectorCache(tmp_path / "none", is_readonly=True)
    VectorCache(tmp_path).put_many(NAME, TEXTS, VECTORS)
    cache = VectorCache(tmp_path, is_readonly=True)
    embedder = Counting()
    assert np.allclose(CachedEmbedder(embedder, cache).embed(TEXTS), VECTORS, atol=1e-3)
    with pytest.raises(EmbeddingError, match=r"for reading only; make the folder writable or set TRACERANK_CACHE"):
        CachedEmbedder(embedder, cache).embed(["new"])
    assert embedder.asked == []  # refused before the work


def test_a_folder_that_cannot_be_written_is_read_without_touching_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished(writer(tmp_path, 0, 60))
    (tmp_path / "vectors-1.mdb-lock").unlink()
    monkeypatch.setattr(cache_folder.os, "access", lambda *_: False)
    cache = VectorCache(tmp_path)
    assert np.array_equal(np.stack(cache.get_many(NAME, TEXTS)), cache.rounded(VECTORS))
    assert not (tmp_path / "vectors-1.mdb-lock").exists()
    with pytest.raises(EmbeddingError, match="for reading only"):
        cache.put_many(NAME, ["new"], VECTORS[:1])
    with pytest.raises(EmbeddingError, match="for reading only"):
        cache.prune(NAME)
    monkeypatch.undo()
    del cache
    assert VectorCache(tmp_path).put_many(NAME, ["new"], VECTORS[:1]) == 1


def test_a_full_disk_is_named_and_what_was_stored_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = VectorCache(tmp_path)
    cache.put_many(NAME, TEXTS[:30], VECTORS[:30])

    def fails(*_: object, **__: object) -> None:
        raise lmdb.DiskError("mdb_txn_commit: No space left on device")

    monkeypatch.setattr(LmdbFile, "_run", fails)
    with pytest.raises(EmbeddingError, match=r"the disk is full; free some space.*TRACERANK_CACHE"):
        cache.put_many(NAME, TEXTS, VECTORS)
    monkeypatch.undo()
    assert cache.put_many(NAME, TEXTS, VECTORS) == 30


def test_a_disk_that_is_really_full_is_named_too(tmp_path: Path) -> None:
    source = """
import sys
import numpy as np
from tracerank.embedding.cache import VectorCache
from tracerank.errors import EmbeddingError, UsageError
cache, number = VectorCache(sys.argv[1]), 0
try:
    while True:
        cache.put_many("x", [f"{number} {row}" for row in range(50)], np.ones((50, 16), np.float32))
        number += 1
except EmbeddingError as error:
    print(error)
print(cache.info().entries - 50 * number, len(cache.verify().bad))
"""
    (tmp_path / "run.py").write_text(source)
    (tmp_path / "disk").mkdir()
    script = 'mount -t tmpfs -o size=300k none "$1/disk" || exit 77; exec "$2" "$1/run.py" "$1/disk"'
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare to mount a small disk")
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(tmp_path), sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(SRC)})
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip("may not mount a small disk here")
    assert "disk is full" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "0 0"


def test_a_foreign_folder_a_file_and_another_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(EmbeddingError, match=r"not a vector cache \(it holds 'thesis.tex'\); choose an empty"):
        VectorCache(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(EmbeddingError, match="set TRACERANK_CACHE"):
        VectorCache(tmp_path / "thesis.tex")
    VectorCache(tmp_path / "cache")
    path = tmp_path / "cache" / "cache.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": "tracerank-cache/9"}))
    with pytest.raises(EmbeddingError, match="format 'tracerank-cache/9', this version reads"):
        VectorCache(tmp_path / "cache")
    path.write_text("{")
    with pytest.raises(EmbeddingError, match=r"cache.json: damaged; delete"):
        VectorCache(tmp_path / "cache")


@pytest.mark.parametrize("keep", [0, 100, 9000, -4096, None])
def test_a_damaged_file_is_named(tmp_path: Path, keep: int | None) -> None:
    finished(writer(tmp_path, 0, 500))
    path = tmp_path / "vectors-1.mdb"
    path.write_bytes(b"x" * 20_000 if keep is None else path.read_bytes()[:keep])
    with pytest.raises(EmbeddingError, match=r"vectors-1.mdb: damaged \(.*\); delete"):
        VectorCache(tmp_path)
    path.unlink()
    with pytest.raises(EmbeddingError, match=r"vectors-1.mdb: is missing; delete"):
        VectorCache(tmp_path)


def test_damaged_values_are_found_count_as_missing_and_are_mended(tmp_path: Path) -> None:
    finished(writer(tmp_path, 0, 60))
    damage(tmp_path, TEXTS[3], b"short")
    damage(tmp_path, TEXTS[4], np.full(16, np.nan, "<f2").tobytes())
    cache = VectorCache(tmp_path)
    assert sorted(bad.why for bad in cache.verify().bad) == [
        "5 bytes; 16 values of float16 expected (hash-16/16)",
        "not finite (hash-16/16)",
    ]
    embedder = Counting()
    CachedEmbedder(embedder, cache).embed(TEXTS[:4])
    assert embedder.asked == [TEXTS[3]]
    assert len(cache.verify().bad) == 1
    assert (pruned := cache.prune()).entries == pruned.bad == 1
    assert cache.verify().bad == ()
    assert cache.info().entries == 59


def test_pruning_removes_an_encoder_and_gives_the_space_back(tmp_path: Path) -> None:
    cache, other = VectorCache(tmp_path), VectorCache(tmp_path)
    for name in ("a", "b", "c"):
        cache.put_many(name, [f"{number}" for number in range(3000)], np.ones((3000, 64), np.float32))
    with pytest.raises(EmbeddingError, match=r"no vectors of 'd'; it has 'a', 'b', 'c'"):
        cache.prune("d")
    pruned = cache.prune("b")
    assert (pruned.entries, pruned.bad) == (3000, 0)
    assert pruned.bytes_after < 0.7 * pruned.bytes_before
    assert other.get_many("b", ["1"]) == [None]
    assert other.get_many("a", ["1"])[0] is not None
    assert other.put_many("b", ["1"], np.ones((1, 8), np.float32)) == 1
    assert cache.keep_only("c").entries == 3001
    assert [record.fingerprint for record in other.info().fingerprints] == ["c"]
    assert not cache.verify().bad
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache.json", "vectors-3.mdb", "vectors-3.mdb-lock"]


def test_what_other_processes_write_while_this_one_prunes_is_not_lost(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put_many("old", TEXTS, VECTORS)
    process = writer(tmp_path, 0, 3000)
    while process.poll() is None:
        cache.prune("old")
        cache.put_many("old", TEXTS, VECTORS)
        time.sleep(0.02)  # the lock is not fair
    assert finished(process)[-1] == "0 3000"
    assert not cache.verify().bad
    assert {record.fingerprint: record.count for record in cache.info().fingerprints} == {"old": 60, NAME: 3000}


def test_a_pruning_that_fails_leaves_the_cache_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = VectorCache(tmp_path)
    cache.put_many(NAME, TEXTS, VECTORS)
    cache.put_many("b", TEXTS, VECTORS)
    before = cache.info()

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache_folder.CacheFolder, "_point_at", fails)
    with pytest.raises(EmbeddingError, match="disk is full"):
        cache.prune("b")
    monkeypatch.undo()
    assert cache.info() == before


def test_a_cache_deleted_under_a_running_process_is_named(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(EmbeddingError, match="has been deleted"):
        cache.get_many(NAME, ["a"])
    assert VectorCache(tmp_path / "cache").info().entries == 0


def test_the_default_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TRACERANK_CACHE", raising=False)
    assert default_cache_folder() == tmp_path / "tracerank" / "vectors"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_folder() == Path.home() / ".cache" / "tracerank" / "vectors"
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "here"))
    assert default_cache_folder() == tmp_path / "here"


def test_filling_embeds_each_distinct_text_once_and_tells_how_far_it_is(tmp_path: Path) -> None:
    embedder = CachedEmbedder(HashEmbedder(16), VectorCache(tmp_path / "cache"), chunk=25)
    embedder.embed(TEXTS[:10])
    tally = FillingTally(embedder)
    assert list(embedder.fill([*TEXTS, *TEXTS])) == [25, 25, 10]
    assert (tally.texts, tally.cached) == (60, 10)
    assert tally.tokens_per_second is None  # there is no tokenizer to count with
    assert tally.new_texts_per_second > 0
    assert embedder.cache.info().entries == 60


def test_a_filling_that_is_broken_off_keeps_what_was_done(tmp_path: Path) -> None:
    embedder = CachedEmbedder(HashEmbedder(16), VectorCache(tmp_path / "cache"), chunk=25)
    assert next(embedder.fill(TEXTS)) == 25
    assert sum(one is not None for one in embedder.cache.get_many(embedder.fingerprint, TEXTS)) == 25


def test_a_cache_that_is_looked_for_is_never_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for is_readonly, error in ((True, EmbeddingError), (False, UsageError)):
        with pytest.raises(error):
            existing_cache(tmp_path / "none", is_readonly)
    assert not (tmp_path / "none").exists()
    VectorCache(tmp_path / "usual").put_many(NAME, TEXTS, VECTORS)
    monkeypatch.setenv("TRACERANK_CACHE", str(tmp_path / "usual"))
    assert existing_cache().info().entries == len(TEXTS)


def anonymous_bytes() -> int:
    """Memory of this process that is its own, mapped files not counted."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon")]
    return 1024 * int(line.split()[1])


def read_back(folder: Path, count: int, limit: int) -> None:
    """Read every vector of a large cache by key in small lots and see that no copy of the file is made."""
    cache = VectorCache(folder)
    lot = 5000
    for start in range(0, count, lot):
        vectors = np.zeros((lot, 384), np.float32)
        vectors[:, 0] = np.arange(start, start + lot) % 2048
        cache.put_many("wide", [f"{number}" for number in range(start, start + lot)], vectors)
    del cache
    cache = VectorCache(folder)
    rows = np.zeros((1000, 384), np.float32)
    order = np.random.default_rng(0).permutation(count)
    before = anonymous_bytes()
    for start in range(0, count, 1000):
        numbers = order[start : start + 1000]
        assert cache.read_into("wide", [str(number) for number in numbers], rows).all()
        assert np.array_equal(rows[:, 0], numbers % 2048)
    assert anonymous_bytes() - before < limit
    assert cache.info().bytes > count * 768


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


@needs_proc
def test_reading_by_key_stays_memory_mapped(tmp_path: Path) -> None:
    read_back(tmp_path, 20_000, limit=6 << 20)


@needs_proc
@pytest.mark.slow
def test_reading_a_million_vectors_by_key_stays_memory_mapped(tmp_path: Path) -> None:
    read_back(tmp_path, 1_000_000, limit=32 << 20)


def test_one_flipped_bit_in_a_vector_is_found_and_pruned(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put_many(NAME, TEXTS, VECTORS)
    stored = VECTORS[7].astype("<f2").tobytes()
    path = tmp_path / "vectors-1.mdb"
    data = bytearray(path.read_bytes())
    data[data.index(stored) + 5] ^= 4
    path.write_bytes(data)
    opened = VectorCache(tmp_path)
    check = opened.verify()
    assert [entry.why for entry in check.bad] == [f"its checksum is wrong ({NAME})"]
    assert [entry.key for entry in check.bad] == [next(iter(vector_keys(NAME, [TEXTS[7]]))).hex()]
    assert opened.prune().bad == 1
    assert opened.verify().entries == 59


def test_vectors_of_an_earlier_version_are_read_and_counted(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    cache.put_many(NAME, TEXTS[:2], VECTORS[:2])
    [key] = vector_keys(NAME, [TEXTS[0]])
    cache._files.write(lambda transaction: transaction.put(key, VECTORS[0].astype("<f2").tobytes()))
    np.testing.assert_array_equal(cache.get_many(NAME, TEXTS[:2]), cache.rounded(VECTORS[:2]))
    check = cache.verify()
    assert (check.entries, check.bad, check.unsummed) == (2, (), 1)
