"""Vectors from any OpenAI-compatible server: OpenAI, vLLM, TEI, llama.cpp, Ollama.

How texts are packed into requests and put back in order, the choice of base64, texts that are too long. Vectors are as
the server gives them, neither cut nor normalised.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar, Self

import httpx
import numpy as np

from tracerank.embedding.base import Vectors, check_vectors
from tracerank.endpoints.chat import estimated_tokens, sendable
from tracerank.endpoints.client import EndpointClient, says_too_long
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
    """Tokens per request; a single longer text is still sent, alone."""

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is made anew, and super() would look for the old one.
        Server.__post_init__(self)
        for name in ("dimensions", "max_items", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")


def read_rows(reply: Any, count: int, url: str) -> Vectors:
    """The vectors of one reply in the order of its texts: float32 [count, width]."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise EmbeddingError(f"{url}: answered without a list 'data' of embeddings")
    if len(data) != count:
        raise EmbeddingError(f"{url}: returned {len(data)} vectors for {count} texts")
    rows: list[Vectors | None] = [None] * count
    for row in data:
        index = row.get("index")
        if type(index) is not int or not 0 <= index < count:
            raise EmbeddingError(f"{url}: returned a vector with index {index!r}; expected 0 to {count - 1}")
        if rows[index] is not None:
            raise EmbeddingError(f"{url}: returned two vectors with index {index}")
        rows[index] = _read_vector(row.get("embedding"), url)
    vectors = [row for row in rows if row is not None]  # all: count distinct indices below count
    widths = sorted({len(vector) for vector in vectors})
    if len(widths) > 1:
        raise EmbeddingError(f"{url}: returned vectors of different widths in one reply: {widths}")
    return np.stack(vectors)


def _read_vector(value: object, url: str) -> Vectors:
    """One embedding, as numbers or as the base64 of little-endian float32, whichever the server sent."""
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            vector = np.asarray(value)
    except (binascii.Error, ValueError):
        raise EmbeddingError(f"{url}: returned an embedding that is neither base64 float32 nor numbers") from None
    if vector.ndim != 1 or len(vector) == 0 or vector.dtype.kind not in "fi":
        raise EmbeddingError(f"{url}: returned an embedding that is not a list of numbers")
    with np.errstate(over="ignore"):  # infinite values are named by check_vectors
        return vector.astype(np.float32)


class HttpEmbedder:
    """Embeds through a server; rows follow the texts whatever the order of the answers; safe to share by threads."""

    def __init__(self, config: HttpConfig, count_tokens: Callable[[str], int] = estimated_tokens) -> None:
        self.config = config
        self._count_tokens = count_tokens
        self._endpoint = EndpointClient(config)
        # One pool for all calls, so that the bound holds when several threads embed.
        self._workers = ThreadPoolExecutor(config.concurrency, thread_name_prefix="tracerank-embed")
        # OpenAI's default is a list of numbers, so the fallback leaves the field out: some servers do not know it.
        self._encoding: dict[str, str] = {"encoding_format": "base64"}
        self._width = config.dimensions
        self.spec = f"{config.root}#{config.model}"
        self.dims = config.dimensions
        self.tokens_encoded = 0
        """Tokens sent so far, as estimated."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.shutdown(wait=True, cancel_futures=True)
        self._endpoint.close()

    def __repr__(self) -> str:
        return f"HttpEmbedder({self.name!r})"

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
        tokens = [self._count_tokens(text) for text in sent]
        stop = Event()
        """Set when a request has failed for good, so that no other one of this call waits for a retry."""
        futures: list[Future[Vectors]] = []
        try:
            for batch in pack(tokens, self.config.max_items, self.config.max_tokens):
                futures.append(self._workers.submit(self._embed_batch, sent, batch, stop))
                if self._width is None:  # the first answer shows the width and whether base64 is accepted
                    self._width = futures[0].result().shape[1]
            parts = [self._of_known_width(future.result()) for future in futures]
        finally:
            stop.set()
            for future in futures:
                future.cancel()
            wait(futures)
        self.tokens_encoded += sum(tokens)
        return check_vectors(np.concatenate(parts), len(texts), self.width, self.config.endpoint, texts)

    def _embed_batch(self, texts: list[str], batch: range, stop: Event) -> Vectors:
        """The batch in one request, or in halves as long as the server finds it too long; values are not checked."""
        reply = self._asked([texts[i] for i in batch], stop)
        words = "" if reply.status_code == 200 else self._endpoint.words(reply)
        if reply.status_code == 200:
            return read_rows(self._endpoint.value(reply), len(batch), self.config.endpoint)
        if not says_too_long(reply.status_code, words):
            raise self._endpoint.refusal(reply)
        if len(batch) == 1:
            text = texts[batch[0]]
            size = f"{len(text):,} characters, about {self._count_tokens(text):,} tokens"
            raise EmbeddingError(
                f"{self.config.endpoint}: HTTP {reply.status_code}: {words}; "
                f"text {batch[0]} {text[:60]!r} is too long ({size}): shorten it"
            )
        middle = len(batch) // 2
        halves = [self._embed_batch(texts, half, stop) for half in (batch[:middle], batch[middle:])]
        if halves[0].shape[1] != halves[1].shape[1]:
            raise EmbeddingError(f"{self.config.endpoint}: returned vectors of different widths")
        return np.concatenate(halves)

    def _asked(self, texts: list[str], stop: Event) -> httpx.Response:
        """The server's answer; a server that refuses base64 is asked without it from then on."""
        body: dict[str, Any] = {"model": self.config.model, "input": texts}
        if self.config.dimensions is not None:
            body["dimensions"] = self.config.dimensions
        encoding = self._encoding
        reply = self._endpoint.post(body | encoding, stop)
        is_refused = reply.status_code in (400, 415, 422, 501)
        if encoding and is_refused and not says_too_long(reply.status_code, self._endpoint.words(reply)):
            reply = self._endpoint.post(body, stop)
            if reply.status_code == 200:
                self._encoding = {}
        return reply

    def _of_known_width(self, vectors: Vectors) -> Vectors:
        if vectors.shape[1] != self._width:
            found = f"returned vectors of width {vectors.shape[1]}; expected {self._width}"
            hint = "" if self.config.dimensions is None else " (does the model support 'dimensions'?)"
            raise EmbeddingError(f"{self.config.endpoint}: {found}{hint}")
        return vectors


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
