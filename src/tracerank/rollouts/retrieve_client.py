"""Passages from a Search-R1 style retrieval server: ``POST /retrieve`` with queries, ranked documents back.

A failed request raises after its retries; it never passes for a search that found nothing.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from tracerank.endpoints.replies import retry_after, server_words
from tracerank.errors import RetrieveError
from tracerank.readers.browser_values import encodable
from tracerank.rollouts.corpus.base import Passage, split_contents


@dataclass(frozen=True, slots=True)
class RetrieveConfig:
    """Where the server is and how long to try."""

    url: str
    """Address of the server, with or without ``/retrieve``."""
    timeout: float = 30.0
    """Seconds without progress after which a request counts as failed."""
    retries: int = 4
    """Further attempts after 408, 429, 5xx, a timeout or a cut connection."""
    first_delay: float = 0.5
    """Seconds before the first retry; doubled each time, less up to half of it by chance."""
    longest_delay: float = 30.0

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_server = False
        if not is_server:
            raise RetrieveError(f"{self.url!r} is no server; expected http://HOST[:PORT][/retrieve]")
        if self.timeout <= 0 or self.retries < 0 or self.first_delay < 0 or self.longest_delay < 0:
            raise ValueError("timeout must be positive; retries and delays must not be negative")

    @property
    def endpoint(self) -> str:
        address = self.url.rstrip("/")
        return address if address.endswith("/retrieve") else f"{address}/retrieve"


class RetrieveClient:
    """A retriever behind a server; safe to share between threads."""

    def __init__(
        self,
        config: RetrieveConfig,
        pause: Callable[[float], object] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.config = config
        self._pause = pause
        self._chance = chance
        self._http = httpx.Client(timeout=config.timeout)

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """The server's passages for one query, best first."""
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int = 3) -> list[tuple[Passage, ...]]:
        """The passages of several queries in one request."""
        if not queries:
            return []
        body = {"queries": [encodable(query) for query in queries], "topk": k, "return_scores": True}
        reply = self._post(body)
        result = reply.get("result") if isinstance(reply, dict) else None
        if not isinstance(result, list) or len(result) != len(queries):
            raise RetrieveError(f"{self.config.endpoint}: expected a list 'result' with {len(queries)} entries")
        return [tuple(self._passages(entry)[:k]) for entry in result]

    def close(self) -> None:
        self._http.close()

    def _passages(self, entry: object) -> list[Passage]:
        if not isinstance(entry, list):
            raise RetrieveError(f"{self.config.endpoint}: expected a list of documents, got {type(entry).__name__}")
        return [self._passage(item) for item in entry]

    def _passage(self, item: object) -> Passage:
        """With scores a server wraps each document; without, it sends it bare."""
        score = None
        if isinstance(item, dict) and isinstance(item.get("document"), dict):
            score = item.get("score")
            item = item["document"]
        text, title = _text_and_title(item) if isinstance(item, dict) else ("", "")
        if not isinstance(item, dict) or not text:
            raise RetrieveError(f"{self.config.endpoint}: a document has neither 'contents' nor 'text'")
        url, place = item.get("url"), item.get("place")
        return Passage(
            text,
            title,
            float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None,
            str(item.get("document_id", item.get("id", ""))),
            place if isinstance(place, int) else None,
            url if isinstance(url, str) else None,
        )

    def _post(self, body: dict[str, Any]) -> Any:
        """The first answer that is final."""
        attempt = 0
        while True:
            reply, why, wait = self._attempt(body)
            if why is None:
                return reply
            if attempt >= self.config.retries or wait > self.config.longest_delay:
                tries = "1 attempt" if attempt == 0 else f"{attempt + 1} attempts"
                raise RetrieveError(f"{self.config.endpoint}: gave up after {tries}: {why}")
            backoff = min(self.config.longest_delay, self.config.first_delay * 2.0**attempt)
            self._pause(max(wait, backoff * (1.0 - 0.5 * self._chance())))
            attempt += 1

    def _attempt(self, body: dict[str, Any]) -> tuple[Any, str | None, float]:
        """The reply's value; or why there is none yet and the least seconds to wait."""
        try:
            reply = self._http.post(self.config.endpoint, json=body)
        except httpx.TimeoutException:
            return None, f"no answer within {self.config.timeout:g} s", 0.0
        except httpx.RequestError as error:
            return None, f"no connection or a cut one ({type(error).__name__}: {error})", 0.0
        if reply.status_code == 200:
            try:
                return reply.json(), None, 0.0
            except ValueError:
                return None, "the answer is not JSON, or was cut off", 0.0
        why = f"HTTP {reply.status_code}: {server_words(reply.content, None) or reply.reason_phrase}"
        if reply.status_code in (408, 429) or reply.status_code >= 500:
            return None, why, retry_after(reply.headers.get("retry-after"))
        raise RetrieveError(f"{self.config.endpoint}: {why}")


def _text_and_title(document: dict[str, Any]) -> tuple[str, str]:
    text, title, contents = document.get("text"), document.get("title"), document.get("contents")
    if isinstance(text, str) and text.strip():
        return text, title if isinstance(title, str) else ""
    if isinstance(contents, str):
        title, text = split_contents(contents)
        return text, title
    return "", ""
