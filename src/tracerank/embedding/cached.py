"""An embedder in front of the cache: asked only for what is not there yet."""

import numpy as np

from tracerank.embedding.base import Embedder, Vectors, check_vectors
from tracerank.embedding.cache import VectorCache
from tracerank.embedding.identity import AGREEMENT, REFERENCE_TEXTS, cosine
from tracerank.errors import EmbeddingError

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
        vectors = np.zeros((len(texts), self.width), np.float32)
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
