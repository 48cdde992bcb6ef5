"""An embedder from what a user writes: a name, a folder, a hub id or the address of a server. Loads torch only then.

Vectors that take a model are kept in the cache on disk: each text is encoded once ever.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from tracerank.embedding.base import BlankEmbedder, Embedder, EncoderIdentity, HashEmbedder, Sha256Embedder
from tracerank.errors import EmbeddingError

UNNAMED_MODEL = "default"
"""Asked of a server when the address names no model; servers of a single model ignore it."""


def load_embedder(spec: str, dims: int | None = None, *, is_cached: bool = True) -> Embedder:
    """``default``, ``all-MiniLM-L6-v2``, ``multilingual``, ``hash-N``, ``sha256-4096``, a folder, a hub id, or ``http(s)://host[:port][/v1][#model]``.

    ``is_cached``: vectors are kept in the cache on disk (``tracerank cache`` looks after it), unless they are as quick
    to compute as to look up.
    """
    embedder = _uncached(spec, dims)
    if not is_cached or isinstance(embedder, HashEmbedder | Sha256Embedder | BlankEmbedder):
        return embedder
    from tracerank.cache_folders import default_cache_folder
    from tracerank.embedding.cache import VectorCache
    from tracerank.embedding.cached import CachedEmbedder

    return CachedEmbedder(embedder, VectorCache(default_cache_folder()))


def embedder_for(
    identity: EncoderIdentity, wanted: Embedder | str | None = None, *, is_cached: bool = True
) -> Embedder:
    """The embedder for weights that were trained with one: their own, or the one that is wanted instead.

    A name is loaded and cut to the same width; an object is taken as it is. Weights that look at no text's vector
    need no encoder, whatever is wanted for others.
    """
    if identity.name == BlankEmbedder.name:
        return BlankEmbedder()
    if wanted is not None:
        return load_embedder(wanted, identity.dims, is_cached=is_cached) if isinstance(wanted, str) else wanted
    try:
        return load_embedder(identity.spec or identity.name, identity.dims, is_cached=is_cached)
    except EmbeddingError as error:
        raise EmbeddingError(f"the checkpoint's own encoder: {error} (or name another with --encoder)") from None


def _uncached(spec: str, dims: int | None) -> Embedder:
    if dims is not None and dims < 1:
        raise EmbeddingError(f"dims must be at least 1, got {dims}")
    if spec.startswith(("http://", "https://")):
        return _server(spec, dims)
    if embedder := _without_model(spec):
        return _whole(embedder, dims)
    if spec in NAMED:
        return NAMED[spec](dims)
    if not spec.strip() or ("/" not in spec and not Path(spec).is_dir()):
        raise EmbeddingError(
            f"no encoder is called {spec!r}; use 'default', 'multilingual', 'hash-256', a model's folder, a hub id "
            "such as org/model, a server's http address, or pass an object with embedder="
        )
    from tracerank.embedding.local import LocalEmbedder

    return LocalEmbedder(spec, dims)


def _default(dims: int | None) -> Embedder:
    from tracerank.embedding.local import default_embedder

    return default_embedder(dims)


def _float32(dims: int | None) -> Embedder:
    from tracerank.embedding.local import DEFAULT_NAME, LocalEmbedder, default_model_folder

    return LocalEmbedder(default_model_folder(), dims, DEFAULT_NAME, DEFAULT_NAME)


def _multilingual(dims: int | None) -> Embedder:
    from tracerank.embedding.multilingual import MultilingualEmbedder

    return _whole(MultilingualEmbedder(), dims)


NAMED: Mapping[str, Callable[[int | None], Embedder]] = MappingProxyType(
    {
        "default": _default,
        "all-MiniLM-L6-v2": _float32,
        "multilingual": _multilingual,
    }
)
"""Encoders that come with the package, by name; each is given the width that its vectors are cut to, None: whole."""


def _whole(embedder: Embedder, dims: int | None) -> Embedder:
    """One whose vectors are not cut."""
    if dims not in (None, embedder.width):
        raise EmbeddingError(f"{embedder.name}: always {embedder.width} wide; leave dims out or name another embedder")
    return embedder


def _without_model(spec: str) -> Embedder | None:
    if match := re.fullmatch(r"hash-([1-9]\d{0,4})", spec):
        return HashEmbedder(int(match[1]))
    fixed = (embedder for embedder in (Sha256Embedder(), BlankEmbedder()) if embedder.name == spec)
    return next(fixed, None)


def _server(spec: str, dims: int | None) -> Embedder:
    from tracerank.embedding.http import HttpConfig, HttpEmbedder

    address, _, model = spec.partition("#")
    return HttpEmbedder(HttpConfig(address, model or UNNAMED_MODEL, dimensions=dims))
