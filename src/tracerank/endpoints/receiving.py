"""A server's answer as it comes in: bounded in bytes, in silence and in time, whatever the server does.

A read that blocks is ended from outside, by a thread that watches the clock: a timeout of the HTTP library starts anew
with every byte, and a server that sends one now and then would never be late. What the bytes mean is not known here.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple

import httpx

MILLION = 1_000_000


class LateAnswer(Exception):
    """The server took longer than it may; the text says with what."""


class UnfitAnswer(Exception):
    """An answer that no second try would make smaller or plainer; the text says why."""


class Patience(NamedTuple):
    """How long something is waited for."""

    seconds: float
    otherwise: str
    """What is so where it has not come by then."""


class Incoming:
    """One answer whose bytes are taken as they come, until the block ends."""

    def __init__(self, reply: httpx.Response, most_bytes: int, began: float, whole: float, patience: Patience) -> None:
        """``began`` is when the request was sent, by the monotonic clock; ``whole`` the seconds that all may take, and
        ``patience`` what is expected of the first bytes."""
        self.reply = reply
        self.patience = patience
        self._most_bytes = most_bytes
        self._end = began + whole
        self._over_all = f"not finished within {whole:g} s"
        self._until, self._waiting_for = self._end, self._over_all
        self._late: str | None = None
        self._is_over = False
        self._changed = threading.Condition()
        self.expect(patience, since=began)
        self._watch = threading.Thread(target=self._watched, name="tracerank-watch", daemon=True)

    def __enter__(self) -> "Incoming":
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._watch.join()

    def expect(self, patience: Patience, since: float | None = None) -> None:
        """The next sign of life must come that soon, from now on or since then."""
        until = (time.monotonic() if since is None else since) + patience.seconds
        with self._changed:
            is_sooner = until < self._until
            self._until, self._waiting_for = min((until, patience.otherwise), (self._end, self._over_all))
            if is_sooner:
                self._changed.notify()

    def chunks(self) -> Iterator[bytes]:
        """The bytes as they come."""
        coding = self.reply.headers.get("content-encoding", "identity").lower()
        if coding != "identity":  # a few bytes could become gigabytes, and nobody asked for it
            raise UnfitAnswer(f"answered in {coding[:20]!r}, although uncompressed was asked for")
        size = 0
        try:
            for chunk in self.reply.iter_bytes():
                size += len(chunk)
                if size > self._most_bytes:
                    raise UnfitAnswer(f"answered with more than {self._most_bytes / MILLION:,.0f} MB")
                yield chunk
        except httpx.TimeoutException:
            raise LateAnswer(self._late or self._waiting_for) from None
        except httpx.RequestError:
            if self._late is None:
                raise
        if self._late is not None:  # an answer of unknown length seems to end when its connection is shut
            raise LateAnswer(self._late) from None

    def _watched(self) -> None:
        with self._changed:
            while not self._is_over:
                left = self._until - time.monotonic()
                if left > 0:
                    self._changed.wait(left)
                else:
                    self._late = self._waiting_for
                    _shut(self.reply)
                    return


def _shut(reply: httpx.Response) -> None:
    """Ends whatever read is blocked on the answer's connection."""
    stream = reply.extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        with suppress(OSError):  # it may be shut already
            # Not the method of an encrypted socket: it would take the encryption away under the one who reads.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
