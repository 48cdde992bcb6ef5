"""Connections, before any request is understood: how long their heads may be, how slow their ends, how they are ended.

Built on uvicorn and httptools, which the ``serve`` extra brings. httptools gathers a header until it is whole, and
uvicorn closes no connection that never ends a request; both would let one client stall the others.
"""

import asyncio
import json
import select
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tracerank.serving.limits import DEFAULT_LIMITS, ServiceLimits

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

FRAMING = 8
"""Bytes around a chunk of a body, most for each byte in it: who sends less at a time sends nothing of use."""
BACKLOG_SECONDS = 0.05
"""When the service ends, time to let in whoever was connected already."""
LONGEST_BACKLOG_SECONDS = 5.0
"""The same where they are many and the service is busy, so that nobody who keeps calling keeps it alive."""
FIRST_SECONDS = 1.0
"""And how long a connection that has asked nothing yet may still begin to."""

LEFT = "tracerank.left"
"""In the scope of a request: an event that is set when its client will send no more."""

HEAD_TOO_LONG = "the head of the request is longer than {} bytes"
TOO_SLOW = "the request did not arrive within {:g} s"


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's, with limits on what a connection may take."""

    limits: ClassVar[ServiceLimits] = DEFAULT_LIMITS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._arriving: asyncio.TimerHandle | None = None
        """Runs out when a request has not arrived in time."""
        self._unread: asyncio.TimerHandle | None = None
        """Runs out when a reply was not read in time."""
        self._left: asyncio.Event | None = None
        self._is_head = True
        self._messages = 0
        self._overhead = 0
        """Bytes of the request under way that are not its body."""
        self._body = 0
        self._is_refused = self._is_half_closed = self._is_ending = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_arrival(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        _stop(self._arriving)
        _stop(self._unread)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        messages, body = self._messages, self._body
        super().data_received(data)
        if self._messages != messages:
            return  # what of it belongs to the next request is counted with what follows
        self._overhead += len(data) - (self._body - body)
        if self._overhead > self.limits.head_bytes + FRAMING * self._body:
            self._refuse(431, HEAD_TOO_LONG.format(self.limits.head_bytes))

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that will send no more may still wait for its answer."""
        if self._left is not None:
            self._left.set()
        self._is_half_closed = self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)
        return self._is_half_closed

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_head = True
        self._await_arrival(self.limits.head_seconds)

    def on_headers_complete(self) -> None:
        if not self._is_head:
            return
        self._is_head = False
        self._await_arrival(self.limits.arrival_seconds)
        sound = self.app
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.limits.head_bytes:
            self.app = _head_too_long(self.limits.head_bytes)
        self._left = self.scope[LEFT] = asyncio.Event()  # type: ignore[literal-required]
        super().on_headers_complete()
        self.app = sound
        if self._is_ending:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        _stop(self._arriving)
        self._messages += 1
        self._overhead = self._body = 0
        self._is_head = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_reading()
        if self._is_half_closed and not self.pipeline:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        _stop(self._unread)

    def shutdown(self) -> None:
        """Who was connected and has asked nothing yet is given a moment, and an answer."""
        if self.cycle is not None or self.transport.is_closing():
            super().shutdown()
            return
        self._is_ending = True
        self.loop.call_later(FIRST_SECONDS, self._end_if_unasked)

    def _end_if_unasked(self) -> None:
        if self.cycle is None:
            self.transport.close()

    def _await_arrival(self, seconds: float) -> None:
        _stop(self._arriving)
        self._arriving = self.loop.call_later(seconds, self._arrival_is_late, seconds)

    def _arrival_is_late(self, seconds: float) -> None:
        if self.transport.is_closing():
            return
        if self.flow.read_paused or self.pipeline:
            self._await_arrival(seconds)  # it waits for us, not we for it
        elif self.cycle is None and not self._overhead and not self.headers:
            self.transport.close()  # it has never said a word
        else:
            self._refuse(408, TOO_SLOW.format(seconds))

    def _await_reading(self) -> None:
        _stop(self._unread)
        if self.transport.get_write_buffer_size():
            self._unread = self.loop.call_later(self.limits.reading_seconds, self._reading_is_late)

    def _reading_is_late(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _refuse(self, status: int, detail: str) -> None:
        """Say why, as far as nothing was said yet, and take nothing more."""
        self._is_refused = True
        if not self.transport.is_closing() and (self.cycle is None or not self.cycle.response_started):
            body = json.dumps({"detail": detail}).encode()
            head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
            self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()
        self._await_reading()


def _stop(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def _head_too_long(limit: int) -> "ASGIApp":
    """What answers in the service's place."""

    async def refuse(scope: "Scope", receive: "Receive", send: "Send") -> None:
        body = json.dumps({"detail": HEAD_TOO_LONG.format(limit)}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 431, "headers": [*headers, (b"connection", b"close")]})
        await send({"type": "http.response.body", "body": body})

    return refuse


def _now() -> float:
    return asyncio.get_running_loop().time()


class PatientServer(uvicorn.Server):
    """Lets in whoever was connected before it takes no more: they would be cut off without a word."""

    async def shutdown(self, sockets: "list[socket.socket] | None" = None) -> None:
        await asyncio.sleep(BACKLOG_SECONDS)
        until = _now() + LONGEST_BACKLOG_SECONDS
        while self._has_callers() and _now() < until:
            await asyncio.sleep(0)  # one is let in at a time, and what he asks may keep the loop busy
        await super().shutdown(sockets)

    def _has_callers(self) -> bool:
        """Whether somebody is connected who was not let in."""
        calling = select.poll()
        for server in self.servers:
            for one in server.sockets:
                calling.register(one.fileno(), select.POLLIN)
        return bool(calling.poll(0))


def server_of(app: Any, limits: ServiceLimits = DEFAULT_LIMITS, **options: Any) -> PatientServer:
    """The server of an application; further options are uvicorn's."""
    protocol = type("LimitedProtocol", (LimitedProtocol,), {"limits": limits})
    return PatientServer(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            access_log=False,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=limits.closing_seconds,
            **{"log_level": "warning", **options},
        )
    )


def listen(app: Any, host: str, port: int, limits: ServiceLimits = DEFAULT_LIMITS) -> None:
    """Answer requests until interrupted."""
    with suppress(KeyboardInterrupt):
        server_of(app, limits, host=host, port=port).run()
