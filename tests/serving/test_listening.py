"""Clients that send too much before their request, too slowly, read nothing, or leave one half open."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("httptools")

from tracerank.serving.limits import DEFAULT_LIMITS, ServiceLimits
from tracerank.serving.listening import LimitedProtocol, server_of

LIMITS = replace(
    DEFAULT_LIMITS, head_bytes=4096, head_seconds=0.4, arrival_seconds=0.8, reading_seconds=0.5, idle_seconds=1
)
PLENTY = 30 * 2**20
"""Bytes that fit into no socket's buffers."""


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with how much it was sent, later or at length if asked to."""
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length, more = length + len(message["body"]), message["more_body"]
    if scope["path"] == "/busy":
        time.sleep(0.5)
    if scope["path"] == "/hard":
        time.sleep(0.1)
    if scope["path"] == "/late":
        await asyncio.sleep(0.3)
    body = b"x" * PLENTY if scope["path"] == "/long" else b"%d bytes" % length
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def listening(limits: ServiceLimits = LIMITS) -> Iterator[tuple[int, Callable[[], None]]]:
    """The port, and what tells the server to end."""
    server = server_of(app, limits, lifespan="off", log_level="critical")

    def end() -> None:
        server.should_exit = True

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield bound.getsockname()[1], end
        end()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with listening() as (number, _):
        yield number


def talked(port: int, *parts: bytes, pause: float = 0.0, closes: bool = False) -> bytes:
    """All that comes back to who sends these parts, until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        try:
            for part in parts:
                line.sendall(part)
                time.sleep(pause)
            if closes:
                line.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was cut off, which is what is looked for
        heard = b""
        try:
            while more := line.recv(65536):
                heard += more
        except ConnectionError:
            pass
        return heard


def status(heard: bytes) -> int:
    return int(heard.split(b" ", 2)[1]) if heard else 0


LAST = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"


def test_an_ordinary_request_is_answered(port: int) -> None:
    assert talked(port, LAST + b"\r\n").endswith(b"0 bytes")
    chunk = b"400\r\n" + b"x" * 1024 + b"\r\n"
    head = LAST.replace(b"GET", b"POST") + b"transfer-encoding: chunked\r\n\r\n"
    assert talked(port, head, *[chunk] * 30, b"0\r\n\r\n").endswith(b"30720 bytes")


@pytest.mark.parametrize(
    "endless",
    [
        (b"GET / HTTP/1.1\r\nx: ", *[b"y" * 1000] * 100),
        (b"GET /", *[b"y" * 1000] * 100),
        (b"GET / HTTP/1.1\r\n", *[b"a: b\r\n" * 200] * 30),
        (b"\r\n" * 5000,),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;x=", *[b"y" * 1000] * 100),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ", *[b"y" * 1000] * 100),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", *[b"a: b\r\n" * 200] * 30),
    ],
    ids=["header", "address", "headers", "lines", "chunk extension", "trailer", "trailers"],
)
def test_what_never_ends_before_or_around_a_body_is_cut_off(port: int, endless: tuple[bytes, ...]) -> None:
    assert status(talked(port, *endless, pause=0.001)) in (431, 0)  # 0: the reply was lost in the reset


def test_a_long_head_that_comes_at_once_is_refused(port: int) -> None:
    heard = talked(port, LAST + b"x: " + b"y" * 5000 + b"\r\n\r\n")
    assert status(heard) == 431
    assert b"the head of the request is longer than 4096 bytes" in heard


@pytest.mark.parametrize(
    ("slow", "expected"),
    [
        ((), 0),
        ((b"GET / HTTP/1.1\r\n",), 408),
        ((b"GET / HTTP/1.1\r\n", *[b"a: b\r\n"] * 20), 408),
        ((b"POST / HTTP/1.1\r\ncontent-length: 100\r\n\r\n", *[b"x"] * 20), 408),
    ],
    ids=["silent", "no end of the head", "a header now and then", "a byte now and then"],
)
def test_who_is_slow_is_not_waited_for(port: int, slow: tuple[bytes, ...], expected: int) -> None:
    assert status(talked(port, *slow, pause=0.1)) == expected


def test_a_connection_without_further_requests_is_closed(port: int) -> None:
    assert status(talked(port, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")) == 200


def test_several_requests_at_once_are_answered_in_order(port: int) -> None:
    asked = b"POST /late HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s"
    heard = talked(port, *(asked % (size, b"x" * size) for size in (1, 2, 3000)), LAST + b"\r\n")
    assert [line for line in heard.replace(b"bytes", b"bytes\n").split(b"\n") if line.endswith(b"bytes")] == [
        b"1 bytes",
        b"2 bytes",
        b"3000 bytes",
        b"0 bytes",
    ]


@pytest.mark.parametrize("path", [b"/", b"/late"])
def test_a_client_that_closes_its_half_still_gets_its_answer(port: int, path: bytes) -> None:
    heard = talked(port, b"POST " + path + b" HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc", closes=True)
    assert heard.endswith(b"3 bytes")
    assert talked(port, b"POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\na", closes=True) == b""


def test_who_does_not_read_its_reply_is_cut_off(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    aborted = threading.Event()
    late = LimitedProtocol._reading_is_late

    def watched(self: LimitedProtocol) -> None:
        late(self)
        aborted.set()

    monkeypatch.setattr(LimitedProtocol, "_reading_is_late", watched)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n")
        assert aborted.wait(10)
        heard = 0
        try:
            while more := line.recv(2**20):
                heard += len(more)
        except ConnectionError:
            pass
        assert heard < PLENTY


def test_who_reads_slowly_but_reads_gets_all(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(b"GET /long HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        heard = 0
        while more := line.recv(2**20):
            heard += len(more)
            time.sleep(0.01)
    assert heard > PLENTY


@pytest.mark.parametrize("asks_late", [False, True])
def test_whoever_is_connected_when_the_service_ends_gets_an_answer(asks_late: bool) -> None:
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    with listening(replace(LIMITS, head_seconds=5.0)) as (port, end):
        busy = socket.create_connection(("127.0.0.1", port), timeout=10)
        busy.sendall(request.replace(b"/ ", b"/busy "))
        time.sleep(0.1)  # from here on nobody is let in
        lines = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(20)]
        end()
        if asks_late:
            busy.recv(65536)
        for line in lines:
            line.sendall(request)
        heard = [line.recv(65536) for line in lines]
        for line in (busy, *lines):
            line.close()
    assert [status(one) for one in heard] == [200] * len(lines)


def test_all_who_are_connected_to_a_busy_service_that_ends_get_an_answer() -> None:
    """One is let in at a time, and each keeps the service busy for longer than it waits for the next."""
    with listening(replace(LIMITS, head_seconds=10.0)) as (port, end):
        lines = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(15)]
        for line in lines:
            line.sendall(b"GET /hard HTTP/1.1\r\nhost: x\r\n\r\n")
        end()
        heard = [line.recv(65536) for line in lines]
        for line in lines:
            line.close()
    assert [status(one) for one in heard] == [200] * len(lines)
