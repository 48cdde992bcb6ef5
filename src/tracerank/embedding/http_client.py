"""One request to an embeddings server: retries, the choice of base64, and errors that say what to do.

Knows nothing of batches: it sends the texts it is given. The key is read for each request and kept nowhere.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

import httpx

from tracerank.embedding.base import Vectors
from tracerank.embedding.http_config import HttpConfig, read_key
from tracerank.embedding.http_reply import (
    CutReply,
    names_no_model,
    read_json,
    read_rows,
    retry_after,
    says_too_long,
    server_words,
)
from tracerank.errors import EmbeddingError

Pause = Callable[[Event, float], object]
"""Waits that many seconds, or until the event is set."""


class TooLong(EmbeddingError):
    """The server wants fewer or shorter texts in a request."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """An attempt that another one may repair."""

    reason: str
    delay: float = 0.0
    """Least seconds to wait, as the server asked."""


class EmbeddingsClient:
    """Sends texts to one server and gives back their vectors; safe to share between threads."""

    def __init__(self, config: HttpConfig, pause: Pause = Event.wait, chance: Callable[[], float] = random.random):
        self.config = config
        self._pause = pause
        self._chance = chance
        # OpenAI's default is a list of numbers, so the fallback leaves the field out: some servers do not know it.
        self._wants_base64 = True
        self._base64_accepted = False
        limits = httpx.Limits(max_connections=config.concurrency, max_keepalive_connections=config.concurrency)
        self._http = httpx.Client(timeout=httpx.Timeout(config.timeout, pool=None), limits=limits)

    def vectors(self, texts: list[str], stop: Event) -> Vectors:
        """The vectors of one request, in the order of its texts; their values are not yet checked."""
        body: dict[str, Any] = {"model": self.config.model, "input": texts}
        if self.config.dimensions is not None:
            body["dimensions"] = self.config.dimensions
        with_base64 = self._wants_base64
        reply = self._post(body | {"encoding_format": "base64"} if with_base64 else body, stop)
        if with_base64 and not self._base64_accepted and self._may_mind_base64(reply):
            reply = self._post(body, stop)
            with_base64 = False
            if reply.status_code == 200:
                self._wants_base64 = False
        if reply.status_code != 200:
            raise self._refusal(reply)
        self._base64_accepted = self._base64_accepted or with_base64
        return read_rows(self._value(reply), len(texts), self.config.endpoint)

    def close(self) -> None:
        self._http.close()

    def _post(self, body: dict[str, Any], stop: Event) -> httpx.Response:
        """The first answer that is final, good or bad."""
        attempts = 0
        while True:
            answer = self._attempt(body)
            if isinstance(answer, httpx.Response):
                return answer
            attempts += 1
            if attempts <= self.config.retries:
                self._pause(stop, self._delay(attempts - 1, answer))
            # The event is set when another request of the same call has failed for good.
            if attempts > self.config.retries or stop.is_set():
                tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
                raise EmbeddingError(f"{self.config.endpoint}: gave up after {tries}: {answer.reason}")

    def _attempt(self, body: dict[str, Any]) -> httpx.Response | _Failure:
        try:
            reply = self._http.post(self.config.endpoint, json=body, headers=self._headers())
        except httpx.TimeoutException:
            return _Failure(f"no answer within {self.config.timeout:g} s")
        except httpx.RequestError as error:
            return _Failure(f"no connection or a cut one ({type(error).__name__}: {error})")
        if reply.status_code == 200:
            try:
                self._value(reply)
            except CutReply:
                return _Failure("the answer was cut off")
            return reply
        words = self._words(reply)
        passing = reply.status_code in (408, 429) or reply.status_code >= 500
        hopeless = "insufficient_quota" in reply.text or reply.status_code == 501
        if passing and not hopeless and not says_too_long(reply.status_code, words):
            return _Failure(f"HTTP {reply.status_code}: {words}", retry_after(reply.headers.get("retry-after")))
        return reply

    def _may_mind_base64(self, reply: httpx.Response) -> bool:
        status = reply.status_code
        return status in (400, 415, 422, 501) and not says_too_long(status, self._words(reply))

    def _delay(self, attempt: int, failure: _Failure) -> float:
        longest = self.config.longest_delay
        if failure.delay > longest:
            asked = f"asks to wait {failure.delay:.0f} s, more than {longest:g} s"
            raise EmbeddingError(f"{self.config.endpoint}: {asked} ({failure.reason})")
        backoff = min(longest, self.config.first_delay * 2.0**attempt)
        return max(failure.delay, backoff * (1.0 - 0.5 * self._chance()))

    def _refusal(self, reply: httpx.Response) -> EmbeddingError:
        status, words, url = reply.status_code, self._words(reply), self.config.endpoint
        if names_no_model(status, words, reply.text):
            models = self._models()
            known = f"the server has: {', '.join(models)}" if models else "check the address and the model's name"
            return EmbeddingError(f"{url}: no model {self.config.model!r} (HTTP {status}: {words}); {known}")
        if status in (401, 403):
            source = self.config.key_source
            if source is None:
                return EmbeddingError(f"{url}: the server wants a key (HTTP {status}); put it in $TRACERANK_API_KEY")
            return EmbeddingError(f"{url}: the server refuses the key in ${source} (HTTP {status})")
        if says_too_long(status, words):
            return TooLong(f"{url}: HTTP {status}: {words}")
        return EmbeddingError(f"{url}: HTTP {status}: {words or reply.reason_phrase}")

    def _models(self) -> list[str]:
        """Names of the server's models; empty when it does not tell."""
        try:
            reply = self._http.get(f"{self.config.root}/models", headers=self._headers())
            data = reply.json()["data"] if reply.status_code == 200 else []
            return sorted(str(model["id"]) for model in data)
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return []

    def _headers(self) -> dict[str, str]:
        key = read_key(self.config)
        return {} if key is None else {"Authorization": f"Bearer {key}"}

    def _words(self, reply: httpx.Response) -> str:
        return server_words(reply.content, read_key(self.config))

    def _value(self, reply: httpx.Response) -> Any:
        value = read_json(reply.content, self.config.endpoint)
        if isinstance(value, dict) and value.get("error"):
            raise EmbeddingError(f"{self.config.endpoint}: answered with an error: {self._words(reply)}")
        return value
