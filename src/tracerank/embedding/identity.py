"""Which encoder made some vectors, and whether another one makes the same.

A name is not enough: the same model gives other vectors on another server. So an identity also keeps the vectors of a
few reference texts, and those decide.
"""

from dataclasses import dataclass

import numpy as np

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


def identify(embedder: Embedder) -> EncoderIdentity:
    """The identity of an embedder, with its reference vectors."""
    vectors = _reference_vectors(embedder)
    return EncoderIdentity(
        embedder.name,
        embedder.width,
        getattr(embedder, "fingerprint", None),
        tuple(tuple(float(value) for value in row) for row in vectors),
    )


def agreement(identity: EncoderIdentity, embedder: Embedder) -> float:
    """The least cosine between the identity's reference vectors and the embedder's."""
    wanted = np.array(identity.reference_vectors, dtype=np.float64)
    given = _reference_vectors(embedder).astype(np.float64)
    lengths = np.linalg.norm(wanted, axis=1) * np.linalg.norm(given, axis=1)
    return float(np.min((wanted * given).sum(axis=1) / np.maximum(lengths, 1e-12)))


def _reference_vectors(embedder: Embedder) -> np.ndarray:
    texts = list(REFERENCE_TEXTS)
    return check_vectors(embedder.embed(texts), len(texts), embedder.width, embedder.name, texts)
