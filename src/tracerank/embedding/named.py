"""Embedders by name, for checkpoints that say which one they were trained with."""

import re

from tracerank.embedding.base import Embedder, HashEmbedder, Sha256Embedder
from tracerank.errors import EmbeddingError


def embedder_named(name: str) -> Embedder:
    """The embedder whose vectors carry this name."""
    if match := re.fullmatch(r"hash-([1-9]\d{0,4})", name):
        return HashEmbedder(int(match[1]))
    if name == Sha256Embedder.name:
        return Sha256Embedder()
    raise EmbeddingError(f"no embedder is called {name!r}; pass one with embedder=, or use 'hash-256'")
