"""The vectors that the official reference outputs were made with."""

import hashlib
import struct
from functools import lru_cache

import numpy as np

from tracerank.embedding.base import Vectors


class Sha256Embedder:
    """4,096 numbers read off SHA-256 digests: distinct but meaningless vectors, used to repeat reference outputs."""

    name = "sha256-4096"
    width = 4096

    def embed(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        return np.stack([_sha256_vector(text) for text in texts])


_DIGESTS = tuple(struct.pack("<I", i) for i in range(512))  # 512 digests of 8 uint32 make 4,096 numbers


@lru_cache(maxsize=2048)  # 16 KiB a vector
def _sha256_vector(text: str) -> Vectors:
    """SHA256(text ‖ uint32_le(i)) for i = 0..511 as little-endian uint32 u; u / 2^31 - 1, L2-normalised in float64."""
    start = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    digests = []
    for suffix in _DIGESTS:
        digest = start.copy()
        digest.update(suffix)
        digests.append(digest.digest())
    values = np.frombuffer(b"".join(digests), dtype="<u4") / 2.0**31 - 1.0
    vector: Vectors = (values / np.linalg.norm(values)).astype(np.float32)
    vector.flags.writeable = False  # it is shared by every caller
    return vector
