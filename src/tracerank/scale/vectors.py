"""Vectors that one worker computes and another uses: a file beside the shards for each piece that is embedded.

So that what was embedded outlives a kill of either worker, and no engine carries it. Knows no engine.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracerank.embedding.base import Embedder, Vectors, check_vectors
from tracerank.embedding.cache import KEY_BYTES, text_key
from tracerank.scale.pieces import Piece
from tracerank.scale.places import Place

VECTORS = "vectors"
"""Folder in that of the run; a file goes when its shard is there."""
EMBEDDED_TEXTS = 2048


def vectors_file(piece: Piece) -> str:
    return f"{VECTORS}/{piece.name}.safetensors"


def write_vectors(place: Place, piece: Piece, texts: Sequence[str], embedder: Embedder) -> None:
    """The vector of each of the texts."""
    from safetensors.numpy import save_file

    vectors = np.empty((len(texts), embedder.width), np.float32)
    for begin in range(0, len(texts), EMBEDDED_TEXTS):
        asked = list(texts[begin : begin + EMBEDDED_TEXTS])
        vectors[begin : begin + len(asked)] = check_vectors(
            embedder.embed(asked), len(asked), embedder.width, embedder.name, asked
        )
    keys = np.frombuffer(b"".join(map(text_key, texts)), np.uint8).reshape(-1, KEY_BYTES)
    with place.draft(vectors_file(piece)) as path:
        save_file({"keys": keys, "vectors": vectors}, path)


class GivenVectors:
    """An embedder that looks up what another worker has computed, and computes what that did not foresee."""

    def __init__(self, own: Callable[[], Embedder]) -> None:
        self._own = own
        self._made: Embedder | None = None
        self._rows: dict[bytes, int] = {}
        self._vectors: Any = None
        self.name = "vectors of another worker"
        self.width = 0

    def take(self, place: Place, piece: Piece) -> None:
        """From now on those of this piece."""
        from safetensors.numpy import load

        tensors = load(place.read(vectors_file(piece)))
        keys, values = tensors["keys"], tensors["vectors"]
        whole = keys.tobytes()
        self._rows = {whole[row * KEY_BYTES : (row + 1) * KEY_BYTES]: row for row in range(len(keys))}
        self._vectors = values
        self.width = int(values.shape[1])

    def embed(self, texts: list[str]) -> Vectors:
        """The rows of the texts."""
        keys = [text_key(text) for text in texts]
        found = np.empty((len(texts), self.width), np.float32)
        missing = [place for place, key in enumerate(keys) if key not in self._rows]
        known = [place for place, key in enumerate(keys) if key in self._rows]
        found[known] = self._vectors[[self._rows[keys[place]] for place in known]]
        if missing:
            self._made = self._made or self._own()
            found[missing] = self._made.embed([texts[place] for place in missing])
        return found
