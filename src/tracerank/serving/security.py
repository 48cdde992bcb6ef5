"""Who may use a service, and what a request may take: allowed hosts, a bearer token, and a limit on bodies.

A web page can make its own domain resolve to this machine and then read replies, so Starlette's
``TrustedHostMiddleware`` checks the host. TLS, slow clients, connection counts and rate limits are left to a reverse
proxy.
"""

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN_PATHS = ("/health",)
"""Monitors need no token for these."""


def refusal_body(path: str, status: int, detail: str) -> dict[str, Any]:
    """What went wrong, under the addresses of OpenAI in the shape that its clients read."""
    if path.startswith(("/v1/select", "/v1/explain")) or not path.startswith("/v1/"):
        return {"detail": detail}
    kind = {429: "rate_limit_error", 504: "timeout"}.get(
        status, "invalid_request_error" if status < 500 else "server_error"
    )
    code = {401: "invalid_api_key", 404: "unknown_url"}.get(status)
    return {"error": {"message": detail, "type": kind, "param": None, "code": code}}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def allowed_hosts(bound: str, named: Sequence[str]) -> tuple[str, ...]:
    """Hosts that a service bound to that address answers to; empty: any."""
    own = (*LOOPBACK, bound) if is_loopback(bound) else ()
    return tuple(dict.fromkeys(map(_as_in_header, (*own, *named))))


def _as_in_header(host: str) -> str:
    """IPv6 addresses have brackets in a Host header."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


@dataclass(frozen=True, slots=True)
class KnownToken:
    """Refuses requests without the bearer token, before anything of the body is read."""

    app: "ASGIApp"
    token: str

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._is_right(scope):
            await self.app(scope, receive, send)
            return
        headers = {"WWW-Authenticate": "Bearer"}
        body = refusal_body(scope["path"], 401, "missing or invalid bearer token")
        await JSONResponse(body, 401, headers)(scope, receive, send)

    def _is_right(self, scope: "Scope") -> bool:
        given: bytes = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, shown = given.strip().partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(shown.strip(), self.token.encode())


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Refuses bodies over a limit, whatever length was announced."""

    app: "ASGIApp"
    limit: int
    """Bytes."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        seen = 0

        async def counted() -> "Message":
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:  # FastAPI makes the response
                raise HTTPException(413, f"the body is longer than {self.limit} bytes; send fewer or shorter rollouts")
            return message

        await self.app(scope, counted, send)
