"""Vectors on disk, one row per distinct text, memory-mapped for reading.

``vectors.bin`` holds the rows, ``keys.bin`` a 16-byte digest of each row's text, ``store.json`` whose they are.
Rows are only appended, the vector before its key, so a kill at any moment loses at most the batch in flight.
Only writing needs the index of texts in memory; reading rows does not.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import Embedder, check_vectors
from tracerank.errors import EmbeddingError
from tracerank.runs.atomic import write_text

DTYPE = np.dtype("<f2")
KEY_BYTES = 16
EMBEDDED_TEXTS = 2048
"""Texts embedded and written at a time."""


class VectorStore:
    """Append-only vectors of one embedder."""

    def __init__(self, folder: str | Path, embedder: Embedder) -> None:
        self.folder = Path(folder)
        self.embedder = embedder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._claim({"format": "tracerank-vectors/1", "encoder": embedder.name, "width": embedder.width})
        self._row_of = self._recover()

    def __len__(self) -> int:
        return len(self._row_of)

    def rows(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """The row of each text; those not yet stored are embedded and appended."""
        keys = [text_key(text) for text in texts]
        missing: dict[bytes, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key not in self._row_of:
                missing.setdefault(key, text)
        pending = list(missing.items())
        for begin in range(0, len(pending), EMBEDDED_TEXTS):
            self._append(pending[begin : begin + EMBEDDED_TEXTS])
        return np.fromiter((self._row_of[key] for key in keys), np.int64, len(keys))

    def table(self) -> NDArray[np.float16]:
        """All rows, memory-mapped."""
        return open_table(self.folder)

    def _append(self, items: list[tuple[bytes, str]]) -> None:
        texts = [text for _, text in items]
        given = self.embedder.embed(texts)
        vectors = check_vectors(given, len(texts), self.embedder.width, self.embedder.name, texts)
        with np.errstate(over="ignore"):
            halves = vectors.astype(DTYPE)
        if not np.isfinite(halves).all():
            raise EmbeddingError(f"{self.embedder.name}: vectors exceed half precision; normalise them first")
        _append_bytes(self.folder / "vectors.bin", halves.tobytes())
        _append_bytes(self.folder / "keys.bin", b"".join(key for key, _ in items))
        for key, _ in items:
            self._row_of[key] = len(self._row_of)

    def _claim(self, identity: dict[str, Any]) -> None:
        path = self.folder / "store.json"
        if not path.exists():
            write_text(path, json.dumps(identity) + "\n")
            return
        found = read_identity(self.folder)
        if found != identity:
            raise EmbeddingError(
                f"{self.folder}: holds vectors of {found.get('encoder')!r} ({found.get('width')} wide), not of "
                f"{identity['encoder']!r} ({identity['width']} wide); use another folder"
            )

    def _recover(self) -> dict[bytes, int]:
        """The index of complete rows; what a kill left half-written is cut off."""
        row_bytes = self.embedder.width * DTYPE.itemsize
        vectors, keys = self.folder / "vectors.bin", self.folder / "keys.bin"
        for path in (vectors, keys):
            path.touch()
        count = min(vectors.stat().st_size // row_bytes, keys.stat().st_size // KEY_BYTES)
        os.truncate(vectors, count * row_bytes)
        os.truncate(keys, count * KEY_BYTES)
        stored = keys.read_bytes()
        return {stored[row * KEY_BYTES : (row + 1) * KEY_BYTES]: row for row in range(count)}


def text_key(text: str) -> bytes:
    """Digest by which a text is found again."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


def open_table(folder: str | Path) -> NDArray[np.float16]:
    """The rows of a store without its index: [rows, width], memory-mapped."""
    folder = Path(folder)
    width = int(read_identity(folder)["width"])
    path = folder / "vectors.bin"
    if path.stat().st_size == 0:
        return np.zeros((0, width), DTYPE)
    # Copy-on-write, because torch wants writable memory; nothing ever writes.
    return np.memmap(path, DTYPE, mode="c").reshape(-1, width)


def read_identity(folder: Path) -> dict[str, Any]:
    """What ``store.json`` says."""
    path = folder / "store.json"
    try:
        identity = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(identity, dict) and isinstance(identity.get("width"), int):
            return identity
    except (OSError, ValueError):
        pass
    raise EmbeddingError(f"{path}: not a vector store; delete the folder to make it anew")


def _append_bytes(path: Path, data: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise EmbeddingError(f"{path}: cannot be written: {error.strerror}") from None
