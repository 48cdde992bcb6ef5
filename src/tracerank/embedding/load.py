"""An embedder from what a user writes: a name, a folder, a hub id or the address of a server. Loads torch only then."""

import re
from pathlib import Path

from tracerank.embedding.base import Embedder, EncoderIdentity, HashEmbedder, Sha256Embedder
from tracerank.errors import EmbeddingError

UNNAMED_MODEL = "default"
"""Asked of a server when the address names no model; servers of a single model ignore it."""


def load_embedder(spec: str, dims: int | None = None) -> Embedder:
    """``default``, ``all-MiniLM-L6-v2``, ``hash-N``, ``sha256-4096``, a folder, a hub id, or ``http(s)://host[:port][/v1][#model]``."""
    if dims is not None and dims < 1:
        raise EmbeddingError(f"dims must be at least 1, got {dims}")
    if spec.startswith(("http://", "https://")):
        return _server(spec, dims)
    if embedder := _without_model(spec):
        if dims not in (None, embedder.width):
            raise EmbeddingError(f"{spec}: always {embedder.width} wide; leave dims out or name another embedder")
        return embedder

    from tracerank.embedding.local import DEFAULT_NAME, LocalEmbedder, default_embedder, default_model_folder

    if spec == "default":
        return default_embedder(dims)
    if spec == DEFAULT_NAME:
        return LocalEmbedder(default_model_folder(), dims, DEFAULT_NAME, DEFAULT_NAME)
    if not spec.strip() or ("/" not in spec and not Path(spec).is_dir()):
        raise EmbeddingError(
            f"no encoder is called {spec!r}; use 'default', 'hash-256', a model's folder, a hub id such as org/model, "
            "a server's http address, or pass an object with embedder="
        )
    return LocalEmbedder(spec, dims)


def load_identified(identity: EncoderIdentity) -> Embedder:
    """The embedder that made some vectors, as far as it can be found on this machine."""
    spec = identity.spec or identity.name
    try:
        return load_embedder(spec, identity.dims)
    except EmbeddingError as error:
        raise EmbeddingError(f"the checkpoint's own encoder: {error} (or name another with --encoder)") from None


def _without_model(spec: str) -> Embedder | None:
    if match := re.fullmatch(r"hash-([1-9]\d{0,4})", spec):
        return HashEmbedder(int(match[1]))
    return Sha256Embedder() if spec == Sha256Embedder.name else None


def _server(spec: str, dims: int | None) -> Embedder:
    from tracerank.embedding.http import HttpConfig, HttpEmbedder

    address, _, model = spec.partition("#")
    return HttpEmbedder(HttpConfig(address, model or UNNAMED_MODEL, dimensions=dims))
