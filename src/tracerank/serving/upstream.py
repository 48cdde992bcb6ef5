"""The chat server behind the proxy: one request, passed on as the client sent it, and its refusals, passed back.

The key is the service's own where it has one, else the client's; neither is kept, logged or repeated. Nothing is
retried here: the client knows better when to try again.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx

from tracerank.endpoints.chat_http import chat_config
from tracerank.endpoints.client import server_words, without_secret
from tracerank.endpoints.server import DEFAULT_MODEL
from tracerank.serving.shapes import CHAT, message_in

CONNECT_SECONDS = 10.0
MAX_CONNECTIONS = 256
_CURABLE = (408, 409, 425)
"""Refusals after which another sample may be answered; after a 429 the client should wait."""
_PASSED_UP = ("authorization", "api-key", "openai-organization", "openai-project", "openai-beta")
_PASSED_DOWN = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "x-ratelimit-")


class Refusal(Exception):
    """Returned instead of a completion, in the shape that OpenAI's clients read."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "upstream_error",
        *,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        ends_all: bool | None = None,
        **more: str,
    ) -> None:
        """``ends_all``: no other sample of the request can do better; None: as the status suggests."""
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})
        self.body = body or {"error": {"message": message, "type": kind, "param": None, "code": None, **more}}
        self.ends_all = (400 <= status < 500 and status not in _CURABLE) if ends_all is None else ends_all


class Upstream:
    """An OpenAI-compatible server."""

    def __init__(self, address: str) -> None:
        """``URL#MODEL``; without a model, that of each request is passed on."""
        self.config = chat_config(address)
        self.model = None if self.config.model == DEFAULT_MODEL else self.config.model
        self.config.read_key()  # raises for a key that cannot be sent
        limits = httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS)
        # How long a completion may take is limited by the caller.
        self._http = httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(None, connect=CONNECT_SECONDS))

    def model_for(self, named: str | None) -> str:
        """The model to name for a request that names this one; raises ``Refusal``."""
        if self.model is not None and named not in (None, self.model):
            message = f"the model {named!r} does not exist here; there is {self.model!r}"
            raise Refusal(404, message, "invalid_request_error", param="model", code="model_not_found")
        return self.model or named or self.config.model

    async def complete(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        """One completion or response with a message; raises ``Refusal``."""
        url = self.config.endpoint if path == CHAT else f"{self.config.root}/{path}"
        value = await self._value("POST", url, headers, json.dumps(body).encode())
        if ("output" in value) is (path == CHAT) or message_in(value) is None:
            wanted = "a list 'choices' of a message" if path == CHAT else "a list 'output'"
            raise Refusal(502, f"the upstream server answered without {wanted}")
        return value

    async def models(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """The one model that was named, else what the server lists."""
        if self.model is None:
            return await self._value("GET", f"{self.config.root}/models", headers)
        named = {"id": self.model, "object": "model", "created": 0, "owned_by": "tracerank"}
        return {"object": "list", "data": [named]}

    async def close(self) -> None:
        await self._http.aclose()

    async def _value(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> dict[str, Any]:
        own = self.config.read_key()
        sent = {name: headers[name] for name in _PASSED_UP if name in headers}
        sent |= {"accept-encoding": "identity", "content-type": "application/json"}
        if own is not None:
            sent["authorization"] = f"Bearer {own}"
        received = bytearray()
        try:
            async with self._http.stream(method, url, headers=sent, content=content) as reply:
                async for chunk in reply.aiter_raw():
                    received += chunk
                    if len(received) > self.config.most_bytes:
                        most = f"{self.config.most_bytes:,} bytes"
                        raise Refusal(502, f"the upstream server's answer is longer than {most}")
        except httpx.ConnectError:
            raise Refusal(502, "the upstream server cannot be reached", ends_all=True) from None
        except httpx.TimeoutException:
            raise Refusal(504, "the upstream server took too long", "timeout") from None
        except httpx.HTTPError as error:
            raise Refusal(502, f"the upstream server broke off: {type(error).__name__}") from None
        value = await asyncio.to_thread(_json_object, bytes(received))
        if reply.status_code != 200:
            raise _refusal(reply, value, server_words(bytes(received), own), own)
        if value is None:
            raise Refusal(502, "the upstream server answered with something that is no JSON object")
        if value.get("error"):
            raise Refusal(502, f"the upstream server answered with an error: {server_words(bytes(received), own)}")
        found: dict[str, Any] = without_secret(value, own)
        return found


def _json_object(received: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(received)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refusal(reply: httpx.Response, body: dict[str, Any] | None, words: str, own: str | None) -> Refusal:
    """A bad answer as the client gets it: the server's own words, but nothing of our key."""
    status = reply.status_code
    if own is not None and status in (401, 403):
        return Refusal(502, "the upstream server refuses the key of this service", ends_all=True)
    return Refusal(
        status if status >= 400 else 502,  # a redirection is not meant for the client
        f"the upstream server answered HTTP {status}: {words or reply.reason_phrase}",
        body=without_secret(body, own) if body is not None and isinstance(body.get("error"), dict) else None,
        headers=without_secret(
            {name: reply.headers[name] for name in reply.headers if name.startswith(_PASSED_DOWN)}, own
        ),
    )
