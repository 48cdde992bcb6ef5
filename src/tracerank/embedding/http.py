"""Vectors from any OpenAI-compatible server: OpenAI, vLLM, TEI, llama.cpp, Ollama.

How texts are packed into requests and put back in order, and texts that are too long. Vectors are as
the server gives them, neither cut nor normalised.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar, Self

import numpy as np

from tracerank.embedding.base import Vectors, check_vectors
from tracerank.endpoints.chat import estimated_tokens, sendable
from tracerank.endpoints.client import EndpointClient
from tracerank.endpoints.server import Server
from tracerank.errors import EmbeddingError, TraceRankError


@dataclass(frozen=True, slots=True)
class HttpConfig(Server):
    """One embedding model behind one server."""

    path: ClassVar[str] = "embeddings"
    error: ClassVar[type[TraceRankError]] = EmbeddingError

    dimensions: int | None = None
    """Asked of the server as ``dimensions``; None leaves the width to the model."""
    max_items: int = 32
    """Texts per request; 32 is the least that common servers allow by default (TEI)."""
    max_tokens: int = 8192
    """Tokens per request, as estimated; a single longer text is still sent, alone."""


def read_rows(reply: Any, count: int, url: str) -> Vectors:
    """The vectors of one reply in the order of its texts."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise EmbeddingError(f"{url}: answered without a list 'data' of embeddings")
    found = {row["index"]: row.get("embedding") for row in data if type(row.get("index")) is int}
    if len(data) != count or found.keys() != set(range(count)):
        indices = ", ".join(str(row.get("index")) for row in data[: count + 1])
        raise EmbeddingError(f"{url}: returned vectors with the indices {indices}; expected each of 0 to {count - 1}")
    try:
        vectors = np.array([found[index] for index in range(count)])
    except ValueError:  # ragged
        vectors = np.zeros(0)
    if vectors.ndim != 2 or vectors.shape[1] == 0 or vectors.dtype.kind not in "fi":
        raise EmbeddingError(f"{url}: returned embeddings that are not lists of numbers of one length")
    with np.errstate(over="ignore"):  # infinite values are named by check_vectors
        return vectors.astype(np.float32)


class HttpEmbedder:
    """Embeds through a server; rows follow the texts in any order of the answers; safe to share by threads."""

    def __init__(self, config: HttpConfig) -> None:
        self.config = config
        self._endpoint = EndpointClient(config)
        # One pool for all calls, so that the bound holds when several threads embed.
        self._workers = ThreadPoolExecutor(config.concurrency, thread_name_prefix="tracerank-embed")
        self._width = config.dimensions
        self.spec = f"{config.root}#{config.model}"
        self.dims = config.dimensions

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._endpoint.close()

    @property
    def name(self) -> str:
        """Server, model and asked dimensions: one model's vectors differ between servers."""
        return self.spec if self.dims is None else f"{self.spec}#{self.dims}"

    @property
    def width(self) -> int:
        """Columns of every vector; without ``dimensions`` the first request shows it."""
        if self._width is None:
            self.embed(["width"])
        assert self._width is not None
        return self._width

    def embed(self, texts: list[str]) -> Vectors:
        """One row per text; an empty text is sent as a space, because servers refuse empty ones."""
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        sent = [sendable(text) for text in texts]
        tokens = [estimated_tokens(text) for text in sent]
        stop = Event()
        """Set when a request has failed for good, so that no other one of this call waits for a retry."""
        futures: list[Future[Vectors]] = []
        try:
            for batch in pack(tokens, self.config.max_items, self.config.max_tokens):
                futures.append(self._workers.submit(self._embed_batch, sent, batch, stop))
                if self._width is None:  # the first answer shows the width
                    self._width = futures[0].result().shape[1]
            parts = [future.result() for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()
            wait(futures)
        if wrong := {part.shape[1] for part in parts} - {self._width}:
            hint = "" if self.dims is None else " (does the model support 'dimensions'?)"
            found = f"returned vectors of width {min(wrong)}; expected {self._width}{hint}"
            raise EmbeddingError(f"{self.config.endpoint}: {found}")
        return check_vectors(np.concatenate(parts), len(texts), self.width, self.config.endpoint, texts)

    def _embed_batch(self, texts: list[str], batch: range, stop: Event) -> Vectors:
        """The batch in one request, or in halves as long as the server finds it too long; values are not checked."""
        body: dict[str, Any] = {"model": self.config.model, "input": [texts[i] for i in batch]}
        if self.config.dimensions is not None:
            body["dimensions"] = self.config.dimensions
        answer = self._endpoint.post(body, stop)
        if answer.status == 200:
            return read_rows(answer.value, len(batch), self.config.endpoint)
        if not answer.says_too_long:
            raise self._endpoint.refusal(answer)
        if len(batch) == 1:
            text = texts[batch[0]]
            size = f"{len(text):,} characters, about {estimated_tokens(text):,} tokens"
            raise EmbeddingError(
                f"{self.config.endpoint}: HTTP {answer.status}: {answer.words}; "
                f"text {batch[0]} {text[:60]!r} is too long ({size}): shorten it"
            )
        middle = len(batch) // 2
        return np.concatenate([self._embed_batch(texts, half, stop) for half in (batch[:middle], batch[middle:])])


def pack(tokens: Sequence[int], max_items: int, max_tokens: int) -> list[range]:
    """Consecutive texts per request, as many as both limits allow; a text over the limit goes alone."""
    batches, begin, total = [], 0, 0
    for i, count in enumerate(tokens):
        if i > begin and (i - begin == max_items or total + count > max_tokens):
            batches.append(range(begin, i))
            begin, total = i, 0
        total += count
    if begin < len(tokens):
        batches.append(range(begin, len(tokens)))
    return batches
