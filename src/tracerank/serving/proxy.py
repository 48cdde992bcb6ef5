"""``/v1/chat/completions``, ``/v1/responses`` and ``/v1/models`` in place of an OpenAI-compatible server.

Each request is sampled there until it is clear which completion to return; that one is returned unchanged, with a field
about the sampling.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracerank.sampling.waves import Failure, in_thread, run_in_waves
from tracerank.serving.decider import Decider
from tracerank.serving.metrics import ServiceMetrics
from tracerank.serving.replies import Completion, Replies
from tracerank.serving.settings import MAX_SAMPLES, ServiceSettings
from tracerank.serving.shapes import CHAT, OWN_FIELD, RESPONSES, chat_pieces, response_events
from tracerank.serving.upstream import Refusal, Upstream
from tracerank.stopping.rules import ExpectedGain
from tracerank.votes.base import Method

PARALLEL = 4
"""Samples of a request under way at once."""
GREEDY = "temperature 0: further samples would be the same"
_NOT_PASSED_ON = ("n", "best_of", "stream", "stream_options")
_CLIENT_LEFT = 499


class Sampled(BaseModel):
    """The fields that the proxy reads; all others are passed on. Descriptions become error messages."""

    model_config = ConfigDict(strict=True)
    model: str | None = None
    n: Annotated[Literal[1] | None, Field(description="one completion is returned; see 'best_of'")] = None
    best_of: Annotated[int, Field(ge=1, le=MAX_SAMPLES)] | None = None
    stop: Annotated[
        Annotated[float, Field(gt=0, le=1)] | str | list[str] | None,
        Field(description="expected a confidence above 0 and up to 1, or texts that end a reply"),
    ] = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None


class ChatRequest(Sampled):
    """Body of ``/v1/chat/completions``."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1, description="expected a list of messages")]


class ResponseRequest(Sampled):
    """Body of ``/v1/responses``."""

    input: Annotated[str | list[dict[str, Any]], Field(min_length=1, description="expected a text or a list of items")]
    background: Annotated[Literal[False] | None, Field(description="the reply comes with the request")] = None


SHAPES: Mapping[str, type[Sampled]] = {CHAT: ChatRequest, RESPONSES: ResponseRequest}


class ChatProxy:
    """Answers chat completions by sampling a server."""

    def __init__(
        self, upstream: str, method: Method, settings: ServiceSettings, metrics: ServiceMetrics, decider: Decider
    ) -> None:
        self._upstream = Upstream(upstream)
        self._method, self._settings, self._metrics, self._decider = method, settings, metrics, decider
        self._under_way = 0

    def router(self) -> APIRouter:
        """The routes."""
        router = APIRouter(prefix="/v1")

        @router.post("/chat/completions", response_model=None)
        async def chat_completions(request: Request) -> Response:
            """The best of several completions of the server behind this service, in the shape of OpenAI's API."""
            return await self._unless_disconnected(request, CHAT)

        @router.post("/responses", response_model=None)
        async def responses(request: Request) -> Response:
            """The best of several responses, in the shape of OpenAI's Responses API."""
            return await self._unless_disconnected(request, RESPONSES)

        @router.get("/models", response_model=None)
        async def models(request: Request) -> Response:
            """The models that requests may name."""
            return _json(await self._upstream.models(self._headers(request)))

        return router

    async def close(self) -> None:
        await self._upstream.close()

    async def _unless_disconnected(self, request: Request, path: str) -> Response:
        """The reply; when the client leaves first, everything under way for it is cancelled."""
        body, wanted = read_request(await request.body(), SHAPES[path])
        if self._under_way >= self._settings.waiting:
            raise Refusal(429, "too many requests wait; try again", "rate_limit_error", headers={"Retry-After": "1"})
        self._under_way += 1
        work = asyncio.create_task(self._answered(path, body, wanted, self._headers(request)))
        disconnected = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait((work, disconnected), return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else Response(status_code=_CLIENT_LEFT)
        finally:
            self._under_way -= 1
            disconnected.cancel()
            work.cancel()
            await asyncio.wait((work, disconnected))

    async def _answered(
        self, path: str, body: Mapping[str, Any], wanted: Sampled, headers: Mapping[str, str]
    ) -> Response:
        settings, has_confidence = self._settings, isinstance(wanted.stop, float)
        sent = {name: value for name, value in body.items() if name not in _NOT_PASSED_ON}
        sent["model"] = self._upstream.model_for(wanted.model)
        if has_confidence:
            del sent["stop"]
        best_of, note = wanted.best_of or settings.best_of, None
        if body.get("temperature") == 0 and best_of > 1:
            best_of, note = 1, GREEDY
        rule = ExpectedGain(target=wanted.stop if isinstance(wanted.stop, float) else settings.stop)
        replies = Replies(body, self._method, rule, best_of, self._decider)

        async def sample(number: int) -> Completion:
            again = {"seed": sent["seed"] + number} if number and type(sent.get("seed")) is int else {}
            return await self._upstream.complete(path, {**sent, **again}, headers)  # one seed would give the same again

        seconds = settings.upstream_seconds
        ended = await run_in_waves(
            sample, replies.take, replies.should_continue, range(best_of), PARALLEL, deadline=seconds
        )
        cancelled = ended.cancelled + len(ended.unneeded)
        counts = {"used": len(replies.completions), "failed": len(replies.failures), "cancelled": cancelled}
        counts["saved"] = ended.saved
        for outcome, count in counts.items():
            self._metrics.samples.labels(outcome).inc(count)
        if not replies.completions:
            raise _no_completion(replies.failures, seconds)
        chosen, about = await in_thread(replies.chosen)
        about |= {"n": counts.pop("used"), **counts, "stopped": ended.verdict.reason}
        notes = "; ".join(filter(None, (note, about["note"])))
        completion = {**chosen, OWN_FIELD: {**about, "note": notes or None}}
        if not wanted.stream:
            return _json(completion)
        wants_usage = bool((wanted.stream_options or {}).get("include_usage"))
        pieces = chat_pieces(completion, wants_usage) if path == CHAT else response_events(completion)
        events = _events(pieces, path == CHAT)
        return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})

    def _headers(self, request: Request) -> dict[str, str]:
        headers = dict(request.headers)
        if self._settings.token is not None:
            headers.pop("authorization", None)  # it is the token of this service, not a key
        return headers


def read_request(received: bytes, kind: type[Sampled]) -> tuple[dict[str, Any], Sampled]:
    """The body of a request, and the fields that the proxy reads; raises ``Refusal``."""
    try:
        body = json.loads(received)
    except (ValueError, RecursionError):
        raise Refusal(400, "the body is not JSON", "invalid_request_error") from None
    try:
        return body, kind.model_validate(body)
    except ValidationError as error:
        mistake = error.errors()[0]
    if not mistake["loc"]:
        raise Refusal(400, "expected a JSON object", "invalid_request_error")
    name = str(mistake["loc"][0])
    message = f"'{name}': {kind.model_fields[name].description or mistake['msg']}"
    raise Refusal(400, message, "invalid_request_error", param=name)


def _no_completion(failures: list[Failure], seconds: float) -> Refusal:
    """Why there is no completion at all."""
    if not failures:
        return Refusal(504, f"no completion within {seconds:g} s", "timeout")
    refusals = [one.error for one in failures if isinstance(one.error, Refusal)]
    return refusals[0] if refusals else Refusal(502, f"no sample could be drawn: {failures[0].reason}")


def _json(value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """In ASCII: lone surrogates, which some models write, cannot be expressed in UTF-8."""
    return Response(json.dumps(value), status, headers, media_type="application/json")


async def refused(_: Request, error: Any) -> Response:
    """Handles ``Refusal``."""
    return _json(error.body, error.status, error.headers)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(pieces: Iterator[dict[str, Any]], is_chat: bool) -> AsyncIterator[str]:
    for piece in pieces:
        name = "" if is_chat else f"event: {piece['type']}\n"
        yield f"{name}data: {json.dumps(piece)}\n\n"
    if is_chat:
        yield "data: [DONE]\n\n"
