"""Vectors from any OpenAI-compatible server: OpenAI, vLLM, TEI, llama.cpp, Ollama.

Holds how texts are packed into requests and put back in order; a single request is ``http_client``'s matter.
Vectors are as the server gives them, neither cut nor normalised.
"""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from types import TracebackType
from typing import Self

import numpy as np

from tracerank.embedding.base import Vectors, check_vectors
from tracerank.embedding.http_client import EmbeddingsClient, TooLong
from tracerank.embedding.http_config import HttpConfig
from tracerank.endpoints.client import Pause
from tracerank.errors import EmbeddingError


def estimated_tokens(text: str) -> int:
    """A third of the UTF-8 bytes, rounded up: above the true count for most languages and tokenizers."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


class HttpEmbedder:
    """Embeds through a server; rows follow the texts whatever the order of the answers."""

    def __init__(
        self,
        config: HttpConfig,
        count_tokens: Callable[[str], int] = estimated_tokens,
        pause: Pause = Event.wait,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.config = config
        self._count_tokens = count_tokens
        self._client = EmbeddingsClient(config, pause, chance)
        # One pool for all calls, so that the bound holds when several threads embed.
        self._workers = ThreadPoolExecutor(config.concurrency, thread_name_prefix="tracerank-embed")
        self._width = config.dimensions
        self.spec = f"{config.root}#{config.model}"
        self.dims = config.dimensions
        self.tokens_encoded = 0
        """Tokens sent so far, as estimated."""

    def __repr__(self) -> str:
        return f"HttpEmbedder({self.name!r})"

    @property
    def name(self) -> str:
        """Server, model and asked dimensions: one model's vectors differ between servers."""
        return self.spec if self.dims is None else f"{self.spec}#{self.dims}"

    @property
    def width(self) -> int:
        """Columns of every vector; the first request tells when ``dimensions`` does not."""
        if self._width is None:
            self.embed(["width"])
        assert self._width is not None
        return self._width

    def embed(self, texts: list[str]) -> Vectors:
        """One row per text; an empty text is sent as a space, because servers refuse empty ones."""
        if not texts:
            return np.zeros((0, self.width), dtype=np.float32)
        sent = [sendable(text) for text in texts]
        tokens = [self._count_tokens(text) for text in sent]
        batches = pack(tokens, self.config.max_items, self.config.max_tokens)
        stop = Event()
        futures: list[Future[Vectors]] = []
        parts: list[Vectors] = []
        try:
            for batch in batches:
                futures.append(self._workers.submit(self._embed_batch, sent, batch, stop))
                if self._width is None:  # the first answer settles the width and the encoding
                    self._width = futures[0].result().shape[1]
            parts = [self._of_known_width(future.result()) for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()
            wait(futures)
        vectors = np.concatenate(parts)
        self.tokens_encoded += sum(tokens)
        return check_vectors(vectors, len(texts), self.width, self.config.endpoint, texts)

    def close(self) -> None:
        """Ends the connections; the embedder cannot be used afterwards."""
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _embed_batch(self, texts: list[str], batch: range, stop: Event) -> Vectors:
        """The batch in one request, or in halves as long as the server finds it too long."""
        try:
            return self._client.vectors([texts[i] for i in batch], stop)
        except TooLong as error:
            if len(batch) == 1:
                text = texts[batch[0]]
                size = f"{len(text):,} characters, about {self._count_tokens(text):,} tokens"
                raise EmbeddingError(
                    f"{error}; text {batch[0]} {text[:60]!r} is too long ({size}): shorten it"
                ) from None
        middle = len(batch) // 2
        halves = [self._embed_batch(texts, half, stop) for half in (batch[:middle], batch[middle:])]
        if halves[0].shape[1] != halves[1].shape[1]:
            raise EmbeddingError(f"{self.config.endpoint}: returned vectors of different widths")
        return np.concatenate(halves)

    def _of_known_width(self, vectors: Vectors) -> Vectors:
        if vectors.shape[1] != self._width:
            found = f"returned vectors of width {vectors.shape[1]}; expected {self._width}"
            hint = "" if self.config.dimensions is None else " (does the model support 'dimensions'?)"
            raise EmbeddingError(f"{self.config.endpoint}: {found}{hint}")
        return vectors


def sendable(text: str) -> str:
    """The text as JSON can carry it: half surrogate pairs become U+FFFD, and nothing becomes a space."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") or " "


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
