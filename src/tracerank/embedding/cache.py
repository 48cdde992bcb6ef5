"""Vectors on disk by content: each distinct text is embedded once ever, whoever asks and however often it is killed.

``cache.json`` says what the folder is and which LMDB file is current. That file holds, for each encoder fingerprint, a
record (width, count) and one value per text: the raw little-endian vector and a checksum. Entries are only ever added;
pruning writes a new file with what stays and then points ``cache.json`` at it. An embedder in front of the cache is
asked only for what is not there yet.
"""

import mmap
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracerank.cache_folders import default_cache_folder
from tracerank.embedding.base import AGREEMENT, REFERENCE_TEXTS, Embedder, Vectors, check_vectors, cosine
from tracerank.embedding.cache_folder import (
    KEY_BYTES,
    SUM_BYTES,
    CacheFolder,
    FingerprintRecord,
    append_vectors,
    iterate_vectors,
    prefix_in,
    prefix_of,
    put_records,
    read_record,
    read_records,
    record_key,
    vector_keys,
    with_sum,
)
from tracerank.embedding.lmdb_file import FIRST_MAP_BYTES, MAX_MAP_BYTES, LmdbFile, Transaction
from tracerank.errors import EmbeddingError, UsageError

T = TypeVar("T", bound=np.floating[Any])

_COPIED_ENTRIES = 4096
_MAPPED_BYTES = 1 << 24
"""Of vectors looked up or stored, after which the pages that they lie on are given back: a run over many pools would
hold the whole file otherwise."""
SMALL_AT_ONCE = 512
"""The same of vectors that are smaller than a page. Each may map 128 KiB of a large file: Linux takes the 64 KiB around
a page, and there is the page above it, too."""
FEW_SMALL_AT_ONCE = 64
"""Where each text is asked for once, so that little is lost with the pages."""


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds."""

    folder: str
    dtype: str
    entries: int
    bytes: int
    """Length of the file on disk."""
    fingerprints: tuple[FingerprintRecord, ...]


@dataclass(frozen=True, slots=True)
class BadEntry:
    """An entry that cannot be used; pruning leaves it out."""

    key: str
    """Hexadecimal."""
    why: str


@dataclass(frozen=True, slots=True)
class CacheCheck:
    """What reading every vector has shown."""

    entries: int
    """Vectors read, bad ones included."""
    bad: tuple[BadEntry, ...]
    unsummed: int = 0
    """Vectors of an earlier version, which have no checksum: a flipped bit in them is not seen."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning removed."""

    entries: int
    bad: int
    """Those among them that were damaged."""
    bytes_before: int
    bytes_after: int


class VectorCache:
    """Content-addressed vectors of any number of encoders; many processes read while one writes."""

    def __init__(
        self,
        folder: str | Path,
        dtype: str | None = None,
        is_readonly: bool = False,
        map_bytes: int = FIRST_MAP_BYTES,
        max_map_bytes: int = MAX_MAP_BYTES,
        small_at_once: int = SMALL_AT_ONCE,
    ) -> None:
        """Open the folder or make it; ``dtype`` None takes the one it has, float16 in a new one."""
        self.folder = Path(folder)
        self._arguments = (self.folder, dtype, is_readonly, map_bytes, max_map_bytes, small_at_once)
        self._files = CacheFolder(self.folder, dtype, is_readonly, map_bytes, max_map_bytes)
        self.dtype = self._files.dtype
        self._little_endian = np.dtype(self.dtype).newbyteorder("<")
        self._small_at_once = small_at_once
        self._touched = 0.0  # as a share of what may be

    def __reduce__(self) -> tuple[Any, ...]:
        return VectorCache, self._arguments  # a spawned process opens its own

    def width(self, fingerprint: str) -> int | None:
        """How wide this encoder's vectors are; None if there are none."""
        record = self._files.read(lambda transaction: read_record(transaction, fingerprint))
        return None if record is None else record.width

    def get_many(self, fingerprint: str, texts: Sequence[str]) -> list[Vectors | None]:
        """The vector of each text, None where there is none; the vectors are rows of one array."""
        vectors = np.empty((len(texts), self.width(fingerprint) or 0), np.float32)
        found = self.read_into(fingerprint, texts, vectors)
        return [row if is_found else None for row, is_found in zip(vectors, found, strict=True)]

    def read_into(self, fingerprint: str, texts: Sequence[str], rows: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Copy each stored vector from the mapped file into its row; which ones were found."""
        found = np.zeros(len(texts), np.bool_)
        keys = list(vector_keys(fingerprint, texts))

        def copy(transaction: Transaction, part: slice) -> None:
            record = read_record(transaction, fingerprint)
            if record is None:
                return
            _check_width(self.folder, record, rows.shape[1])
            size = record.width * self._little_endian.itemsize
            for row, key in enumerate(keys[part], part.start):
                value = transaction.get(key)
                if value is not None and len(value) in (size, size + SUM_BYTES):  # a damaged one counts as missing
                    rows[row] = np.frombuffer(value, self._little_endian, record.width)
                    found[row] = True

        for part in self._parts(len(keys), rows.shape[1]):
            self._files.read(partial(copy, part=part))
        return found

    def put_many(self, fingerprint: str, texts: Sequence[str], vectors: NDArray[np.floating[Any]]) -> int:
        """Store the vectors, many in each transaction, and say how many were new; a text that has one keeps it."""
        self.check_writable()
        stored = self._stored(fingerprint, texts, vectors)
        keys = list(vector_keys(fingerprint, texts))

        def put(transaction: Transaction, part: slice) -> int:
            record = read_record(transaction, fingerprint) or FingerprintRecord(fingerprint, stored.shape[1], 0)
            _check_width(self.folder, record, stored.shape[1])
            added = 0
            for key, row in zip(keys[part], stored[part], strict=True):
                value = with_sum(key, row.tobytes())
                if transaction.put(key, value, overwrite=False):
                    added += 1
                elif len(transaction.get(key, b"")) != len(value):
                    transaction.put(key, value)
            put_records(transaction, [replace(record, count=record.count + added)])
            return added

        return sum(self._files.write(partial(put, part=part)) for part in self._parts(len(keys), stored.shape[1]))

    def _parts(self, count: int, width: int) -> Iterator[slice]:
        """So many vectors by parts that map little of the file, which is given back between them."""
        size = width * self._little_endian.itemsize
        most = max(_MAPPED_BYTES // size, 1) if size >= mmap.PAGESIZE else self._small_at_once
        for start in range(0, count, most):
            part = slice(start, min(start + most, count))
            share = (part.stop - part.start) / most
            if self._touched + share > 1:
                self._touched = 0.0
                self._files.unload()
            self._touched += share
            yield part

    def rounded(self, vectors: Vectors) -> Vectors:
        """The vectors as they will be read back."""
        return vectors.astype(self.dtype).astype(np.float32)

    def check_writable(self) -> None:
        """Refuse now rather than after the work whose result could not be stored."""
        self._files.check_writable()

    def info(self) -> CacheInfo:
        """What the cache holds, by its own counts."""
        records = self._files.read(read_records)
        entries = sum(record.count for record in records)
        return CacheInfo(str(self.folder), self.dtype, entries, self._files.bytes(), tuple(records))

    def verify(self) -> CacheCheck:
        """Read every vector: length and checksum are right, its values are finite; and so are the counts."""

        def check(transaction: Transaction) -> CacheCheck:
            records = {prefix_of(record.fingerprint): record for record in read_records(transaction)}
            counts: Counter[bytes] = Counter()
            bad = []
            unsummed = 0
            for key, value in iterate_vectors(transaction):
                prefix = prefix_in(key)
                counts[prefix] += 1
                record = records.get(prefix)
                unsummed += record is not None and len(value) == record.width * self._little_endian.itemsize
                if why := self._fault(record, key, value):
                    bad.append(BadEntry(key.hex(), why))
            for prefix, record in records.items():
                if record.count != counts[prefix]:
                    why = f"counts {record.count} vectors of {record.fingerprint!r}, there are {counts[prefix]}"
                    bad.append(BadEntry(record_key(prefix).hex(), why))
            return CacheCheck(counts.total(), tuple(bad), unsummed)

        return self._files.read(check)

    def prune(self, *fingerprints: str) -> Pruned:
        """Remove the vectors of these encoders, and every damaged one; the file shrinks."""
        return self._rewrite(lambda known: {name for name in known if name not in fingerprints}, fingerprints)

    def keep_only(self, *fingerprints: str) -> Pruned:
        """Remove the vectors of all encoders but these, and every damaged one; the file shrinks."""
        return self._rewrite(lambda known: known & set(fingerprints), fingerprints)

    def _rewrite(self, chosen: Callable[[set[str]], set[str]], named: Collection[str]) -> Pruned:
        before = self._files.bytes()

        def copy(transaction: Transaction, target: LmdbFile) -> tuple[int, int]:
            records = {prefix_of(record.fingerprint): record for record in read_records(transaction)}
            known = {record.fingerprint for record in records.values()}
            if unknown := sorted(set(named) - known):
                listed = ", ".join(repr(name) for name in sorted(known)) or "none at all"
                raise EmbeddingError(f"{self.folder}: has no vectors of {unknown[0]!r}; it has {listed}")
            kept = chosen(known)
            seen, bad = 0, 0
            counts: Counter[bytes] = Counter()
            pending: list[tuple[bytes, memoryview]] = []
            for key, value in iterate_vectors(transaction):
                seen += 1
                prefix = prefix_in(key)
                record = records.get(prefix)
                if self._fault(record, key, value):
                    bad += 1
                elif record is not None and record.fingerprint in kept:
                    counts[prefix] += 1
                    pending.append((key, value))
                if len(pending) == _COPIED_ENTRIES:
                    append_vectors(target, pending)
                    pending = []
            append_vectors(target, pending)
            remaining = [replace(records[prefix], count=count) for prefix, count in counts.items()]
            target.write(lambda transaction: put_records(transaction, remaining))
            return seen - counts.total(), bad

        removed, bad = self._files.replace(copy)
        return Pruned(removed, bad, before, self._files.bytes())

    def _stored(self, fingerprint: str, texts: Sequence[str], vectors: NDArray[np.floating[Any]]) -> NDArray[Any]:
        width = vectors.shape[1] if isinstance(vectors, np.ndarray) and vectors.ndim == 2 else 0
        checked = check_vectors(vectors, len(texts), width, fingerprint, texts)
        with np.errstate(over="ignore"):
            stored = checked.astype(self._little_endian)
        if not np.isfinite(stored).all():
            raise EmbeddingError(f"{fingerprint}: vectors exceed half precision; normalise them or use a float32 cache")
        return stored

    def _fault(self, record: FingerprintRecord | None, key: bytes, value: memoryview) -> str | None:
        if record is None or len(key) != KEY_BYTES:
            return "belongs to no encoder"
        size = record.width * self._little_endian.itemsize
        if len(value) not in (size, size + SUM_BYTES):
            return f"{len(value)} bytes; {record.width} values of {self.dtype} expected ({record.fingerprint})"
        if len(value) > size and value != with_sum(key, bytes(value[:size])):
            return f"its checksum is wrong ({record.fingerprint})"
        if not np.isfinite(np.frombuffer(value, self._little_endian, record.width)).all():
            return f"not finite ({record.fingerprint})"
        return None


def existing_cache(folder: str | Path | None = None, is_readonly: bool = False) -> VectorCache:
    """The cache in a folder, or in the usual one; where there is none, none is made."""
    path = Path(folder) if folder is not None else default_cache_folder()
    if not is_readonly and not path.is_dir():
        raise UsageError(f"{path}: no such folder, so nothing to remove")
    return VectorCache(path, is_readonly=is_readonly)


def _check_width(folder: Path, record: FingerprintRecord, width: int) -> None:
    if record.width != width:
        raise EmbeddingError(
            f"{folder}: vectors of {record.fingerprint!r} are {record.width} wide, not {width}; "
            f"if the encoder has changed, remove them: tracerank cache prune '{record.fingerprint}'"
        )


EMBEDDED_TEXTS = 512
"""Texts embedded and stored at a time: what a kill can cost."""


class CachedEmbedder:
    """Any embedder, asked only for texts that the cache lacks; a run that was killed goes on where it was."""

    def __init__(self, embedder: Embedder, cache: VectorCache, chunk: int = EMBEDDED_TEXTS) -> None:
        if chunk < 1:
            raise ValueError(f"chunk must be at least 1, got {chunk}")
        self.embedder = embedder
        self.cache = cache
        self.chunk = chunk
        self.name = embedder.name
        self.width = embedder.width
        self.spec: str | None = getattr(embedder, "spec", None)
        self.dims: int | None = getattr(embedder, "dims", None)
        own: str | None = getattr(embedder, "fingerprint", None)
        self.fingerprint = own or f"{embedder.name}/{embedder.width}"
        self._is_trusted = own is not None
        self.hits = 0
        """Texts whose vector was there, or had just been asked for."""
        self.misses = 0
        """Texts embedded."""

    @property
    def tokens_encoded(self) -> int:
        """Tokens that the embedder has read so far; 0 when it does not count them."""
        return int(getattr(self.embedder, "tokens_encoded", 0))

    def embed(self, texts: list[str]) -> Vectors:
        return self._embedded(texts, np.zeros((len(texts), self.width), np.float32))

    def embed_stored(self, texts: list[str]) -> NDArray[np.floating[Any]]:
        """The same in the precision of the cache, for who can widen vectors better than numpy does."""
        return self._embedded(texts, np.zeros((len(texts), self.width), self.cache.dtype))

    def _embedded(self, texts: list[str], vectors: NDArray[T]) -> NDArray[T]:
        found = self.cache.read_into(self.fingerprint, texts, vectors)
        rows_of: dict[str, list[int]] = {}
        for row in np.flatnonzero(~found).tolist():
            rows_of.setdefault(texts[row], []).append(row)
        missing = list(rows_of)
        self.hits += len(texts) - len(missing)
        if missing:
            self.cache.check_writable()
            self._check_still_the_same()
        for start in range(0, len(missing), self.chunk):
            asked = missing[start : start + self.chunk]
            made = check_vectors(self.embedder.embed(asked), len(asked), self.width, self.name, asked)
            self.cache.put_many(self.fingerprint, asked, made)
            self.misses += len(asked)
            for text, vector in zip(asked, self.cache.rounded(made), strict=True):
                vectors[rows_of[text]] = vector  # as a later run will read it
        return vectors

    def fill(self, texts: Sequence[str]) -> Iterator[int]:
        """See to it that every text has a vector; yields, part by part, how many more have one.

        Asked to stop between two parts it loses nothing.
        """
        distinct = list(dict.fromkeys(texts))
        for begin in range(0, len(distinct), self.chunk):
            part = distinct[begin : begin + self.chunk]
            self.embed(part)
            yield len(part)

    def _check_still_the_same(self) -> None:
        """A name says little about a server's model: compare one of its vectors with the one stored under that name."""
        if self._is_trusted:
            return
        text = REFERENCE_TEXTS[0]
        stored = self.cache.get_many(self.fingerprint, [text])[0]
        given = check_vectors(self.embedder.embed([text]), 1, self.width, self.name)
        if stored is None:
            self.cache.put_many(self.fingerprint, [text], given)
        elif (found := cosine(stored, given[0])) < AGREEMENT:
            raise EmbeddingError(
                f"{self.name}: gives other vectors than those stored under this name (cosine {found:.3f}); is another "
                f"model loaded? tracerank cache prune {self.fingerprint!r} removes the old ones"
            )
        self._is_trusted = True


class FillingTally:
    """How much a cached embedder has been asked for since, and how quickly it came."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder
        self._before = embedder.hits, embedder.misses, embedder.tokens_encoded
        self._began = time.monotonic()

    @property
    def cached(self) -> int:
        """Texts whose vector was there."""
        return self._embedder.hits - self._before[0]

    @property
    def texts(self) -> int:
        """All that were asked for."""
        return self.cached + self._embedder.misses - self._before[1]

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def tokens_per_second(self) -> float | None:
        """None: nothing was encoded, or the embedder has no tokenizer to count with."""
        tokens = self._embedder.tokens_encoded - self._before[2]
        return tokens / max(self.seconds, 1e-9) if tokens else None

    @property
    def new_texts_per_second(self) -> float:
        return (self.texts - self.cached) / max(self.seconds, 1e-9)
