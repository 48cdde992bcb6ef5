"""``/v1/chat/completions`` and ``/v1/models`` in place of an OpenAI-compatible server: each request is sampled there
until it is clear which completion to return; that one is returned unchanged, with a field about the sampling.
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
from tracerank.serving.metrics import ServiceMetrics
from tracerank.serving.replies import Chosen, Completion, Replies
from tracerank.serving.settings import MAX_SAMPLES, ServiceSettings
from tracerank.serving.upstream import Refusal, Upstream
from tracerank.stopping.rules import ExpectedGain
from tracerank.votes.base import Method

PARALLEL = 4
"""Samples of a request under way at once."""
OWN_FIELD = "tracerank"
"""Of the request: how to sample; of the reply: how it was sampled."""
HEADER = "x-tracerank-"
GREEDY = "temperature 0: further samples would be the same"
PIECE = 256
"""Characters of a piece in a stream."""
_CLIENT_LEFT = 499


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What the client asked for: the body to pass on, and what concerns the proxy."""

    body: dict[str, Any]
    best_of: int
    stop: float | None
    is_streamed: bool
    wants_usage: bool
    note: str | None = None


class ChatProxy:
    """Answers chat completions by sampling a server."""

    def __init__(self, method: Method, settings: ServiceSettings, metrics: ServiceMetrics, lock: Lock) -> None:
        """``lock`` is held while the method decides: it need not be thread-safe."""
        self._upstream = Upstream(settings.upstream or "")
        self._method = method
        self._settings = settings
        self._metrics = metrics
        self._lock = lock
        self._under_way = 0

    def router(self) -> APIRouter:
        """The routes."""
        router = APIRouter(prefix="/v1")

        @router.post("/chat/completions", response_model=None)
        async def chat_completions(request: Request) -> Response:
            """The best of several completions of the server behind this service, in the shape of OpenAI's API."""
            return await self._unless_disconnected(request)

        @router.get("/models", response_model=None)
        async def models(request: Request) -> Response:
            """The models that may be asked for."""
            return _json(await self._upstream.models(self._headers(request)))

        return router

    async def close(self) -> None:
        await self._upstream.close()

    async def _unless_disconnected(self, request: Request) -> Response:
        """The reply; when the client leaves first, everything under way for it is cancelled."""
        asked = read_request(await request.body(), self._settings, self._upstream)
        if self._under_way >= self._settings.waiting:
            raise Refusal(429, "too many requests wait; try again", "rate_limit_error", headers={"Retry-After": "1"})
        self._under_way += 1
        work = asyncio.create_task(self._answered(asked, self._headers(request)))
        disconnected = asyncio.create_task(_disconnected(request))
        try:
            await asyncio.wait((work, disconnected), return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else Response(status_code=_CLIENT_LEFT)
        finally:
            self._under_way -= 1
            disconnected.cancel()
            work.cancel()
            await asyncio.wait((work, disconnected))

    async def _answered(self, asked: ChatRequest, headers: Mapping[str, str]) -> Response:
        rule = ExpectedGain(target=asked.stop)
        replies = Replies(asked.body["messages"], self._method, rule, asked.best_of, self._lock)
        sample = _Sampler(self._upstream, asked.body, headers)
        seconds = self._settings.upstream_seconds
        ended = await run_in_waves(sample, replies, range(asked.best_of), PARALLEL, deadline=seconds)
        counts = {
            "n": len(replies.completions),
            "failed": len(replies.failures),
            "cancelled": len(ended.cancelled) + len(ended.unneeded),
            "saved": len(ended.saved),
        }
        for outcome, count in counts.items():
            self._metrics.samples.labels("used" if outcome == "n" else outcome).inc(count)
        if not replies.completions:
            raise _no_completion(replies, seconds)
        chosen = await asyncio.to_thread(replies.chosen)
        extension = {**counts, **_about(chosen, replies, ended, asked.note)}
        completion = {**chosen.completion, OWN_FIELD: extension}
        own = _own_headers(extension)
        if not asked.is_streamed:
            return _json(completion, headers=own)
        events = _events(completion, asked.wants_usage)
        return StreamingResponse(events, media_type="text/event-stream", headers={**own, "Cache-Control": "no-cache"})

    def _headers(self, request: Request) -> dict[str, str]:
        headers = dict(request.headers)
        if self._settings.token is not None:
            headers.pop("authorization", None)  # it is the token of this service, not a key
        return headers


class _Sampler:
    """Draws samples of one request, as long as the server does not ask for a pause."""

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


def read_request(received: bytes, settings: ServiceSettings, upstream: Upstream) -> ChatRequest:
    """The request in a body; raises ``Refusal``."""
    try:
        body = json.loads(received)
    except (ValueError, RecursionError):
        raise _mistake("the body is not JSON") from None
    if not isinstance(body, dict):
        raise _mistake("expected a JSON object")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise _mistake("'messages': expected a list of messages", "messages")
    if body.pop("n", None) not in (None, 1):
        raise _mistake("'n': one completion is returned; 'best_of' says how many are sampled", "n")
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        raise _mistake("'model': expected a name", "model")
    if upstream.model is not None and model not in (None, upstream.model):
        message = f"the model {model!r} does not exist here; there is {upstream.model!r}"
        raise Refusal(404, message, "invalid_request_error", param="model", code="model_not_found")
    body["model"] = upstream.model or model or upstream.config.model
    is_streamed, options = bool(body.pop("stream", False)), body.pop("stream_options", None)
    wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    best_of, stop = _sampling(body)
    asked = ChatRequest(body, best_of or settings.best_of, stop or settings.stop, is_streamed, wants_usage)
    is_greedy = body.get("temperature") == 0 and asked.best_of > 1
    return replace(asked, best_of=1, note=GREEDY) if is_greedy else asked


def _sampling(body: dict[str, Any]) -> tuple[int | None, float | None]:
    """``best_of`` and ``stop``, taken out of the request; ``stop`` as texts is OpenAI's own and stays."""
    own = body.pop(OWN_FIELD, None) or {}
    if not isinstance(own, dict) or not own.keys() <= {"best_of", "stop"}:
        raise _mistake(f"'{OWN_FIELD}': expected an object with 'best_of' and 'stop'", OWN_FIELD)
    best_of, stop = own.get("best_of"), own.get("stop")
    if best_of is None:
        best_of = body.pop("best_of", None)
    if stop is None and type(body.get("stop")) in (int, float):
        stop = body.pop("stop")
    if best_of is not None and (type(best_of) is not int or not 1 <= best_of <= MAX_SAMPLES):
        raise _mistake(f"'best_of': expected a whole number from 1 to {MAX_SAMPLES}", "best_of")
    if stop is not None and (type(stop) not in (int, float) or not 0 < stop <= 1):
        raise _mistake("'stop': expected a confidence above 0 and up to 1, or texts that end a reply", "stop")
    return best_of, stop


def _mistake(message: str, param: str | None = None) -> Refusal:
    return Refusal(400, message, "invalid_request_error", param=param)


def _no_completion(replies: Replies, seconds: float) -> Refusal:
    """Why there is no completion at all."""
    for failure in replies.failures:
        if isinstance(failure.error, Refusal):
            return failure.error
    if replies.failures:
        return Refusal(502, f"no sample could be drawn: {replies.failures[0].reason}")
    return Refusal(504, f"no completion within {seconds:g} s", "timeout")


def _about(chosen: Chosen, replies: Replies, ended: Ended, note: str | None) -> dict[str, Any]:
    usage = replies.usage
    return {
        "chosen": chosen.number,
        "confidence": chosen.confidence,
        "agree": chosen.agree,
        "groups": list(chosen.groups),
        "cost": None if usage is None else asdict(usage),
        "escalated": None if chosen.escalated is None else chosen.escalated.record(),
        "stopped": ended.verdict.reason,
        "note": "; ".join(filter(None, (note, chosen.note))) or None,
    }


def _own_headers(extension: Mapping[str, Any]) -> dict[str, str]:
    headers = {"n": str(extension["n"]), "groups": ",".join(map(str, extension["groups"]))}
    if extension["confidence"] is not None:
        headers["confidence"] = f"{extension['confidence']:.4f}"
    if extension["cost"] is not None:
        headers["tokens"] = str(extension["cost"]["prompt_tokens"] + extension["cost"]["completion_tokens"])
    if extension["escalated"] is not None:
        headers["escalated"] = extension["escalated"]["outcome"]
    return {f"{HEADER}{name}": value for name, value in headers.items()}


def _json(value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """In ASCII: lone surrogates, which some models write, cannot be expressed in UTF-8."""
    return Response(json.dumps(value), status, headers, media_type="application/json")


async def refused(_: Request, error: Exception) -> Response:
    """Handles ``Refusal``."""
    assert isinstance(error, Refusal)
    return _json(error.body, error.status, error.headers)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _events(completion: Completion, wants_usage: bool) -> AsyncIterator[str]:
    for piece in pieces_of(completion, wants_usage):
        yield f"data: {json.dumps(piece)}\n\n"
    yield "data: [DONE]\n\n"


def pieces_of(completion: Completion, wants_usage: bool) -> Iterator[dict[str, Any]]:
    """A completion as a server streams it: role, text, tool calls, finish reason, usage."""
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
