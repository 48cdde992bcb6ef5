"""An embedder in front of a vector cache: each distinct text is embedded once ever."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import AGREEMENT, REFERENCE_TEXTS, Embedder, Vectors, check_vectors, cosine
from tracerank.embedding.cache import BATCH_TEXTS, VectorCache
from tracerank.errors import EmbeddingError


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

    @property
    def tokens_encoded(self) -> int:
        """Tokens that the embedder has read so far; 0 when it does not count them."""
        return int(getattr(self.embedder, "tokens_encoded", 0))

    def embed(self, texts: list[str]) -> Vectors:
        return self.embed_stored(texts).astype(np.float32)

    def embed_stored(self, texts: list[str]) -> NDArray[np.float16]:
        """The same in half precision, for a caller that can widen vectors faster than numpy."""
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
        rows = [vector_of[text] for text in texts]
        return np.concatenate(rows).reshape(-1, self.width) if rows else np.zeros((0, self.width), np.float16)

    def fill(self, texts: Iterable[str]) -> Iterator[int]:
        """See to it that every text has a vector; yields, batch by batch, how many more have one."""
        distinct = list(dict.fromkeys(texts))
        for start in range(0, len(distinct), BATCH_TEXTS):
            part = distinct[start : start + BATCH_TEXTS]
            self.embed_stored(part)
            yield len(part)

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
