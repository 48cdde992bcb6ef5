"""What stands before the service: known hosts, a limit on bodies, counted as they arrive, and an optional token."""

import base64
import hmac
import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def known_hosts(bound: str, named: Sequence[str]) -> frozenset[str] | None:
    """The names that a service bound there may be asked by; None: any."""
    if is_loopback(bound):
        return frozenset(map(_bare_host, (*LOOPBACK, bound, *named)))
    return frozenset(map(_bare_host, named)) or None


@dataclass(frozen=True, slots=True)
class KnownHost:
    """Refuses requests meant for another host.

    A page in the user's browser may let its own name point at this machine and then read our replies as its own; the
    name gives it away.
    """

    app: "ASGIApp"
    hosts: frozenset[str]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if asked and all(_bare_host(host) in self.hosts for host in asked):
            await self.app(scope, receive, send)
            return
        await _reply(
            send, 421, "this service does not go by the host that was asked for; see tracerank serve --allow-host"
        )


def _bare_host(host: str) -> str:
    """A host as a header names it, without port, brackets and final dot, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() and ":" not in name else host).rstrip(".").lower()


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Refuses bodies that are too long, whatever length was announced."""

    app: "ASGIApp"
    limit: int
    """Bytes."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.limit:
            await _reply(send, 413, self._reason)
            return
        seen = 0

        async def counted() -> "Message":
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise HTTPException(413, self._reason)  # what the application makes an answer of
            return message

        await self.app(scope, counted, send)

    @property
    def _reason(self) -> str:
        return f"the body is longer than {self.limit} bytes; send fewer or shorter rollouts"


@dataclass(frozen=True, slots=True)
class KnownToken:
    """Lets in who knows the token; monitors may always ask for ``/health``.

    Programs bear it; browsers, which cannot, ask for a name and a password, and the password is the token.
    """

    app: "ASGIApp"
    token: str

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http" or scope["path"] == "/health" or self._is_right(scope):
            await self.app(scope, receive, send)
            return
        ways = (b"www-authenticate", b'Bearer, Basic realm="tracerank", charset="UTF-8"')
        await _reply(send, 401, "this service wants a bearer token", ways)

    def _is_right(self, scope: "Scope") -> bool:
        given: bytes = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, shown = given.strip().partition(b" ")
        if scheme.lower() == b"basic":
            try:
                shown = base64.b64decode(shown, validate=True).partition(b":")[2]
            except ValueError:
                return False
        elif scheme.lower() != b"bearer":
            return False
        return hmac.compare_digest(shown.strip(), self.token.encode())


async def _reply(send: "Send", status: int, detail: str, *headers: tuple[bytes, bytes]) -> None:
    body = json.dumps({"detail": detail}).encode()
    told = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
