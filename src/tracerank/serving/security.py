"""Middleware in front of the service: allowed hosts, a bearer token, and a limit on bodies.

TLS, slow clients, connection counts and rate limits are a reverse proxy's matter.
"""

import hmac
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OPEN_PATHS = ("/health",)
"""Monitors need no token for these."""


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
class KnownHost:
    """Refuses requests for other hosts, as ``TrustedHostMiddleware`` finds them, with an error that says what to do.

    A web page may point a name of its own at this machine and would then read our replies (DNS rebinding).
    """

    app: "ASGIApp"
    hosts: Sequence[str]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        known: list[Scope] = []

        async def note(scope: "Scope", *_: object) -> None:
            known.append(scope)

        async def discard(_: "Message") -> None: ...

        await TrustedHostMiddleware(note, self.hosts, www_redirect=False)(scope, receive, discard)
        detail = "this service does not answer to the requested host; see tracerank serve --allow-host"
        await (self.app if known else JSONResponse({"detail": detail}, 421))(scope, receive, send)


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
        await JSONResponse({"detail": "missing or invalid bearer token"}, 401, headers)(scope, receive, send)

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
        detail = f"the body is longer than {self.limit} bytes; send fewer or shorter rollouts"

        async def counted() -> "Message":
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise HTTPException(413, detail)  # FastAPI makes the response
            return message

        announced = dict(scope.get("headers", ())).get(b"content-length", b"")
        if announced.isdigit() and int(announced) > self.limit:
            await JSONResponse({"detail": detail}, 413)(scope, receive, send)
        else:
            await self.app(scope, counted, send)
