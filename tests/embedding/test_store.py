"""Vectors on disk."""

from pathlib import Path

import numpy as np
import pytest

from tracerank.embedding.base import HashEmbedder
from tracerank.embedding.store import VectorStore, open_table, text_key
from tracerank.errors import EmbeddingError


class Counting(HashEmbedder):
    """Remembers what it was asked."""

    def __init__(self, width: int = 16) -> None:
        super().__init__(width)
        self.asked: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray:
        self.asked += texts
        return super().embed(texts)


def test_each_distinct_text_is_embedded_once_ever(tmp_path: Path) -> None:
    embedder = Counting()
    store = VectorStore(tmp_path, embedder)
    assert store.rows(["a", "b", "a"]).tolist() == [0, 1, 0]
    assert VectorStore(tmp_path, embedder).rows(["b", "c"]).tolist() == [1, 2]
    assert embedder.asked == ["a", "b", "c"]


def test_rows_hold_the_vectors_in_half_precision(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, HashEmbedder(16))
    texts = [f"text number {number}" for number in range(50)]
    rows = store.rows(texts)
    assert np.allclose(store.table()[rows], HashEmbedder(16).embed(texts), atol=1e-3)


def test_what_a_kill_left_half_written_is_cut_off_and_made_again(tmp_path: Path) -> None:
    store = VectorStore(tmp_path, Counting())
    store.rows(["a", "b"])
    whole = np.array(store.table())
    with (tmp_path / "vectors.bin").open("ab") as file:
        file.write(b"x" * 45)  # one whole row and a torn one, without keys
    again = VectorStore(tmp_path, Counting())
    assert len(again) == 2
    assert again.rows(["c", "a"]).tolist() == [2, 0]
    assert np.array_equal(open_table(tmp_path)[:2], whole)
    with (tmp_path / "keys.bin").open("ab") as file:
        file.write(b"y" * 20)  # a key without its vector
    assert len(VectorStore(tmp_path, Counting())) == 3


def test_vectors_of_another_encoder_are_not_mixed_in(tmp_path: Path) -> None:
    VectorStore(tmp_path, HashEmbedder(16)).rows(["a"])
    with pytest.raises(EmbeddingError, match=r"holds vectors of 'hash-16'.*not of 'hash-32'"):
        VectorStore(tmp_path, HashEmbedder(32))


def test_vectors_too_large_for_half_precision_are_refused(tmp_path: Path) -> None:
    class Large(HashEmbedder):
        def embed(self, texts: list[str]) -> np.ndarray:
            return super().embed(texts) * 1e6

    with pytest.raises(EmbeddingError, match="half precision"):
        VectorStore(tmp_path, Large(16)).rows(["a"])
    assert (tmp_path / "vectors.bin").stat().st_size == 0


def test_a_folder_that_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.json").write_text("{broken")
    with pytest.raises(EmbeddingError, match="not a vector store"):
        VectorStore(tmp_path, HashEmbedder(16))


def test_an_empty_store_has_an_empty_table(tmp_path: Path) -> None:
    assert VectorStore(tmp_path, HashEmbedder(16)).table().shape == (0, 16)


def test_keys_tell_texts_apart_and_take_any_string() -> None:
    assert text_key("a") != text_key("b")
    assert len(text_key("\ud800 lone")) == 16
