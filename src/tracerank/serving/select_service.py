"""The selector as a web service: selecting, ranking, explaining, a page to look at, health, figures, a description.

Requests of many clients are decided together. Built on FastAPI and Prometheus' client; the ``serve`` extra has both.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel

from tracerank.serving.deciding import Asked, Decided, Decider, Deciding, OwnMethod
from tracerank.serving.guards import BodyLimit, KnownHost, KnownToken
from tracerank.serving.limits import DEFAULT_LIMITS, ServiceLimits
from tracerank.serving.rerank_wire import (
    RankedText,
    RerankReply,
    RerankRequest,
    rerank_reply,
    rollouts_to_rank,
    tei_reply,
)
from tracerank.serving.service_metrics import CONTENT_TYPE, Counted
from tracerank.serving.service_pages import HTML, add_docs, add_pages, page_of_pool
from tracerank.serving.wire import (
    ErrorReply,
    ExplainReply,
    HealthReply,
    SelectReply,
    SelectRequest,
    UnreadableRequest,
    explain_reply,
    select_reply,
)
from tracerank.votes.base import Decision, Method

if TYPE_CHECKING:
    from tracerank.serving.chat_endpoint import ChatEndpoint

MISTAKES_TOLD = 5
"""Of a request with many mistakes, the first ones are told."""

_ARRIVED = "tracerank.arrived"
"""Where a request notes when all of it was there."""

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": reason}
    for status, reason in {
        401: "A token is wanted.",
        413: "The body is too long.",
        421: "The request is meant for another host.",
        422: "No pool can be made of the request.",
        429: "Too many requests wait; come back later.",
        500: "The method fails on this very pool; the reason is told.",
        503: "The service is closing, or what its method depends on does not answer.",
        504: "It took too long.",
    }.items()
}


def select_app(
    method: Method | Sequence[Decider],
    version: str,
    limits: ServiceLimits = DEFAULT_LIMITS,
    token: str | None = None,
    view: Path | None = None,
    hosts: frozenset[str] | None = None,
    chat: "ChatEndpoint | None" = None,
) -> FastAPI:
    """The web application; ``token`` is what clients must show, if any, ``view`` a page to show at ``/view``.

    The method decides in a thread of this process, deciders where they are. ``hosts`` are the names that it answers to;
    None: any. ``chat`` answers chat completions.
    """
    deciders = method if isinstance(method, Sequence) else [OwnMethod(method)]
    name = deciders[0].name
    deciding = Deciding(deciders, limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(deciding.close)
        if chat is not None:
            await chat.upstream.close()

    app = FastAPI(
        title="tracerank",
        version=version,
        summary="Which of K finished rollouts to return.",
        lifespan=lifespan,
        docs_url=None,  # ours needs no network
        redoc_url=None,
    )
    app.add_exception_handler(RequestValidationError, _tell_mistakes)
    app.include_router(_questions(deciding, name))
    app.include_router(_ranking(deciding))
    if chat is not None:
        app.include_router(chat.router(deciding.metrics))
    app.include_router(_monitoring(deciding, name, version))
    add_pages(app, name, version, view)
    add_docs(app, wants_token=token is not None)
    app.add_middleware(BodyLimit, limit=limits.body_bytes)
    if token is not None:
        app.add_middleware(KnownToken, token=token)
    if hosts is not None:
        app.add_middleware(KnownHost, hosts=hosts)
    app.add_middleware(Counted, metrics=deciding.metrics)  # added last, so outermost: refusals are counted, too
    return app


def _questions(deciding: Deciding, method: str) -> APIRouter:
    router = APIRouter(route_class=_OrjsonRoute, prefix="/v1", responses=REFUSALS)

    @router.post("/select", response_model=SelectReply)
    async def select(request: SelectRequest, http: Request) -> Response:
        """The best existing answer of one question."""
        decided = await deciding.decide(_asked(request, http))
        return _reply(select_reply(decided.pool, decided.found, decided.problems))

    @router.post("/explain", response_model=ExplainReply)
    async def explain(request: SelectRequest, http: Request) -> Response:
        """The decision on one question, and what spoke for each candidate."""
        decided = await deciding.explain(_asked(request, http))
        return _reply(explain_reply(decided.pool, decided.found, decided.problems))

    @router.post("/view", **HTML)
    async def view(request: SelectRequest, http: Request) -> Response:
        """The decision on one question as a page: rollouts side by side, and the evidence that they share."""
        decided = await deciding.explain(_asked(request, http))
        return await run_in_threadpool(page_of_pool, decided.pool, decided.found, method)

    return router


def _ranking(deciding: Deciding) -> APIRouter:
    """The rollouts of one question, best first, where and as clients of other services look for them."""
    router = APIRouter(route_class=_OrjsonRoute, responses=REFUSALS)

    async def decided(request: RerankRequest, http: Request) -> Decided[Decision]:
        try:
            return await deciding.decide(_asked(rollouts_to_rank(request), http))
        except UnreadableRequest as error:
            raise HTTPException(422, str(error)) from None

    @router.post("/v1/rerank", response_model=RerankReply)
    @router.post("/v2/rerank", response_model=RerankReply)
    async def rerank(request: RerankRequest, http: Request) -> Response:
        """The rollouts of one question, best first, as Cohere's clients want them."""
        found = await decided(request, http)
        return _reply(rerank_reply(request, found.pool, found.found), skips_none=True)

    @router.post("/rerank", response_model=RerankReply | list[RankedText])
    async def rerank_as_asked(request: RerankRequest, http: Request) -> Response:
        """The same as TEI tells it if asked with ``texts``, else as vLLM does."""
        found = await decided(request, http)
        if request.documents is None:
            texts = tei_reply(request, found.pool, found.found)
            return JSONResponse([one.model_dump(exclude_none=True) for one in texts])
        return _reply(rerank_reply(request, found.pool, found.found), skips_none=True)

    @router.post("/infinity/rerank", response_model=RerankReply)
    async def rerank_with_texts(request: RerankRequest, http: Request) -> Response:
        """The same as Infinity tells it: a document comes back as a text."""
        found = await decided(request, http)
        return _reply(rerank_reply(request, found.pool, found.found, is_text=True), skips_none=True)

    return router


def _monitoring(deciding: Deciding, method: str, version: str) -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health() -> HealthReply:
        """Whether requests are answered, and by what."""
        return HealthReply(status="ok", method=method, waiting=deciding.batches.waiting(), version=version)

    @router.get(
        "/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, 401: REFUSALS[401]}
    )
    async def metrics() -> Response:
        """Figures for Prometheus."""
        return Response(deciding.metrics.page(), media_type=CONTENT_TYPE)

    return router


def _reply(reply: BaseModel, skips_none: bool = False) -> Response:
    """As JSON at once: it was checked when it was made, and need not be once more."""
    return Response(reply.model_dump_json(exclude_none=skips_none), media_type="application/json")


def _asked(request: SelectRequest, http: Request) -> Asked:
    announced = http.headers.get("content-length", "")
    since = http.scope.get(_ARRIVED, asyncio.get_running_loop().time())
    return Asked(request, int(announced) if announced.isdecimal() else None, since)


class _OrjsonRequest(Request):
    """Read several times as fast; and what cannot be said in UTF-8 is met here, not when it stands in a reply."""

    async def json(self) -> Any:
        body = await self.body()
        self.scope[_ARRIVED] = asyncio.get_running_loop().time()  # parsing counts, a client's slow line does not
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            if b"\\u" not in body:
                raise
            return _without_half_characters(body)


def _without_half_characters(body: bytes) -> Any:
    """Pages hold lone surrogates, which Python writes as JSON all the same: each becomes a question mark."""
    try:
        whole = json.dumps(json.loads(body), ensure_ascii=False)
    except (RecursionError, UnicodeDecodeError) as error:
        raise json.JSONDecodeError(str(error), "", 0) from None
    return orjson.loads(whole.encode("utf-8", "replace"))


class _OrjsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_quickly(request: Request) -> Response:
            return await handle(_OrjsonRequest(request.scope, request.receive))

        return handle_quickly


async def _tell_mistakes(_: Request, error: Exception) -> JSONResponse:
    """Where and what, in a line; the library's own answer repeats the whole body."""
    assert isinstance(error, RequestValidationError)
    told = [f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}" for mistake in error.errors()[:MISTAKES_TOLD]]
    return JSONResponse({"detail": "; ".join(told)}, 422)
