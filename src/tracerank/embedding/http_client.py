"""One request for vectors: the choice of base64, and texts that are too long. Knows nothing of batches."""

import random
from collections.abc import Callable
from threading import Event
from typing import Any

import httpx

from tracerank.embedding.base import Vectors
from tracerank.embedding.http_config import HttpConfig
from tracerank.embedding.http_reply import read_rows
from tracerank.endpoints.client import EndpointClient, Pause
from tracerank.endpoints.replies import says_too_long
from tracerank.errors import EmbeddingError, TraceRankError


class TooLong(EmbeddingError):
    """The server wants fewer or shorter texts in a request."""


class EmbeddingsClient:
    """Sends texts to one server and gives back their vectors; safe to share between threads."""

    def __init__(self, config: HttpConfig, pause: Pause = Event.wait, chance: Callable[[], float] = random.random):
        self.config = config
        self._endpoint = EndpointClient(config, pause, chance)
        # OpenAI's default is a list of numbers, so the fallback leaves the field out: some servers do not know it.
        self._wants_base64 = True
        self._base64_accepted = False

    def vectors(self, texts: list[str], stop: Event) -> Vectors:
        """The vectors of one request, in the order of its texts; their values are not yet checked.

        ``stop`` is set when another request of the same call has failed for good.
        """
        body: dict[str, Any] = {"model": self.config.model, "input": texts}
        if self.config.dimensions is not None:
            body["dimensions"] = self.config.dimensions
        with_base64 = self._wants_base64
        reply = self._endpoint.post(body | {"encoding_format": "base64"} if with_base64 else body, stop)
        if with_base64 and not self._base64_accepted and self._may_mind_base64(reply):
            reply = self._endpoint.post(body, stop)
            with_base64 = False
            if reply.status_code == 200:
                self._wants_base64 = False
        if reply.status_code != 200:
            raise self._refusal(reply)
        self._base64_accepted = self._base64_accepted or with_base64
        return read_rows(self._endpoint.value(reply), len(texts), self.config.endpoint)

    def close(self) -> None:
        self._endpoint.close()

    def _may_mind_base64(self, reply: httpx.Response) -> bool:
        return reply.status_code in (400, 415, 422, 501) and not self._is_too_long(reply)

    def _refusal(self, reply: httpx.Response) -> TraceRankError:
        if self._is_too_long(reply):
            return TooLong(f"{self.config.endpoint}: HTTP {reply.status_code}: {self._endpoint.words(reply)}")
        return self._endpoint.refusal(reply)

    def _is_too_long(self, reply: httpx.Response) -> bool:
        return says_too_long(reply.status_code, self._endpoint.words(reply))
