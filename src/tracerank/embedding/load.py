"""An embedder from what a user writes: a name, a folder, a hub id or the address of a server. Loads torch only then.

Vectors that take a model are kept in the cache on disk: each text is encoded once ever.
"""

import re
from pathlib import Path

from tracerank.embedding.base import Embedder, EncoderIdentity, HashEmbedder
from tracerank.errors import EmbeddingError


def load_embedder(spec: str, dims: int | None = None, *, is_cached: bool = True) -> Embedder:
    """``default``, ``all-MiniLM-L6-v2``, ``multilingual``, ``hash-N``, a folder, a hub id, or ``http(s)://host[:port][/v1][#model]``.

    ``is_cached``: vectors are kept in the cache on disk (``tracerank cache`` looks after it), unless they are as quick
    to compute as to look up.
    """
    embedder = _uncached(spec, dims)
    if not is_cached or isinstance(embedder, HashEmbedder):
        return embedder
    from tracerank.cache_folders import default_cache_folder
    from tracerank.embedding.cache import CachedEmbedder, VectorCache

    return CachedEmbedder(embedder, VectorCache(default_cache_folder()))


def embedder_for(
    identity: EncoderIdentity, wanted: Embedder | str | None = None, *, is_cached: bool = True
) -> Embedder:
    """The embedder for weights that were trained with one: their own, or the one that is wanted instead.

    A name is loaded and cut to the same width; an object is taken as it is.
    """
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
        from tracerank.embedding.http import HttpConfig, HttpEmbedder
        from tracerank.endpoints.server import read_address

        return HttpEmbedder(HttpConfig(*read_address(spec), dimensions=dims))
    if match := re.fullmatch(r"hash-([1-9]\d{0,4})", spec):
        return _whole(HashEmbedder(int(match[1])), dims)
    if spec == "multilingual":
        from tracerank.embedding.multilingual import MultilingualEmbedder

        return _whole(MultilingualEmbedder(), dims)
    is_default = spec in ("default", "all-MiniLM-L6-v2")
    if not is_default and (not spec.strip() or ("/" not in spec and not Path(spec).is_dir())):
        raise EmbeddingError(
            f"no encoder is called {spec!r}; use 'default', 'multilingual', 'hash-256', a model's folder, a hub id "
            "such as org/model, a server's http address, or pass an object with embedder="
        )
    from tracerank.embedding.local import LocalEmbedder, default_embedder

    if is_default:
        return default_embedder(dims, is_int8=None if spec == "default" else False)
    return LocalEmbedder(spec, dims)


def _whole(embedder: Embedder, dims: int | None) -> Embedder:
    """One whose vectors are not cut."""
    if dims not in (None, embedder.width):
        raise EmbeddingError(f"{embedder.name}: always {embedder.width} wide; leave dims out or name another embedder")
    return embedder
