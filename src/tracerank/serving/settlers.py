"""What settles a batch of pools: a method in this process, or one in a process of its own that leaves this one free.

Knows neither queues nor HTTP. A settler is asked by one thread at a time.
"""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Protocol

from tracerank.errors import TraceRankError
from tracerank.methods.base import Decision, Method, decide_stream
from tracerank.methods.explanation import Explanation, explain_stream
from tracerank.pools.pool import Pool

ENDING_SECONDS = 5.0
"""How long a process that is no longer needed may take to end."""

Found = Decision | Explanation
MakeMethod = Callable[[], Method]
"""Called in the process that is to settle, so it must be a function that can be sent there."""


@dataclass(frozen=True, slots=True)
class Item:
    """A pool and whether only the decision or also its reasons are wanted."""

    pool: Pool
    wants_reasons: bool


class Settler(Protocol):
    """Settles batches until it is closed."""

    @property
    def name(self) -> str:
        """That of its method."""
        ...

    def settle(self, items: Sequence[Item]) -> list[Found]: ...

    def close(self) -> None: ...


class ProcessEnded(TraceRankError):
    """The process that settles has ended before it answered."""


@dataclass(frozen=True, slots=True)
class OwnMethod:
    """Settles where it is called."""

    method: Method

    @property
    def name(self) -> str:
        return self.method.name

    def settle(self, items: Sequence[Item]) -> list[Found]:
        plain = decide_stream(self.method, (one.pool for one in items if not one.wants_reasons))
        reasoned = explain_stream(self.method, (one.pool for one in items if one.wants_reasons))
        return [next(reasoned)[1] if one.wants_reasons else next(plain)[1] for one in items]

    def close(self) -> None:
        """Nothing to end."""


class MethodProcess:
    """Settles in a process of its own, which is started anew when it has died."""

    def __init__(self, make: MakeMethod, threads: int | None = None) -> None:
        """``threads`` is how many the numeric libraries may use there; None: as many as they like."""
        self._make = make
        self._threads = threads
        self._process: BaseProcess | None = None
        self._line: Connection | None = None
        self._name: str | None = None
        self._start()

    @property
    def name(self) -> str:
        return self.await_ready()

    def await_ready(self) -> str:
        """Wait until the method is there; its name, or the error that prevents it."""
        if self._line is None:
            self._start()
        if self._name is None:
            self._name = str(self._heard())
        return self._name

    def settle(self, items: Sequence[Item]) -> list[Found]:
        self.await_ready()
        assert self._line is not None
        try:
            self._line.send(items)
        except OSError:
            self._end()
            raise ProcessEnded("the process that settles has ended") from None
        found = self._heard()
        assert isinstance(found, list)
        return found

    def is_running(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def close(self) -> None:
        self._end()

    def _start(self) -> None:
        """Not forked: threads and locks of this process would be torn in the copy."""
        context = get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(
            target=_settle_until_hung_up, args=(theirs, self._make, self._threads), name="settling", daemon=True
        )
        self._process.start()
        theirs.close()  # else its end would go unnoticed

    def _heard(self) -> object:
        assert self._line is not None
        try:
            heard = self._line.recv()
        except (EOFError, OSError):
            self._end()
            raise ProcessEnded("the process that settles has ended") from None
        if isinstance(heard, Exception):
            raise heard
        return heard

    def _end(self) -> None:
        """Hang up, upon which it ends by itself, or is made to."""
        if self._line is not None:
            self._line.close()
            self._line = self._name = None
        if self._process is not None:
            self._process.join(ENDING_SECONDS)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process = None


def _settle_until_hung_up(line: Connection, make: MakeMethod, threads: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches us, too, but what was accepted is to be finished
    if threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # before anything that reads it is imported
    try:
        own = OwnMethod(make())
    except Exception as error:
        line.send(_portable(error))
        return
    line.send(own.name)
    while True:
        try:
            items = line.recv()
        except (EOFError, OSError):
            return
        try:
            found: object = own.settle(items)
        except Exception as error:
            found = _portable(error)
        try:
            line.send(found)
        except OSError:
            return  # nobody listens any more


def _portable(error: Exception) -> Exception:
    """Errors that the user is told go as they are, if they are of one line; others by their name and text."""
    if isinstance(error, TraceRankError) and error.args == (str(error),):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
