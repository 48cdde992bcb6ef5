"""Which encoder made some vectors, and whether another one makes the same.

A name is not enough: the same model gives other vectors on another server. So an identity also keeps the vectors of a
few reference texts, and those decide.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.embedding.base import Embedder, check_vectors

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
