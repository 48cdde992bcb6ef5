"""One request to a server: retries, and errors that say what to do.

Knows nothing of what is asked. The key is read for each request and kept nowhere.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

import httpx

from tracerank.endpoints.replies import (
    CutReply,
    names_no_model,
    read_json,
    retry_after,
    says_too_long,
    server_words,
)
from tracerank.endpoints.server import Server
from tracerank.errors import TraceRankError

Pause = Callable[[Event, float], object]
"""Waits that many seconds, or until the event is set."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """An attempt that another one may repair."""

    reason: str
    delay: float = 0.0
    """Least seconds to wait, as the server asked."""


class EndpointClient:
    """Posts JSON to one server; safe to share between threads."""

    def __init__(self, server: Server, pause: Pause = Event.wait, chance: Callable[[], float] = random.random) -> None:
        self.server = server
        self._pause = pause
        self._chance = chance
        limits = httpx.Limits(max_connections=server.concurrency, max_keepalive_connections=server.concurrency)
        self._http = httpx.Client(timeout=httpx.Timeout(server.timeout, pool=None), limits=limits)

    def post(self, body: dict[str, Any], stop: Event | None = None) -> httpx.Response:
        """The first answer that is final, good or bad; ``stop`` ends the waiting for a better one."""
        stop = stop or Event()
        attempts = 0
        while True:
            answer = self._attempt(body)
            if isinstance(answer, httpx.Response):
                return answer
            attempts += 1
            if attempts <= self.server.retries:
                self._pause(stop, self._delay(attempts - 1, answer))
            if attempts > self.server.retries or stop.is_set():
                tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
                raise self.server.error(f"{self.server.endpoint}: gave up after {tries}: {answer.reason}")

    def value(self, reply: httpx.Response) -> Any:
        """The JSON of a good answer."""
        try:
            value = read_json(reply.content)
        except ValueError as error:
            raise self.server.error(f"{self.server.endpoint}: {error}; is it {self.server.kind}?") from None
        if isinstance(value, dict) and value.get("error"):
            raise self.server.error(f"{self.server.endpoint}: answered with an error: {self.words(reply)}")
        return value

    def words(self, reply: httpx.Response) -> str:
        """The server's own words in a bad answer, without the key."""
        return server_words(reply.content, self.server.read_key())

    def refusal(self, reply: httpx.Response) -> TraceRankError:
        """What a bad answer means for the user."""
        status, words, url, error = reply.status_code, self.words(reply), self.server.endpoint, self.server.error
        if self.server.model and names_no_model(status, words, reply.text):
            models = self._models()
            known = f"the server has: {', '.join(models)}" if models else "check the address and the model's name"
            return error(f"{url}: no model {self.server.model!r} (HTTP {status}: {words}); {known}")
        if status in (401, 403):
            source = self.server.key_source
            if source is None:
                return error(f"{url}: the server wants a key (HTTP {status}); put it in ${self.server.usual_key}")
            return error(f"{url}: the server refuses the key in ${source} (HTTP {status})")
        return error(f"{url}: HTTP {status}: {words or reply.reason_phrase}")

    def close(self) -> None:
        self._http.close()

    def _attempt(self, body: dict[str, Any]) -> httpx.Response | _Failure:
        try:
            reply = self._http.post(self.server.endpoint, json=body, headers=self._headers())
        except httpx.TimeoutException:
            return _Failure(f"no answer within {self.server.timeout:g} s")
        except httpx.RequestError as error:
            return _Failure(f"no connection or a cut one ({type(error).__name__}: {error})")
        if reply.status_code == 200:
            try:
                self.value(reply)
            except CutReply:
                return _Failure("the answer was cut off")
            return reply
        words = self.words(reply)
        passing = reply.status_code in (408, 429) or reply.status_code >= 500
        hopeless = "insufficient_quota" in reply.text or reply.status_code == 501
        if passing and not hopeless and not says_too_long(reply.status_code, words):
            return _Failure(f"HTTP {reply.status_code}: {words}", retry_after(reply.headers.get("retry-after")))
        return reply

    def _delay(self, attempt: int, failure: _Failure) -> float:
        longest = self.server.longest_delay
        if failure.delay > longest:
            asked = f"asks to wait {failure.delay:.0f} s, more than {longest:g} s"
            raise self.server.error(f"{self.server.endpoint}: {asked} ({failure.reason})")
        backoff = min(longest, self.server.first_delay * 2.0**attempt)
        return max(failure.delay, backoff * (1.0 - 0.5 * self._chance()))

    def _models(self) -> list[str]:
        """Names of the server's models; empty when it does not tell."""
        try:
            reply = self._http.get(f"{self.server.root}/models", headers=self._headers())
            data = reply.json()["data"] if reply.status_code == 200 else []
            return sorted(str(model["id"]) for model in data)
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return []

    def _headers(self) -> dict[str, str]:
        key = self.server.read_key()
        return {} if key is None else {"Authorization": f"Bearer {key}"}
