"""Embedders that need no model, and the check every embedder's output passes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sha256 import Sha256Embedder
from tracerank.embedding.base import Embedder, HashEmbedder, check_vectors
from tracerank.errors import EmbeddingError


@pytest.mark.parametrize("embedder", [HashEmbedder(), HashEmbedder(64), Sha256Embedder()], ids=lambda e: e.name)
def test_every_embedder_passes_the_check_it_is_held_to(embedder: Embedder) -> None:
    texts = ["Paris", "", "the river Rema", "café"]
    vectors = embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert check_vectors(vectors, len(texts), embedder.width, embedder.name, texts) is vectors
    assert embedder.embed([]).shape == (0, embedder.width)


def test_a_hash_vector_is_the_same_on_every_machine() -> None:
    vector = HashEmbedder().embed(["The fox"])[0]
    # Columns and signs of "the", "fox" and "the fox", computed once.
    assert {int(i): round(float(vector[i]), 6) for i in vector.nonzero()[0]} == {3: 0.57735, 7: -0.57735, 220: 0.57735}


@given(st.lists(st.text(max_size=30), max_size=6))
def test_a_hash_vector_has_length_one_or_is_zero_and_does_not_depend_on_its_neighbours(texts: list[str]) -> None:
    embedder = HashEmbedder(32)
    together = embedder.embed(texts)
    lengths = np.linalg.norm(together, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    for text, vector in zip(texts, together, strict=True):
        assert (embedder.embed([text])[0] == vector).all()


def complaint(vectors: object, count: int = 2, width: int = 3, texts: list[str] | None = None) -> str:
    with pytest.raises(EmbeddingError) as raised:
        check_vectors(vectors, count, width, "some-model", texts)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([[0.0] * 3] * 2, "some-model: returned list; expected a numpy array"),
        (np.zeros((1, 3)), "some-model: returned 1 vectors for 2 texts"),
        (np.zeros((2, 4)), "some-model: returned vectors of width 4; expected 3"),
        (np.zeros(6), "expected floats of shape (2, 3)"),
        (np.zeros((2, 3, 1)), "expected floats of shape (2, 3)"),
        (np.zeros((2, 3), dtype=np.int64), "expected floats of shape (2, 3)"),
    ],
)
def test_a_wrong_shape_or_kind_is_refused(vectors: object, words: str) -> None:
    assert words in complaint(vectors)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300], ids=["nan", "infinite", "too-large-for-float32"])
def test_a_vector_that_is_not_finite_is_refused_by_its_text(value: float) -> None:
    vectors = np.zeros((2, 3))
    vectors[1, 2] = value
    message = complaint(vectors, texts=["fine", "long " * 100])
    assert "text 1 'long long" in message
    assert "…" in message
    assert "1 of 2" in message
    assert len(message) < 160
    assert "text 1 is not finite" in complaint(vectors)
