"""Passages from a Search-R1 style retrieval server: ``POST /retrieve`` with queries, ranked documents back.

A failed request raises after its retries; it never passes for a search that found nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tracerank.endpoints.client import EndpointClient
from tracerank.endpoints.server import Server
from tracerank.errors import RetrieveError, TraceRankError
from tracerank.lab.corpus.base import Passage, split_contents
from tracerank.readers.values import encodable


@dataclass(frozen=True, slots=True)
class RetrieveConfig(Server):
    """Where the server is and how long to try."""

    path: ClassVar[str] = "retrieve"
    error: ClassVar[type[TraceRankError]] = RetrieveError
    kind: ClassVar[str] = "a Search-R1 style retrieval server"
    form: ClassVar[str] = "http://HOST[:PORT][/retrieve]"
    usual_key: ClassVar[str] = "TRACERANK_RETRIEVER_KEY"
    """Its own: the key of a chat server is none of its business."""

    model: str = ""
    timeout: float = 30.0
    """Seconds without progress after which a request counts as failed."""
    retries: int = 4
    """Further attempts after 408, 429, 5xx, a timeout or a cut connection."""
    longest_delay: float = 30.0
    """Seconds that any wait may take."""
    concurrency: int = 64
    """Requests under way at once."""

    @property
    def root(self) -> str:
        """The address without ``/retrieve``; such servers have no versions."""
        return self.url.rstrip("/").removesuffix(f"/{self.path}")


class RetrieveClient:
    """A retriever behind a server; safe to share between threads."""

    def __init__(self, config: RetrieveConfig) -> None:
        self.config = config
        self._endpoint = EndpointClient(config)

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """The server's passages for one query, best first."""
        return self.search_many([query], k)[0]

    def search_many(self, queries: Sequence[str], k: int = 3) -> list[tuple[Passage, ...]]:
        """The passages of several queries in one request."""
        if not queries:
            return []
        body = {"queries": [encodable(query) for query in queries], "topk": k, "return_scores": True}
        answer = self._endpoint.post(body)
        if answer.status_code != 200:
            raise self._endpoint.refusal(answer)
        reply = self._endpoint.value(answer)
        result = reply.get("result") if isinstance(reply, dict) else None
        if not isinstance(result, list) or len(result) != len(queries):
            raise RetrieveError(f"{self.config.endpoint}: expected a list 'result' with {len(queries)} entries")
        return [tuple(self._passages(entry)[:k]) for entry in result]

    def close(self) -> None:
        self._endpoint.close()

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


def _text_and_title(document: dict[str, Any]) -> tuple[str, str]:
    text, title, contents = document.get("text"), document.get("title"), document.get("contents")
    if isinstance(text, str) and text.strip():
        return text, title if isinstance(title, str) else ""
    if isinstance(contents, str):
        title, text = split_contents(contents)
        return text, title
    return "", ""
