"""The seam between text and vectors: what an embedder is, which encoder made some vectors, and one without a model.

A name is not enough to know an encoder by: the same model gives other vectors on another server. So an identity also
keeps the vectors of a few reference texts, and those decide. Holds no learned model, no network and no cache.
"""

import re
import textwrap
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import EmbeddingError

Vectors = NDArray[np.floating[Any]]
_HALF_EXPONENT = np.uint16(0x7C00)
"""All ones in what is not finite."""


class Embedder(Protocol):
    """Frozen text to vector; equal text always gives an equal vector."""

    @property
    def name(self) -> str:
        """Identity of the vectors: equal names mean interchangeable vectors."""
        ...

    @property
    def width(self) -> int: ...

    def embed(self, texts: list[str]) -> Vectors:
        """One row per text: float32 or float16 [len(texts), width]."""
        ...


def check_vectors(
    vectors: object, count: int, width: int, embedder_name: str, texts: Sequence[str] | None = None
) -> Vectors:
    """The vectors [count, width] in single precision, or half where they are; the complaint quotes the row's text."""
    if not isinstance(vectors, np.ndarray):
        raise EmbeddingError(f"{embedder_name}: returned {type(vectors).__name__}; expected a numpy array")
    if vectors.ndim != 2 or not np.issubdtype(vectors.dtype, np.floating):
        found = f"{vectors.dtype} of shape {vectors.shape}"
        raise EmbeddingError(f"{embedder_name}: returned {found}; expected floats of shape ({count}, {width})")
    if len(vectors) != count:
        raise EmbeddingError(f"{embedder_name}: returned {len(vectors)} vectors for {count} texts")
    if vectors.shape[1] != width:
        raise EmbeddingError(f"{embedder_name}: returned vectors of width {vectors.shape[1]}; expected {width}")
    with np.errstate(over="ignore"):  # what does not fit float32 becomes infinite and is named below
        checked: Vectors = np.ascontiguousarray(vectors, None if vectors.dtype == np.float16 else np.float32)
    if checked.dtype == np.float16:  # numpy takes ten times as long to test halves as to look at their exponents
        is_finite = (checked.view(np.uint16) & _HALF_EXPONENT).max(axis=1, initial=0) < _HALF_EXPONENT
    else:
        is_finite = np.isfinite(checked).all(axis=1)
    if not is_finite.all():
        row = int(is_finite.argmin())
        quoted = "" if texts is None else f" {textwrap.shorten(texts[row], 60, placeholder='…')!r}"
        bad = count - int(is_finite.sum())
        raise EmbeddingError(
            f"{embedder_name}: the vector of text {row}{quoted} is not finite ({bad} of {count} are not)"
        )
    return checked


def distinct_texts(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts, and for each given text its row among them."""
    row_of: dict[str, int] = {}
    rows = [row_of.setdefault(text, len(row_of)) for text in texts]
    return list(row_of), np.array(rows, dtype=np.int64)


def encodable(text: str) -> str:
    """Lone surrogates, which tokenizers refuse, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


class HashEmbedder:
    """Signed feature hashing of lower-cased words and word pairs: no model, the same vector on every machine."""

    def __init__(self, width: int = 256) -> None:
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        self.name = f"hash-{width}"
        self.width = width
        self.fingerprint: str | None = f"{self.name}/{width}"

    def embed(self, texts: list[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.width), dtype=np.float32)
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            vectors[start : start + len(block)] = self._embed_block(block)
        return vectors

    def _embed_block(self, texts: list[str]) -> NDArray[np.float64]:
        features = [_features(text) for text in texts]
        rows = np.repeat(np.arange(len(texts), dtype=np.uint64), [len(found) for found in features])
        codes = np.array([code for found in features for code in found], dtype=np.uint64)
        occurrences, counts = np.unique(rows << np.uint64(32) | codes, return_counts=True)
        rows, codes = occurrences >> np.uint64(32), occurrences & np.uint64(0xFFFFFFFF)

        # CRC-32 distinguishes words but is linear; a multiplication (modulo 2^64) spreads its bits over the columns.
        mixed = codes * np.uint64(0x9E3779B97F4A7C15)
        columns = (mixed >> np.uint64(32)) % np.uint64(self.width)
        signs = 1.0 - 2.0 * (mixed >> np.uint64(31) & np.uint64(1)).astype(np.float64)
        values = signs * (1.0 + np.log(counts))  # sublinear: a word said twice does not count double

        cells = (rows * np.uint64(self.width) + columns).astype(np.int64)
        sums = np.bincount(cells, weights=values, minlength=len(texts) * self.width).reshape(len(texts), self.width)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        norms[norms == 0] = 1.0  # a text without words stays the zero vector
        unit: NDArray[np.float64] = sums / norms
        return unit


_BLOCK = 2048  # texts hashed together; bounds the memory of long inputs
_WORD = re.compile(r"\w+")


def _features(text: str) -> list[int]:
    """CRC-32 of every word, then of every pair "first second"."""
    words = [word.encode("utf-8", "surrogatepass") for word in _WORD.findall(text.lower())]
    crc32 = zlib.crc32
    singles = [crc32(word) for word in words]
    # crc32(b, crc32(a)) = crc32(a + b), so a pair continues from its first word's value.
    return singles + [crc32(b" " + second, first) for first, second in zip(singles, words[1:], strict=False)]


REFERENCE_TEXTS = (
    "Which river flows through the capital of France?",
    "the Seine",
    '(Title: "Seine") The Seine is a river of 777 kilometres in northern France; it flows through Paris to the sea.',
)
"""A question, an answer and a passage, as the encoder will see them."""

AGREEMENT = 0.99
"""Least cosine at which two vectors of a text count as the same."""


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """Which embedder made the vectors that a net was trained on."""

    name: str
    width: int
    fingerprint: str | None = None
    """What the embedder says of its model, pooling, prompt, length, dimensions and normalisation."""
    reference_vectors: tuple[tuple[float, ...], ...] = ()
    """Vectors of REFERENCE_TEXTS; empty: unknown, then names decide."""
    spec: str | None = None
    """What ``load_embedder`` finds the embedder by; None: its name."""
    dims: int | None = None
    """Width to which the vectors were cut; None: whole."""


def identify(embedder: Embedder) -> EncoderIdentity:
    """The identity of an embedder, with its reference vectors."""
    vectors = _reference_vectors(embedder)
    return EncoderIdentity(
        embedder.name,
        embedder.width,
        getattr(embedder, "fingerprint", None),
        tuple(tuple(float(value) for value in row) for row in vectors),
        getattr(embedder, "spec", None),
        getattr(embedder, "dims", None),
    )


def agreement(identity: EncoderIdentity, embedder: Embedder) -> float:
    """The least cosine between the identity's reference vectors and the embedder's."""
    given = _reference_vectors(embedder)
    return min(cosine(np.array(row), found) for row, found in zip(identity.reference_vectors, given, strict=True))


def cosine(one: NDArray[np.floating[Any]], other: NDArray[np.floating[Any]]) -> float:
    """Of the angle between two vectors; 0 where one has no length."""
    first, second = one.astype(np.float64), other.astype(np.float64)
    return float(first @ second / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-12))


def _reference_vectors(embedder: Embedder) -> np.ndarray:
    texts = list(REFERENCE_TEXTS)
    return check_vectors(embedder.embed(texts), len(texts), embedder.width, embedder.name, texts)
