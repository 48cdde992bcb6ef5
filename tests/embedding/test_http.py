"""Vectors from a server that misbehaves in every way we know of."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from tests.model_server import Reply, Server, error
from tracerank.embedding.base import Embedder, HashEmbedder
from tracerank.embedding.http import HttpConfig, HttpEmbedder, pack
from tracerank.endpoints.chat import sendable
from tracerank.errors import EmbeddingError

KEY = "sk-very-secret-0123456789"
WORDS = HashEmbedder(16)


def good(request: dict[str, Any]) -> Reply:
    """Hash vectors, last row first."""
    rows = [{"index": i, "embedding": vector.tolist()} for i, vector in enumerate(WORDS.embed(request["input"]))]
    return Reply(body={"object": "list", "data": rows[::-1]})


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(good)
    yield found
    found.close()


@pytest.fixture
def make(server: Server, slept: list[float]) -> Iterator[Callable[..., HttpEmbedder]]:
    with ExitStack() as made:
        yield lambda **values: made.enter_context(
            HttpEmbedder(HttpConfig(**{"url": server.url, "model": "words"} | values))
        )


Make = Callable[..., HttpEmbedder]


def failure(embedder: HttpEmbedder, texts: list[str]) -> str:
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed(texts)
    assert caught.value.__cause__ is None
    return str(caught.value)


# --- what comes back ---


def test_rows_follow_the_texts_though_the_server_reverses_them(server: Server, make: Make) -> None:
    embedder: Embedder = make()
    texts = ["Paris", "the river Rema", "", "café", "Paris"]
    vectors = embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, WORDS.embed(texts))
    assert server.requests[0] == {
        "model": "words",
        "input": ["Paris", "the river Rema", " ", "café", "Paris"],
    }


def test_the_width_is_learned_by_the_first_request(server: Server, make: Make) -> None:
    embedder = make()
    assert embedder.width == 16
    assert embedder.embed([]).shape == (0, 16)
    assert len(server.requests) == 1
    other = make()
    other.embed(["a"])
    assert other.width == 16
    assert len(server.requests) == 2


def test_dimensions_are_asked_for_and_part_of_the_name(server: Server, make: Make) -> None:
    embedder = make(dimensions=16)
    assert (embedder.width, embedder.name[-9:]) == (16, "#words#16")
    embedder.embed(["a"])
    assert server.requests[0]["dimensions"] == 16
    assert "width 16; expected 8 (does the model support 'dimensions'?)" in failure(make(dimensions=8), ["a"])


def test_half_a_surrogate_pair_does_not_stop_a_request(server: Server, make: Make) -> None:
    assert make().embed(["a\ud800b", "\ud83d\ude00"]).shape == (2, 16)
    assert server.requests[0]["input"] == ["a\ufffdb", "😀"]
    assert sendable("") == " "


# --- batches ---


def test_requests_keep_to_both_limits() -> None:
    assert pack([1] * 5, 2, 100) == [range(2), range(2, 4), range(4, 5)]
    assert pack([5, 5, 1, 30, 1, 1], 9, 10) == [range(2), range(2, 3), range(3, 4), range(4, 6)]
    assert pack([], 2, 10) == []


def test_concurrency_is_bounded_and_leaves_the_order_alone(server: Server, make: Make) -> None:
    def slow(request: dict[str, Any]) -> Reply:
        time.sleep(0.02 * (int(request["input"][0].split()[-1]) % 3))
        return good(request)

    server.rule = slow
    embedder = make(max_items=1, concurrency=3)
    texts = [f"text number {i}" for i in range(20)]
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(embedder.embed(texts))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(vectors, WORDS.embed(texts)) for vectors in found)
    assert len(found) == 2
    assert 2 <= server.most_at_once <= 3


# --- failures that pass ---


def test_one_failed_request_ends_the_call_and_the_waits_of_the_others(server: Server) -> None:
    server.planned = [good({"input": ["0"]})]
    server.rule = lambda request: (
        error(400, "no") if request["input"] == ["1"] else error(503, "busy", Retry_After="30")
    )
    config = HttpConfig(server.url, "words", max_items=1)
    with HttpEmbedder(config) as embedder:  # with the real pause
        begin = time.monotonic()
        assert "HTTP 400: no" in failure(embedder, [str(i) for i in range(50)])
        assert time.monotonic() - begin < 10
    assert len(server.requests) < 20


# --- answers that cannot be used ---


def rows(*items: tuple[Any, Any]) -> Reply:
    return Reply(body={"data": [{"index": index, "embedding": vector} for index, vector in items]})


BAD_REPLIES = {
    "too few rows": (rows((0, [1.0])), "with the indices 0; expected each of 0 to 1"),
    "duplicate index": (rows((0, [1.0]), (0, [1.0])), "with the indices 0, 0; expected"),
    "index beyond": (rows((0, [1.0]), (2, [1.0])), "with the indices 0, 2; expected"),
    "NaN": (rows((0, [1.0, 2.0]), (1, [1.0, float("nan")])), "the vector of text 1 'b' is not finite"),
    "null": (rows((0, [1.0]), (1, [None])), "not lists of numbers"),
    "too large": (rows((0, [1.0]), (1, [1e300])), "text 1 'b' is not finite"),
    "text": (rows((0, ["1"]), (1, ["2"])), "not lists of numbers"),
    "empty": (rows((0, []), (1, [])), "not lists of numbers"),
    "ragged": (rows((0, [[1.0], 2.0]), (1, [1.0])), "not lists of numbers"),
    "two widths": (rows((0, [1.0]), (1, [1.0, 2.0])), "not lists of numbers of one length"),
    "base64": (rows((0, "AAAA"), (1, "AAAA")), "not lists of numbers"),
    "no data": (Reply(body={"embedding": [1.0]}), "without a list 'data'"),
    "a list": (Reply(body=[1.0]), "without a list 'data'"),
}


@pytest.mark.parametrize("case", BAD_REPLIES)
def test_an_unusable_answer_is_one_clear_error_that_names_the_address(server: Server, make: Make, case: str) -> None:
    reply, expected = BAD_REPLIES[case]
    server.rule = lambda _: reply
    with pytest.raises(EmbeddingError, match=expected) as caught:
        make().embed(["a", "b"])
    assert str(caught.value).startswith(f"{server.url}/v1/embeddings: ")
    assert len(server.requests) == 1


def test_a_width_that_changes_between_requests_is_an_error(server: Server, make: Make) -> None:
    embedder = make()
    embedder.embed(["a"])
    server.rule = lambda _: rows((0, [1.0]))
    assert "returned vectors of width 1; expected 16" in failure(embedder, ["b"])


# --- refusals ---


@pytest.mark.parametrize(
    ("status", "words"), [(404, "The model `words` does not exist."), (400, "unknown model words")]
)
def test_an_unknown_model_lists_those_the_server_has(server: Server, make: Make, status: int, words: str) -> None:
    server.rule = lambda _: error(status, words)
    assert failure(make(), ["a"]).endswith("check the address and the model's name")
    server.models = Reply(body={"data": [{"id": "qwen3"}, {"id": "bge-m3"}]})
    message = failure(make(), ["a"])
    assert message.endswith(f"no model 'words' (HTTP {status}: {words}); the server has: bge-m3, qwen3")


def test_a_refused_dimension_is_no_matter_of_length_or_model(server: Server, make: Make) -> None:
    words = 'Model "words" does not support matryoshka, the maximum dimensions is 4'
    server.rule = lambda _: error(400, words)
    assert failure(make(dimensions=8), ["a", "b"]).endswith(f"/v1/embeddings: HTTP 400: {words}")


TOO_LONG = {
    "TEI's batch": (413, "batch size 4 > maximum allowed batch size 1"),
    "OpenAI's context": (400, "This model's maximum context length is 8192 tokens"),
    "llama.cpp's batch": (500, "input (601 tokens) is too large to process. increase the physical batch size"),
    "Ollama's context": (400, "the input length exceeds the context length"),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_what_is_too_long_is_halved_until_it_fits(server: Server, make: Make, slept: list[float], case: str) -> None:
    status, words = TOO_LONG[case]
    server.rule = lambda request: error(status, words) if len("".join(request["input"])) > 8 else good(request)
    texts = ["aaa", "bbb", "ccc", "ddd", "eee"]
    embedder = make()
    assert np.array_equal(embedder.embed(texts), WORDS.embed(texts))
    assert slept == []
    message = failure(embedder, [*texts, "a text that is long", "f"])
    assert (
        f"HTTP {status}: {words}; text 5 'a text that is long' is too long (19 characters, about 7 tokens)" in message
    )
