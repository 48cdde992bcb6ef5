"""Encoders by what the user wrote or a checkpoint says, with every vector of a costly one kept in the cache."""

from typing import TYPE_CHECKING

from tracerank.embedding.base import Embedder, HashEmbedder, Sha256Embedder, default_cache_folder

if TYPE_CHECKING:
    from tracerank.embedding.base import EncoderIdentity


def encoder_named(spec: str, dims: int | None = None) -> Embedder:
    """``default``, ``hash-256``, a model's folder, a hub id or a server's address."""
    from tracerank.embedding.load import load_embedder

    return _cached(load_embedder(spec, dims))


def encoder_for(identity: "EncoderIdentity", other: str | None = None) -> Embedder:
    """The encoder that a checkpoint was trained with, or another in its place, cut to the same width."""
    from tracerank.embedding.load import load_embedder, load_identified

    return _cached(load_embedder(other, identity.dims) if other else load_identified(identity))


def _cached(embedder: Embedder) -> Embedder:
    if isinstance(embedder, HashEmbedder | Sha256Embedder):
        return embedder  # as quick to compute as to look up
    from tracerank.embedding.cache import CachedEmbedder, VectorCache

    return CachedEmbedder(embedder, VectorCache(default_cache_folder()))
