"""Passages from a Search-R1 style retrieval server: ``POST /retrieve`` with queries, ranked documents back.

A failed request raises after its retries; it never passes for a search that found nothing.
"""

from dataclasses import dataclass
from typing import ClassVar

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
    usual_key: ClassVar[str] = "TRACERANK_RETRIEVER_KEY"  # its own: the key of a chat server is none of its business

    model: str = ""
    timeout: float = 30.0
    retries: int = 4
    concurrency: int = 64

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
        """The server's passages, best first."""
        answer = self._endpoint.post({"queries": [encodable(query)], "topk": k, "return_scores": True})
        if answer.status != 200:
            raise self._endpoint.refusal(answer)
        result = answer.value.get("result") if isinstance(answer.value, dict) else None
        if not isinstance(result, list) or len(result) != 1 or not isinstance(result[0], list):
            raise RetrieveError(f"{self.config.endpoint}: expected 'result' to be a list with one list of documents")
        return tuple(map(self._passage, result[0]))[:k]

    def close(self) -> None:
        self._endpoint.close()

    def _passage(self, item: object) -> Passage:
        """With scores a server wraps each document; without, it sends it bare."""
        found = item if isinstance(item, dict) else {}
        score = found.get("score")
        if isinstance(found.get("document"), dict):
            found = found["document"]
        text, title, url, place = (found.get(name) for name in ("text", "title", "url", "place"))
        if not isinstance(text, str) or not text.strip():
            contents = found.get("contents")
            title, text = split_contents(contents if isinstance(contents, str) else "")
        if not text:
            raise RetrieveError(f"{self.config.endpoint}: a document has neither 'contents' nor 'text'")
        return Passage(
            text,
            title if isinstance(title, str) else "",
            float(score) if isinstance(score, int | float) else None,
            str(found.get("document_id", found.get("id", ""))),
            place if isinstance(place, int) else None,
            url if isinstance(url, str) else None,
        )
