"""Vectors on disk, found by text and encoder: one SQLite file in WAL mode.

Several processes of one machine may use the file at once. Each batch is one transaction, so a kill loses at most the
batch in flight. Vectors are float16 with a checksum that ``check`` verifies. ``CachedEmbedder`` stands in front of an
embedder, so that each distinct text is embedded once ever.
"""

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import AGREEMENT, REFERENCE_TEXTS, Embedder, Vectors, check_vectors, cosine
from tracerank.errors import EmbeddingError
from tracerank.runs.sqlite_file import SqliteFile

FILE_NAME = "vectors.sqlite"
BATCH_TEXTS = 512
"""Texts that are looked up, or embedded and stored, together."""
_MARK = 0x54524B56
_DTYPE = np.dtype("<f2")
_TABLES = """
CREATE TABLE IF NOT EXISTS encoders (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, width INTEGER NOT NULL, UNIQUE (fingerprint, width));
CREATE TABLE IF NOT EXISTS vectors (
    encoder INTEGER NOT NULL, key BLOB NOT NULL, checksum INTEGER NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (encoder, key));
"""
_ENCODER = "SELECT id FROM encoders WHERE fingerprint = ? AND width = ?"


def text_key(text: str) -> bytes:
    """Digest by which a text is found again."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class StoredEncoder:
    """An encoder of which there are vectors."""

    fingerprint: str
    width: int
    count: int


class VectorCache:
    """Vectors of any number of encoders; safe to share between threads, to fork and to pickle."""

    def __init__(self, folder: str | Path, *, readonly: bool = False) -> None:
        self.path = Path(folder) / FILE_NAME
        if readonly and not self.path.exists():
            raise EmbeddingError(f"{self.path}: no vector cache; the first texts that are embedded make one")
        # A power cut may cost the last batches, nothing else.
        self._file = SqliteFile(self.path, _TABLES, _MARK, EmbeddingError, synced=False, readonly=readonly)

    def read(self, fingerprint: str, width: int, texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
        """The stored vectors by text; texts without one are left out."""
        text_of = {text_key(text): text for text in texts}
        keys, found = list(text_of), {}
        with self._file.open() as file:
            for start in range(0, len(keys), BATCH_TEXTS):
                part = keys[start : start + BATCH_TEXTS]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, vector FROM vectors WHERE encoder = ({_ENCODER}) AND key IN ({marks})"
                for key, vector in file.execute(query, (fingerprint, width, *part)):
                    if len(vector) == width * _DTYPE.itemsize:  # a damaged one counts as missing
                        found[text_of[key]] = np.frombuffer(vector, _DTYPE)
        return found

    def write(self, fingerprint: str, texts: Sequence[str], vectors: NDArray[np.float16]) -> None:
        """Store the vectors in one transaction; what is stored under the same text is replaced."""
        self.check_writable()
        encoder = (fingerprint, vectors.shape[1])
        with self._file.open() as file:
            file.execute("BEGIN IMMEDIATE")
            file.execute("INSERT OR IGNORE INTO encoders (fingerprint, width) VALUES (?, ?)", encoder)
            (number,) = file.execute(_ENCODER, encoder).fetchone()
            pairs = zip(map(text_key, texts), map(bytes, vectors.astype(_DTYPE)), strict=True)
            rows = ((number, key, zlib.crc32(key + vector), vector) for key, vector in pairs)
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)

    def check_writable(self) -> None:
        """Refuse before the work whose result could not be stored."""
        self._file.check_writable()

    def encoders(self) -> list[StoredEncoder]:
        """Of which encoders there are vectors, and how many."""
        query = "SELECT fingerprint, width, count(*) FROM vectors JOIN encoders ON id = encoder GROUP BY encoder"
        with self._file.open() as file:
            return [StoredEncoder(*row) for row in file.execute(f"{query} ORDER BY fingerprint, width")]

    def check(self) -> int:
        """Read everything; how many vectors are damaged."""
        with self._file.open() as file:
            (state,) = file.execute("PRAGMA quick_check(1)").fetchone()
            if state != "ok":
                raise sqlite3.DatabaseError(state)
            return sum(1 for _ in self._damaged(file))

    def remove(self, *fingerprints: str) -> int:
        """Remove the vectors of these encoders and every damaged one, and give the space back; how many went."""
        self.check_writable()
        known = {one.fingerprint for one in self.encoders()}
        if unknown := [name for name in fingerprints if name not in known]:
            listed = ", ".join(map(repr, sorted(known))) or "no encoder"
            raise EmbeddingError(f"{self.path}: no vectors of {unknown[0]!r}; it has those of {listed}")
        with self._file.open() as file:
            before = file.total_changes
            file.execute("BEGIN IMMEDIATE")
            file.executemany("DELETE FROM vectors WHERE rowid = ?", [(row,) for row in self._damaged(file)])
            of_encoder = "DELETE FROM vectors WHERE encoder IN (SELECT id FROM encoders WHERE fingerprint = ?)"
            file.executemany(of_encoder, [(name,) for name in fingerprints])
            removed = file.total_changes - before
            file.commit()
            file.execute("VACUUM")
        return removed

    @staticmethod
    def _damaged(file: sqlite3.Connection) -> Iterator[int]:
        query = "SELECT vectors.rowid, key, checksum, vector, width FROM vectors JOIN encoders ON id = encoder"
        for row, key, checksum, vector, width in file.execute(query):
            if len(vector) != width * _DTYPE.itemsize or zlib.crc32(key + vector) != checksum:
                yield row


class CachedEmbedder:
    """Any embedder, asked only for texts that the cache lacks."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self.embedder = embedder
        self.cache = cache
        self.name = embedder.name
        self.width = embedder.width
        self.spec: str | None = getattr(embedder, "spec", None)
        self.dims: int | None = getattr(embedder, "dims", None)
        own: str | None = getattr(embedder, "fingerprint", None)
        self.fingerprint = own or f"{embedder.name}/{embedder.width}"
        self._is_trusted = own is not None
        self.hits = 0
        """Texts whose vector was stored, or that were asked for twice."""
        self.misses = 0
        """Texts embedded."""

    def embed(self, texts: list[str]) -> Vectors:
        vector_of = self.cache.read(self.fingerprint, self.width, texts)
        missing = [text for text in dict.fromkeys(texts) if text not in vector_of]
        self.hits += len(texts) - len(missing)
        if missing:
            self.cache.check_writable()
            self._check_same_model()
        for start in range(0, len(missing), BATCH_TEXTS):
            part = missing[start : start + BATCH_TEXTS]
            halves = self._embedded(part)
            self.cache.write(self.fingerprint, part, halves)
            self.misses += len(part)
            vector_of.update(zip(part, halves, strict=True))
        return np.array([vector_of[text] for text in texts], np.float16).reshape(-1, self.width)

    def _embedded(self, texts: list[str]) -> NDArray[np.float16]:
        made = check_vectors(self.embedder.embed(texts), len(texts), self.width, self.name, texts)
        with np.errstate(over="ignore"):
            halves = made.astype(np.float16)
        if not np.isfinite(halves).all():
            raise EmbeddingError(f"{self.name}: vectors exceed half precision; normalise them first")
        return halves

    def _check_same_model(self) -> None:
        """A server's name says little about its model: compare a vector with the one stored under that name."""
        if self._is_trusted:
            return
        text = REFERENCE_TEXTS[0]
        given = self._embedded([text])
        stored = self.cache.read(self.fingerprint, self.width, [text]).get(text)
        if stored is None:
            self.cache.write(self.fingerprint, [text], given)
        elif (found := cosine(stored, given[0])) < AGREEMENT:
            raise EmbeddingError(
                f"{self.name}: gives other vectors than those stored under this name (cosine {found:.3f}); is another "
                f"model loaded? Remove the old ones: tracerank cache --remove {self.fingerprint!r}"
            )
        self._is_trusted = True
