"""The vectors in an embeddings server's reply."""

import base64
import binascii
from typing import Any

import numpy as np

from tracerank.embedding.base import Vectors
from tracerank.errors import EmbeddingError


def read_rows(reply: Any, count: int, url: str) -> Vectors:
    """The vectors of one reply in the order of its texts: float32 [count, width]."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise EmbeddingError(f"{url}: answered without a list 'data' of embeddings")
    if len(data) != count:
        raise EmbeddingError(f"{url}: returned {len(data)} vectors for {count} texts")
    rows: list[Vectors | None] = [None] * count
    for row in data:
        index = row.get("index")
        if type(index) is not int or not 0 <= index < count:
            raise EmbeddingError(f"{url}: returned a vector with index {index!r}; expected 0 to {count - 1}")
        if rows[index] is not None:
            raise EmbeddingError(f"{url}: returned two vectors with index {index}")
        rows[index] = _read_vector(row.get("embedding"), url)
    vectors = [row for row in rows if row is not None]  # all: count distinct indices below count
    widths = sorted({len(vector) for vector in vectors})
    if len(widths) > 1:
        raise EmbeddingError(f"{url}: returned vectors of different widths in one reply: {widths}")
    return np.stack(vectors)


def _read_vector(value: object, url: str) -> Vectors:
    """One embedding, as numbers or as the base64 of little-endian float32, whichever the server sent."""
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            vector = np.asarray(value)
    except (binascii.Error, ValueError):
        raise EmbeddingError(f"{url}: returned an embedding that is neither base64 float32 nor numbers") from None
    if vector.ndim != 1 or len(vector) == 0 or vector.dtype.kind not in "fi":
        raise EmbeddingError(f"{url}: returned an embedding that is not a list of numbers")
    with np.errstate(over="ignore"):  # infinite values are named by check_vectors
        return vector.astype(np.float32)
