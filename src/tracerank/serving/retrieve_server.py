"""A corpus behind Search-R1's protocol: ``POST /retrieve`` for searching, ``GET /health`` for monitors.

Built on starlette and uvicorn, which the ``serve`` extra brings; importing this module needs neither.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracerank.errors import UsageError
from tracerank.extras import needed
from tracerank.lab.corpus.base import Passage, Retriever, join_contents

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What a request may ask for; more is refused with a reason."""

    body_bytes: int = 1 << 20
    """A longer body is answered with 413."""
    queries: int = 512
    """Most queries of a request."""
    topk: int = 100
    """Most passages a query."""
    query_characters: int = 4096
    """Of each query."""


@dataclass(frozen=True, slots=True)
class RetrieveRequest:
    """A request that was understood."""

    queries: tuple[str, ...]
    topk: int
    return_scores: bool


class _BadRequest(Exception):
    """A request that cannot be answered: the status and what is wrong with it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


DEFAULT_LIMITS = RequestLimits()


def retrieve_app(
    retriever: Retriever,
    about: Mapping[str, Any],
    limits: RequestLimits = DEFAULT_LIMITS,
    hosts: Sequence[str] = (),
) -> "Starlette":
    """The web application; ``about`` is what ``/health`` tells beside the status.

    ``hosts`` are the names that it answers to; empty: any.
    """
    with needed("serving a corpus needs", "serve", UsageError):
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.middleware import Middleware
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        from tracerank.serving.security import KnownHost

    async def retrieve(request: "Request") -> "Response":
        try:
            _check_type(request.headers.get("content-type", ""))
            asked = read_request(await _body(request, limits), limits)
        except _BadRequest as problem:
            return JSONResponse({"error": str(problem)}, status_code=problem.status)
        # A search computes for a millisecond or, with re-ranking, far longer: others must be answered meanwhile.
        return JSONResponse(await run_in_threadpool(_answer, retriever, asked))

    async def health(request: "Request") -> "Response":
        return JSONResponse({"status": "ok", **about})

    routes = [Route("/retrieve", retrieve, methods=["POST"]), Route("/health", health, methods=["GET"])]
    return Starlette(routes=routes, middleware=[] if not hosts else [Middleware(KnownHost, hosts=hosts)])


def serve(app: "Starlette", host: str, port: int) -> None:
    """Answer requests until interrupted."""
    with needed("serving a corpus needs", "serve", UsageError):
        from tracerank.serving.app import run
    run(app, host, port)


def _check_type(announced: str) -> None:
    """Refuse what any page in a browser may send without being asked whether it may: text, or a form."""
    kind = announced.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise _BadRequest(415, "expected JSON; send the header content-type: application/json")


def read_request(body: bytes, limits: RequestLimits = DEFAULT_LIMITS) -> RetrieveRequest:
    """The request in a body; raises with a 4xx status and the reason."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise _BadRequest(400, "the body is not JSON") from None
    queries = value.get("queries") if isinstance(value, dict) else None
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise _BadRequest(422, 'expected {"queries": ["…"], "topk": 3, "return_scores": true}')
    if not queries or len(queries) > limits.queries:
        raise _BadRequest(422, f"'queries' holds {len(queries)}; expected 1 to {limits.queries}")
    longest = max(map(len, queries))
    if longest > limits.query_characters:
        raise _BadRequest(422, f"a query has {longest} characters; at most {limits.query_characters} are searched")
    topk = value.get("topk")
    topk = 3 if topk is None else topk
    if not isinstance(topk, int) or isinstance(topk, bool) or not 1 <= topk <= limits.topk:
        raise _BadRequest(422, f"'topk' must be a whole number from 1 to {limits.topk}")
    return_scores = value.get("return_scores", False)
    if not isinstance(return_scores, bool):
        raise _BadRequest(422, "'return_scores' must be true or false")
    return RetrieveRequest(tuple(queries), topk, return_scores)


async def _body(request: "Request", limits: RequestLimits) -> bytes:
    """The body, read no further than the limit, whatever length was announced."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > limits.body_bytes:
            raise _BadRequest(413, f"the body is longer than {limits.body_bytes} bytes; send fewer queries at once")
    return bytes(data)


def _answer(retriever: Retriever, asked: RetrieveRequest) -> dict[str, Any]:
    found = [retriever.search(query, asked.topk) for query in asked.queries]
    if not asked.return_scores:
        return {"result": [[_document(passage) for passage in passages] for passages in found]}
    return {
        "result": [[{"document": _document(p), "score": p.score} for p in passages] for passages in found],
    }


def _document(passage: Passage) -> dict[str, Any]:
    """Search-R1's ``id`` and ``contents``, and what we know beyond it."""
    place = passage.place or 0
    return {
        "id": passage.document if place == 0 else f"{passage.document}#{place}",
        "contents": join_contents(passage.title, passage.text),
        "title": passage.title,
        "text": passage.text,
        "url": passage.url,
        "document_id": passage.document,
        "place": passage.place,
    }
