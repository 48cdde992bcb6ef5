"""The selector as a web service: deciding, explaining, reranking, health and metrics."""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from tracerank.errors import ChatError, EmbeddingError, TraceRankError, UndecidedPool, UsageError
from tracerank.pools.pool import Pool
from tracerank.serving.decider import Decider
from tracerank.serving.metrics import Counted, ServiceMetrics
from tracerank.serving.proxy import ChatProxy, refused
from tracerank.serving.security import BodyLimit, KnownToken, refusal_body
from tracerank.serving.settings import DEFAULT_SETTINGS, ServiceSettings, service_version
from tracerank.serving.upstream import Refusal
from tracerank.serving.wire import (
    ErrorReply,
    ExplainReply,
    HealthReply,
    RerankBody,
    RerankReply,
    SelectBody,
    SelectReply,
    SelectRequest,
    explain_reply,
    pool_of,
    rerank_reply,
    select_reply,
)
from tracerank.votes.base import Method
from tracerank.votes.explanation import Explanation
from tracerank.votes.spans import decision_span

MAX_MISTAKES = 5
"""Mistakes of a request that are listed."""
CLOSING_SECONDS = 20
"""Seconds to finish what was accepted when the service ends; Kubernetes grants 30."""

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply} for status in (400, 401, 413, 422, 429, 500, 503, 504)
}
"""docs/guides/serve.md says when each is sent."""
AGAIN = {"Retry-After": "1"}
_log = logging.getLogger(__name__)


def create_app(method: Method, settings: ServiceSettings = DEFAULT_SETTINGS) -> FastAPI:
    """The web application; raises where the upstream server's address cannot be used."""
    metrics = ServiceMetrics()
    decider = Decider(method, metrics.batches.observe)
    proxy = None if settings.upstream is None else ChatProxy(settings.upstream, method, settings, metrics, decider)
    metrics.waiting.set_function(decider.waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        decider.close()
        if proxy is not None:
            await proxy.close()

    app = FastAPI(
        title="tracerank",
        version=service_version(),
        summary="Choose among finished rollouts of a question.",
        lifespan=lifespan,
        redoc_url=None,
    )
    for kind in (TraceRankError, RequestValidationError, StarletteHTTPException, Exception):
        app.add_exception_handler(kind, _refused)
    app.include_router(_routes(decider, method.name, settings, metrics))
    if proxy is not None:
        app.include_router(proxy.router())
        app.add_exception_handler(Refusal, refused)
    # Added last is outermost: refusals are counted, too.
    app.add_middleware(BodyLimit, limit=settings.body_bytes)
    if settings.token is not None:
        app.add_middleware(KnownToken, token=settings.token)
    if settings.hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts), www_redirect=False)
    app.add_middleware(Counted, metrics=metrics)
    return app


def run(
    app: Any,
    host: str,
    port: int,
    *,
    seconds: int = CLOSING_SECONDS,
    announce: Callable[[str], object] = lambda _: None,
) -> None:
    """Serve until SIGINT or SIGTERM; ``announce`` gets the address once it accepts connections.

    Accepted requests are finished within ``seconds``. Port 0 takes a free one.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error}; choose another --host or --port") from None
    # asyncio sets it only on sockets that it made itself; without it each reply waits 40 ms for an acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    name = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=seconds,
        server_header=False,
    )
    with listening, suppress(KeyboardInterrupt):
        announce(f"http://{name}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])


def _routes(decider: Decider, method: str, settings: ServiceSettings, metrics: ServiceMetrics) -> APIRouter:
    router = APIRouter(responses=REFUSALS)
    reading = 0

    async def decided(request: SelectRequest, wants_reasons: bool = False) -> tuple[Pool, list[str], Explanation]:
        nonlocal reading
        if decider.waiting() + reading >= settings.waiting:
            raise HTTPException(429, "too many requests wait; try again", AGAIN)
        until = time.monotonic() + settings.seconds
        reading += 1
        try:
            pool, problems = await run_in_threadpool(pool_of, request)
        finally:
            reading -= 1
        with decision_span(method) as record:
            future = asyncio.wrap_future(decider.submit(pool, wants_reasons))
            # Not asyncio.timeout, which drops a decision that was there in time while the event loop was held up.
            await asyncio.wait([future], timeout=max(0.0, until - time.monotonic()))
            if not future.done():
                future.cancel()
                raise HTTPException(504, "not decided in time")
            found = future.result()
            if found.decision.problem is not None:
                raise ChatError(found.decision.problem)
            record(pool, found.decision)
        metrics.dropped.inc(len(found.decision.dropped))
        return pool, problems, found

    @router.post("/v1/select", response_model=SelectReply)
    async def select(request: SelectBody) -> Response:
        """The best existing answer to one question."""
        pool, problems, found = await decided(request)
        return _reply(select_reply(pool, problems, found.decision))

    @router.post("/v1/explain", response_model=ExplainReply)
    async def explain(request: SelectBody) -> Response:
        """The decision on one question, and what spoke for each candidate."""
        return _reply(explain_reply(*await decided(request, wants_reasons=True)))

    @router.post("/v2/rerank", response_model=RerankReply)
    async def rerank(request: RerankBody) -> Response:
        """The rollouts of one question, best first, as Cohere's clients expect them."""
        *_, found = await decided(request.selection())
        return _reply(rerank_reply(request, found.decision))

    @router.get("/health")
    async def health() -> HealthReply:
        """Whether requests are answered, and by which method."""
        return HealthReply(status="ok", method=method, waiting=decider.waiting(), version=service_version())

    @router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def counts() -> Response:
        """Counters for Prometheus."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return router


def _reply(reply: BaseModel) -> Response:
    """Checked when it was made, so FastAPI need not check it again."""
    return Response(reply.model_dump_json(), media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    """What went wrong, in one line."""
    status, detail, headers = 422, str(error), None
    if isinstance(error, StarletteHTTPException):
        status, detail, headers = error.status_code, error.detail, error.headers
        if status == 404:
            detail = "nothing is served here; /docs lists the endpoints, and --upstream adds those for chat"
    elif isinstance(error, RequestValidationError):  # FastAPI's own answer repeats the whole body
        found = error.errors()[:MAX_MISTAKES]
        detail = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
    elif isinstance(error, EmbeddingError | ChatError):
        _log.warning("%s: %s", type(error).__name__, error)  # it may name addresses: not for clients
        status, detail, headers = 503, "the encoder or chat server behind this service failed; try again", AGAIN
    elif isinstance(error, UndecidedPool):
        status = 500
    elif not isinstance(error, TraceRankError):
        status, detail = 500, "the service failed; its log has the reason"
    return JSONResponse(refusal_body(request.url.path, status, detail), status, headers)
