"""``/v1/chat/completions`` and ``/v1/models`` in the place of an OpenAI-compatible server: each request is sampled
there until it is clear which completion to return; that one is returned as it is, with what it took in a field more.

Built on FastAPI. What a request may ask for, how it is told no, and how a completion is streamed once it is chosen.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from tracerank.sampling.waves import Ended, run_in_waves
from tracerank.serving.limits import BEST_OF, DEFAULT_LIMITS, UPSTREAM_SECONDS, ServiceLimits
from tracerank.serving.listening import LEFT
from tracerank.serving.replies import Chosen, Completion, Replies
from tracerank.serving.service_metrics import ServiceMetrics
from tracerank.serving.upstream import Refusal, Upstream
from tracerank.stopping.rules import ExpectedGain, Rule
from tracerank.votes.base import Method

PARALLEL = 4
"""Samples of a request under way at once."""
OWN_FIELD = "tracerank"
"""Of the request, what concerns only us; of the reply, what it took."""
HEADER = "x-tracerank-"
GREEDY = "temperature 0: further samples would be the same"
PIECE = 256
"""Characters of a piece in a stream."""
_CLIENT_LEFT = 499


@dataclass(frozen=True, slots=True)
class Sampled:
    """How a request is sampled."""

    best_of: int = BEST_OF
    """Most samples."""
    stop: float | None = None
    """Confidence that is enough; None: until further samples would bring too little."""

    @property
    def rule(self) -> Rule:
        return ExpectedGain(target=self.stop)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as far as it concerns us, and the rest of it as it goes upstream."""

    body: dict[str, Any]
    sampled: Sampled
    is_streamed: bool
    wants_usage: bool
    note: str | None = None


class ChatEndpoint:
    """Answers chat completions by sampling a server."""

    def __init__(
        self,
        upstream: Upstream,
        method: Method,
        sampled: Sampled,
        limits: ServiceLimits = DEFAULT_LIMITS,
        has_token: bool = False,
        seconds: float = UPSTREAM_SECONDS,
    ) -> None:
        """``has_token``: what clients show is the token of this service, no key; ``seconds``: for a whole request."""
        self.upstream = upstream
        self._method = method
        self._sampled = sampled
        self._limits = limits
        self._has_token = has_token
        self._seconds = seconds
        self._turn = Lock()
        self._under_way = 0

    def router(self, metrics: ServiceMetrics) -> APIRouter:
        """The routes."""
        router = APIRouter(prefix="/v1")

        @router.post("/chat/completions", response_model=None)
        async def chat_completions(request: Request) -> Response:
            """The best of several completions of the server behind this service, in the shape of OpenAI's API."""
            try:
                return await self._while_waited_for(request, metrics)
            except Refusal as refusal:
                return _json(refusal.body, refusal.status, refusal.headers)

        @router.get("/models", response_model=None)
        async def models(request: Request) -> Response:
            """The models that may be asked for."""
            try:
                return _json(await self.upstream.models(self._headers(request)))
            except Refusal as refusal:
                return _json(refusal.body, refusal.status, refusal.headers)

        return router

    async def _while_waited_for(self, request: Request, metrics: ServiceMetrics) -> Response:
        """The reply; if the client leaves before it is there, all that is under way for it ends."""
        asked = self._asked(await request.body())
        if self._under_way >= self._limits.waiting:
            raise Refusal(429, "too many requests wait; try again", "rate_limit_error", headers={"Retry-After": "1"})
        self._under_way += 1
        work = asyncio.create_task(self._answered(asked, self._headers(request), metrics))
        left = asyncio.create_task(_left(request))
        try:
            await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            return Response(status_code=_CLIENT_LEFT)
        finally:
            self._under_way -= 1
            left.cancel()
            work.cancel()
            await asyncio.wait((work, left))

    async def _answered(self, asked: Asked, headers: Mapping[str, str], metrics: ServiceMetrics) -> Response:
        replies = Replies(asked.body["messages"], self._method, asked.sampled.rule, asked.sampled.best_of, self._turn)
        sample = _Sampling(self.upstream, asked.body, headers)
        numbers = range(asked.sampled.best_of)
        ended = await run_in_waves(sample, replies, numbers, PARALLEL, deadline=self._seconds)
        _count(metrics, replies, ended)
        if not replies.completions:
            raise _told(replies, self._seconds)
        chosen = await asyncio.to_thread(replies.chosen)
        told = _extension(chosen, replies, ended, asked.note)
        completion = {**chosen.completion, OWN_FIELD: told}
        own = _own_headers(told)
        if not asked.is_streamed:
            return _json(completion, headers=own)
        pieces = _stream(completion, asked.wants_usage)
        return StreamingResponse(pieces, media_type="text/event-stream", headers={**own, "Cache-Control": "no-cache"})

    def _headers(self, request: Request) -> dict[str, str]:
        headers = dict(request.headers)
        if self._has_token:
            headers.pop("authorization", None)
        return headers

    def _asked(self, received: bytes) -> Asked:
        try:
            body = json.loads(received)
        except (ValueError, RecursionError):
            raise _mistake("the body is no JSON") from None
        if not isinstance(body, dict):
            raise _mistake("expected a JSON object")
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
            raise _mistake("'messages': expected a list of messages", "messages")
        if body.pop("n", None) not in (None, 1):
            raise _mistake("'n': one completion is returned; 'best_of' says how many are sampled", "n")
        body["model"] = self._model(body.get("model"))
        is_streamed, options = bool(body.pop("stream", False)), body.pop("stream_options", None)
        sampled = _sampled(body, self._sampled)
        note = None
        if body.get("temperature") == 0 and sampled.best_of > 1:
            sampled, note = replace(sampled, best_of=1), GREEDY
        return Asked(body, sampled, is_streamed, isinstance(options, dict) and bool(options.get("include_usage")), note)

    def _model(self, asked: object) -> str:
        named = self.upstream.model
        if asked is not None and not isinstance(asked, str):
            raise _mistake("'model': expected a name", "model")
        if named is not None and asked not in (None, named):
            message = f"the model {asked!r} does not exist here; there is {named!r}"
            raise Refusal(404, message, "invalid_request_error", param="model", code="model_not_found")
        return named or asked or self.upstream.config.model


class _Sampling:
    """One more sample of the same request, as long as the server wants to be asked."""

    def __init__(self, upstream: Upstream, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self._upstream, self._body, self._headers = upstream, body, headers
        self._pause: Refusal | None = None

    async def __call__(self, number: int) -> Completion:
        if self._pause is not None:
            raise self._pause
        body = self._body
        if number and type(body.get("seed")) is int:
            body = {**body, "seed": body["seed"] + number}  # the same seed would give the same
        try:
            return await self._upstream.complete(body, self._headers)
        except Refusal as refusal:
            if refusal.status == 429:
                self._pause = refusal
            raise


def _sampled(body: dict[str, Any], usual: Sampled) -> Sampled:
    """What the request says about sampling, taken out of it; ``stop`` as texts is OpenAI's own and stays."""
    own = body.pop(OWN_FIELD, None) or {}
    if not isinstance(own, dict) or not own.keys() <= {"best_of", "stop"}:
        raise _mistake(f"'{OWN_FIELD}': expected an object with 'best_of' and 'stop'", OWN_FIELD)
    best_of, stop = own.get("best_of"), own.get("stop")
    if best_of is None:
        best_of = body.pop("best_of", None)
    if stop is None and type(body.get("stop")) in (int, float):
        stop = body.pop("stop")
    most = ServiceLimits.samples
    if best_of is not None and (type(best_of) is not int or not 1 <= best_of <= most):
        raise _mistake(f"'best_of': expected a whole number from 1 to {most}", "best_of")
    if stop is not None and (type(stop) not in (int, float) or not 0 < stop <= 1):
        raise _mistake("'stop': expected a confidence between 0 and 1, or texts that end a reply", "stop")
    return Sampled(best_of or usual.best_of, usual.stop if stop is None else float(stop))


def _mistake(message: str, param: str | None = None) -> Refusal:
    return Refusal(400, message, "invalid_request_error", param=param)


def _told(replies: Replies, seconds: float) -> Refusal:
    """Why there is no completion at all."""
    errors = [failure.error for failure in replies.failures]
    refused = next((error for error in errors if isinstance(error, Refusal)), None)
    if refused is not None:
        return refused
    if errors:
        return Refusal(502, f"no sample could be drawn: {replies.failures[0].reason}")
    return Refusal(504, f"no completion within {seconds:g} s", "timeout")


def _count(metrics: ServiceMetrics, replies: Replies, ended: Ended) -> None:
    counts = {
        "used": len(replies.completions),
        "failed": len(replies.failures),
        "cancelled": len(ended.cancelled) + len(ended.unneeded),
        "saved": len(ended.saved),
    }
    for outcome, count in counts.items():
        metrics.samples.labels(outcome).inc(count)


def _extension(chosen: Chosen, replies: Replies, ended: Ended, note: str | None) -> dict[str, Any]:
    usage = replies.usage
    return {
        "n": len(replies.completions),
        "failed": len(replies.failures),
        "cancelled": len(ended.cancelled) + len(ended.unneeded),
        "saved": len(ended.saved),
        "chosen": chosen.number,
        "confidence": chosen.confidence,
        "agree": chosen.agree,
        "groups": list(chosen.groups),
        "cost": None if usage is None else asdict(usage),
        "escalated": None if chosen.escalated is None else chosen.escalated.record(),
        "stopped": ended.verdict.reason,
        "note": "; ".join(filter(None, (note, chosen.note))) or None,
    }


def _own_headers(told: Mapping[str, Any]) -> dict[str, str]:
    headers = {"n": str(told["n"]), "groups": ",".join(map(str, told["groups"]))}
    if told["confidence"] is not None:
        headers["confidence"] = f"{told['confidence']:.4f}"
    if told["cost"] is not None:
        headers["tokens"] = str(told["cost"]["prompt_tokens"] + told["cost"]["completion_tokens"])
    if told["escalated"] is not None:
        headers["escalated"] = told["escalated"]["outcome"]
    return {f"{HEADER}{name}": value for name, value in headers.items()}


def _json(value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """In ASCII: half a character, as models write some, cannot be said in UTF-8."""
    return Response(json.dumps(value), status, headers, media_type="application/json")


async def _left(request: Request) -> None:
    """Returns when the client is gone, or has said that it sends no more, as who gives up does."""
    closed = request.scope.get(LEFT)
    waiting = [asyncio.create_task(_disconnected(request))]
    if isinstance(closed, asyncio.Event):
        waiting.append(asyncio.create_task(closed.wait()))  # type: ignore[arg-type]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _stream(completion: Completion, wants_usage: bool) -> AsyncIterator[bytes]:
    for piece in _pieces(completion, wants_usage):
        yield b"data: " + json.dumps(piece).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _pieces(completion: Completion, wants_usage: bool) -> Iterator[dict[str, Any]]:
    """A completion as a server streams it: who speaks, what is said and called, how it ends, what it took."""
    about = {name: value for name, value in completion.items() if name not in ("choices", "usage", OWN_FIELD, "object")}
    about = {"id": "chatcmpl-tracerank", "created": 0, "model": "", **about, "object": "chat.completion.chunk"}
    choice = completion["choices"][0]
    message = {name: value for name, value in choice["message"].items() if value is not None}
    text = message.pop("content", None)
    calls = message.pop("tool_calls", None)

    def piece(delta: Mapping[str, Any], finish: object = None, **more: Any) -> dict[str, Any]:
        return {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}

    said = text if isinstance(text, str) else ""
    yield piece({**message, "role": "assistant", "content": "" if isinstance(text, str) else text})
    logprobs = {"logprobs": choice["logprobs"]} if choice.get("logprobs") else {}
    for start in range(0, len(said), PIECE):
        yield piece({"content": said[start : start + PIECE]}, **(logprobs if start == 0 else {}))
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        yield piece({"tool_calls": [{"index": index, **call}]})
    yield {**piece({}, choice.get("finish_reason") or "stop"), OWN_FIELD: completion[OWN_FIELD]}
    if wants_usage:
        yield {**about, "choices": [], "usage": completion.get("usage")}
