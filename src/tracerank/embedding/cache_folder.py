"""The folder of a vector cache: what ``cache.json`` says, which LMDB file is current, how its entries are laid out."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from tracerank.embedding.lmdb_file import LmdbFile, Transaction, create_lmdb, errors_in_words, open_lmdb
from tracerank.errors import EmbeddingError
from tracerank.runs.atomic import replacing

_RECORD, _VECTOR = b"\x00", b"\x01"  # first byte of a key
_PREFIX_BYTES = 8  # then whose: keeps an encoder's vectors together, so that they can be counted and pruned
_DIGEST_BYTES = 16
KEY_BYTES = 1 + _PREFIX_BYTES + _DIGEST_BYTES


@dataclass(frozen=True, slots=True)
class FingerprintRecord:
    """The vectors of one encoder."""

    fingerprint: str
    width: int
    count: int


def prefix_of(fingerprint: str) -> bytes:
    """The short form of a fingerprint in keys."""
    return hashlib.blake2b(fingerprint.encode("utf-8", "surrogatepass"), digest_size=_PREFIX_BYTES).digest()


def prefix_in(key: bytes) -> bytes:
    """Which encoder a vector's key names."""
    return key[1 : 1 + _PREFIX_BYTES]


def record_key(prefix: bytes) -> bytes:
    """Where an encoder's record is."""
    return _RECORD + prefix


def vector_keys(fingerprint: str, texts: Sequence[str]) -> Iterator[bytes]:
    """Kind, fingerprint, then the 16-byte BLAKE2b of (fingerprint, text)."""
    name = fingerprint.encode("utf-8", "surrogatepass")
    start = hashlib.blake2b(len(name).to_bytes(8, "little") + name, digest_size=_DIGEST_BYTES)
    head = _VECTOR + prefix_of(fingerprint)
    for text in texts:
        digest = start.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        yield head + digest.digest()


SUM_BYTES = 8
"""Of the checksum behind a vector; vectors of earlier versions have none."""


def with_sum(key: bytes, vector: bytes) -> bytes:
    """A vector with the BLAKE2b of its key and itself behind it."""
    return vector + hashlib.blake2b(key + vector, digest_size=SUM_BYTES).digest()


def read_record(transaction: Transaction, fingerprint: str) -> FingerprintRecord | None:
    """What is known of one encoder; None if nothing."""
    value = transaction.get(record_key(prefix_of(fingerprint)))
    return None if value is None else _parsed(value)


def _parsed(value: memoryview) -> FingerprintRecord:
    try:
        return FingerprintRecord(**json.loads(bytes(value)))
    except (ValueError, TypeError):
        raise EmbeddingError("the vector cache is damaged (a record of an encoder); delete its folder") from None


def put_records(transaction: Transaction, records: Iterable[FingerprintRecord]) -> None:
    """Store what is known of encoders."""
    for record in records:
        transaction.put(record_key(prefix_of(record.fingerprint)), json.dumps(asdict(record)).encode())


def read_records(transaction: Transaction) -> list[FingerprintRecord]:
    """All encoders, by fingerprint."""
    records = []
    for key, value in transaction.cursor().iternext():
        if bytes(key[:1]) != _RECORD:
            break
        records.append(_parsed(value))
    return sorted(records, key=lambda record: record.fingerprint)


def iterate_vectors(transaction: Transaction) -> Iterator[tuple[bytes, memoryview]]:
    """Every vector, by key, without a copy."""
    cursor = transaction.cursor()
    if cursor.set_range(_VECTOR):
        for key, value in cursor.iternext():
            yield bytes(key), value


def append_vectors(target: LmdbFile, entries: list[tuple[bytes, memoryview]]) -> None:
    """Store vectors whose keys follow all that are there: their pages are filled to the brim."""

    def put(transaction: Transaction) -> None:
        for key, value in entries:
            transaction.put(key, value, append=True)

    target.write(put)


FORMAT = "tracerank-cache/1"
DTYPES = ("float16", "float32")
_DATA = re.compile(r"vectors-(\d+)\.mdb")
_OURS = re.compile(r"vectors-\d+\.mdb(-lock)?|cache\.json(\.\d+)?|\.cache\.json\.\d+\.tmp")
_ATTEMPTS = 100  # each means that another process has pruned in the same instant

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CacheRecord:
    """What ``cache.json`` holds."""

    format: str
    dtype: str
    data: str
    """Name of the current LMDB file."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The file that was current when cache.json looked like this, opened by this process."""

    file: LmdbFile
    record: CacheRecord
    stamp: tuple[int, int]
    pid: int


class _Replaced(Exception):
    """Another process has pruned: the file at hand is no longer the cache."""


class CacheFolder:
    """Transactions on whichever file is current."""

    def __init__(self, folder: Path, dtype: str | None, is_readonly: bool, map_bytes: int, max_map_bytes: int) -> None:
        if dtype is not None and dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
        self.folder = folder
        self._path = folder / "cache.json"
        self._is_readonly = is_readonly
        self._map = (map_bytes, max_map_bytes)
        with errors_in_words(self._path):
            if not self._path.exists():
                self._create(dtype or DTYPES[0])
            self._opened = self._open()
        self.dtype = self._opened.record.dtype
        if dtype not in (None, self.dtype):
            raise EmbeddingError(f"{folder}: holds {self.dtype} vectors, not {dtype}; use another folder")

    def read(self, action: Callable[[Transaction], T]) -> T:
        """The action's result on one snapshot."""
        return self._current().file.read(action)

    def unload(self) -> None:
        """Give back the memory of what was read."""
        self._current().file.unload()

    def write(self, action: Callable[[Transaction], T]) -> T:
        """Run the action in a write transaction on the current file."""
        return self._write(lambda transaction, _: action(transaction))

    def _write(self, action: Callable[[Transaction, CacheRecord], T]) -> T:
        self.check_writable()
        for _ in range(_ATTEMPTS):
            opened = self._current()

            def on_current(transaction: Transaction, opened: _Opened = opened) -> T:
                if opened.stamp != self._stamp_now():  # looked up under the lock that replacing takes, too
                    raise _Replaced
                return action(transaction, opened.record)

            try:
                return opened.file.write(on_current)
            except _Replaced:
                continue
        raise EmbeddingError(f"{self.folder}: is pruned all the time by another process; try again later")

    def replace(self, copy: Callable[[Transaction, LmdbFile], T]) -> T:
        """Let ``copy`` fill a new file and make it the current one; a kill leaves the old one in place."""

        def swap(transaction: Transaction, old: CacheRecord) -> T:
            number = int(old.data.removeprefix("vectors-").removesuffix(".mdb")) + 1
            path = self.folder / f"vectors-{number}.mdb"
            self._remove(keep=old.data)
            try:
                result = copy(transaction, create_lmdb(path, *self._map))
            except BaseException:
                self._remove(keep=old.data)
                raise
            self._point_at(CacheRecord(FORMAT, old.dtype, path.name))
            self._remove(keep=path.name)
            return result

        return self._write(swap)

    def check_writable(self) -> None:
        """Raise unless vectors can be stored here."""
        if self._is_readonly or self._current().file.is_readonly:
            raise EmbeddingError(
                f"{self.folder}: opened for reading only; make the folder writable or set TRACERANK_CACHE to another"
            )

    def bytes(self) -> int:
        """Length of the current file."""
        return self._current().file.path.stat().st_size

    def _current(self) -> _Opened:
        opened = self._opened
        if opened.pid != os.getpid() or opened.stamp != self._stamp_now():
            opened = self._opened = self._open()
        return opened

    def _open(self) -> _Opened:
        for _ in range(_ATTEMPTS):
            stamp = self._stamp_now()
            record = self._read_record()
            path = self.folder / record.data
            try:
                file = open_lmdb(path, not self._can_write(path), *self._map)
            except FileNotFoundError:
                if stamp == self._stamp_now():
                    raise EmbeddingError(f"{path}: is missing; delete {self.folder} to make the cache anew") from None
                continue
            return _Opened(file, record, stamp, os.getpid())
        raise EmbeddingError(f"{self.folder}: is pruned all the time by another process; try again later")

    def _can_write(self, path: Path) -> bool:
        lock = path.with_name(f"{path.name}-lock")
        return all(os.access(each, os.W_OK) for each in (self.folder, path, lock) if each.exists())

    def _create(self, dtype: str) -> None:
        if self._is_readonly:
            raise EmbeddingError(f"{self.folder}: no vector cache; the first texts that are embedded make one")
        self.folder.mkdir(parents=True, exist_ok=True)
        # A kill may have come before cache.json was written; anything else here is not ours to write among.
        strangers = sorted(path.name for path in self.folder.iterdir() if not _OURS.fullmatch(path.name))
        if strangers:
            raise EmbeddingError(
                f"{self.folder}: not a vector cache (it holds {strangers[0]!r}); choose an empty or a new folder"
            )

        def claim(_: Transaction) -> None:
            if not self._path.exists():
                self._point_at(CacheRecord(FORMAT, dtype, "vectors-1.mdb"))

        create_lmdb(self.folder / "vectors-1.mdb", *self._map).write(claim)

    def _point_at(self, record: CacheRecord) -> None:
        with replacing(self._path, is_synced=True) as draft:
            draft.write_text(json.dumps(asdict(record)) + "\n", encoding="utf-8")

    def _remove(self, keep: str) -> None:
        """Delete data files but the named one: those replaced, and what a killed pruning left."""
        for path in self.folder.iterdir():
            if _OURS.fullmatch(path.name) and path.name not in ("cache.json", keep, f"{keep}-lock"):
                path.unlink(missing_ok=True)

    def _stamp_now(self) -> tuple[int, int]:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            raise EmbeddingError(f"{self.folder}: the vector cache has been deleted; start again") from None
        return found.st_ino, found.st_mtime_ns

    def _read_record(self) -> CacheRecord:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            record = CacheRecord(str(found["format"]), str(found["dtype"]), str(found["data"]))
        except (ValueError, TypeError, KeyError):
            raise EmbeddingError(f"{self._path}: damaged; delete {self.folder} to make the cache anew") from None
        if record.format != FORMAT:
            raise EmbeddingError(f"{self._path}: format {record.format!r}, this version reads {FORMAT!r}; use another")
        if record.dtype not in DTYPES or not _DATA.fullmatch(record.data):
            raise EmbeddingError(f"{self._path}: damaged; delete {self.folder} to make the cache anew")
        return record
