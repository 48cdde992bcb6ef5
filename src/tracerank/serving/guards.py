"""What stands before the service: a limit on bodies, counted as they arrive, and an optional token."""

import base64
import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
