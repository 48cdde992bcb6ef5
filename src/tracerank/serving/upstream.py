"""The server behind the chat endpoint: one request, sent as the client would have sent it; its refusals, passed on.

The key is the service's own where it has one, else the client's; neither is kept, logged or told. Asks once: the client
knows better when to try again. Chooses nothing.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx

from tracerank.endpoints.chat_http import ChatConfig, chat_config
from tracerank.endpoints.client import CutReply, read_json, server_words, without_secret
from tracerank.endpoints.spelling import DEFAULT_MODEL

CONNECT_SECONDS = 10.0
MOST_CONNECTIONS = 256
_FOR_OTHERS = (408, 409, 425, 429)
"""Refusals that say nothing about the request itself: another may be answered."""
_PASSED_UP = ("authorization", "api-key", "openai-organization", "openai-project", "openai-beta")
_PASSED_DOWN = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id")
_LIMITS_PREFIX = "x-ratelimit-"


class Refusal(Exception):
    """What the client is told in the place of a completion, in the shape that OpenAI's clients read."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "upstream_error",
        *,
        param: str | None = None,
        code: str | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body or {"error": {"message": message, "type": kind, "param": param, "code": code}}
        self.headers = dict(headers or {})
        self.ends_all = 400 <= status < 500 and status not in _FOR_OTHERS
        """No other sample of the same request would fare better."""


class Upstream:
    """A server of chat completions; closed at the end of the service."""

    def __init__(self, address: str) -> None:
        """``URL#MODEL``; without a model, that of each request is passed on."""
        self.config: ChatConfig = chat_config(address)
        self.model = None if self.config.model == DEFAULT_MODEL else self.config.model
        self.config.read_key()  # a key that cannot be sent is told now, not to the first client
        self._http: httpx.AsyncClient | None = None

    async def complete(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """One completion with a choice; raises ``Refusal``."""
        value = await self._value("POST", self.config.endpoint, headers, json.dumps(body).encode())
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
            raise Refusal(502, "the upstream server answered without a list 'choices' of messages")
        return value

    async def models(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """What may be asked for: the one model that was named, else what the server lists."""
        if self.model is None:
            return await self._value("GET", f"{self.config.root}/models", headers)
        named = {"id": self.model, "object": "model", "created": 0, "owned_by": "tracerank"}
        return {"object": "list", "data": [named]}

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()

    async def _value(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> dict[str, Any]:
        own = self.config.read_key()
        sent = {name: headers[name] for name in _PASSED_UP if name in headers}
        sent |= {"accept-encoding": "identity"} | ({"content-type": "application/json"} if content else {})
        if own is not None:
            sent["authorization"] = f"Bearer {own}"
        try:
            reply, received = await self._received(method, url, sent, content)
        except httpx.ConnectError:
            unreached = Refusal(502, "the upstream server cannot be reached")
            unreached.ends_all = True
            raise unreached from None
        except httpx.TimeoutException:
            raise Refusal(504, "the upstream server took too long", "timeout") from None
        except httpx.HTTPError as error:
            raise Refusal(502, f"the upstream server broke off: {type(error).__name__}") from None
        if reply.status_code != 200:
            raise _refusal(reply, received, own)
        try:
            value = await asyncio.to_thread(read_json, received)
        except (CutReply, ValueError):
            raise Refusal(502, "the upstream server answered something that is not JSON") from None
        if not isinstance(value, dict) or value.get("error"):
            raise Refusal(502, f"the upstream server answered with an error: {server_words(received, own)}")
        found: dict[str, Any] = without_secret(value, own)
        return found

    async def _received(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> tuple[httpx.Response, bytes]:
        """The reply and its body, as far as it may be long."""
        request = self._client().build_request(method, url, headers=dict(headers), content=content)
        reply = await self._client().send(request, stream=True)
        received = bytearray()
        try:
            async for chunk in reply.aiter_raw():
                received += chunk
                if len(received) > self.config.most_bytes:
                    raise Refusal(502, f"the upstream server's answer is longer than {self.config.most_bytes:,} bytes")
        finally:
            await reply.aclose()
        return reply, bytes(received)

    def _client(self) -> httpx.AsyncClient:
        """Made where it is used: it belongs to the event loop."""
        if self._http is None:
            limits = httpx.Limits(max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS)
            # How long a completion may take is said by whoever waits for it.
            self._http = httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(None, connect=CONNECT_SECONDS))
        return self._http


def _refusal(reply: httpx.Response, received: bytes, own: str | None) -> Refusal:
    """A bad answer as the client gets it: the server's own words, but of our key nothing."""
    status, words = reply.status_code, server_words(received, own)
    if own is not None and status in (401, 403):
        refused = Refusal(502, "the upstream server refuses the key of this service")
        refused.ends_all = True
        return refused
    try:
        body = read_json(received)
    except (CutReply, ValueError):
        body = None
    is_told = isinstance(body, dict) and isinstance(body.get("error"), dict)
    headers = {name: value for name, value in reply.headers.items() if _is_passed_down(name)}
    status = status if status >= 400 else 502  # a redirection is none for the client
    return Refusal(
        status,
        f"the upstream server answered HTTP {reply.status_code}: {words or reply.reason_phrase}",
        body=without_secret(body, own) if is_told else None,
        headers=headers,
    )


def _is_passed_down(name: str) -> bool:
    return name in _PASSED_DOWN or name.startswith(_LIMITS_PREFIX)
