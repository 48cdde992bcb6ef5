"""Encoders by what the user wrote, with every vector of a costly one kept in the cache."""

from tracerank.embedding.base import Embedder, HashEmbedder, Sha256Embedder


def encoder_named(spec: str) -> Embedder:
    """``default``, ``hash-256``, a model's folder, a hub id or a server's address."""
    from tracerank.embedding.cache import CachedEmbedder, VectorCache, default_cache_folder
    from tracerank.embedding.load import load_embedder

    embedder = load_embedder(spec)
    if isinstance(embedder, HashEmbedder | Sha256Embedder):
        return embedder  # as quick to compute as to look up
    return CachedEmbedder(embedder, VectorCache(default_cache_folder()))
