"""What decides pools for many clients: a method here or in a process of its own, and the queue in front of it.

A decider is asked for a batch by one thread at a time and knows neither queues nor HTTP; ``Deciding`` reads requests,
has them decided together and tells what goes wrong as an HTTP status. Routes and replies are not here.
"""

import asyncio
import logging
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from starlette.exceptions import HTTPException

from tracerank.errors import ChatError, EmbeddingError, TraceRankError, UndecidedPool
from tracerank.pools.pool import Pool
from tracerank.serving.limits import ServiceLimits
from tracerank.serving.micro_batches import IsClosed, MicroBatches, QueueIsFull
from tracerank.serving.service_metrics import ServiceMetrics
from tracerank.serving.wire import SelectRequest, UnreadableRequest, pool_of
from tracerank.votes.base import Decision, Method, decide_stream
from tracerank.votes.explanation import Explanation, explain_stream

OUTAGES = (EmbeddingError, ChatError)
"""What the method itself depends on has failed; the client did nothing wrong and may come back."""

QUICK_BYTES = 2**16
"""Up to this size a request is read in a millisecond or two: less than it takes to hand it to another thread and back
while the model computes."""

LONG_READERS = 2
"""Threads that read longer ones."""

STARTING_SECONDS = 60.0
"""How long a new process may take until it shows the first sign of life."""

ENDING_SECONDS = 5.0
"""How long a process, or a batch for whose clients there was no time left, may take to end."""

BEAT_SECONDS = 0.5
"""How often a process shows that it runs."""
HUNG_SECONDS = 20.0
"""How long none may be shown: a stopped process shows none, nor does one whose every thread waits for another."""

_AGAIN = {"Retry-After": "1"}
_log = logging.getLogger(__name__)

Found = Decision | Explanation
R = TypeVar("R", Decision, Explanation)
MakeMethod = Callable[[], Method]
"""Called in the process that is to decide, so it must be a function that can be sent there."""


@dataclass(frozen=True, slots=True)
class Item:
    """A pool and whether only the decision or also its reasons are wanted."""

    pool: Pool
    wants_reasons: bool


class Decider(Protocol):
    """Decides batches until it is closed."""

    @property
    def name(self) -> str:
        """That of its method."""
        ...

    @property
    def is_apart(self) -> bool:
        """Whether others can use this interpreter while it decides."""
        ...

    def decide(self, items: Sequence[Item]) -> list[Found]: ...

    def close(self, seconds: float) -> None:
        """End, within so many seconds also what is being decided."""
        ...


class ProcessEnded(TraceRankError):
    """The process that decides has ended before it answered."""


@dataclass(frozen=True, slots=True)
class OwnMethod:
    """Decides where it is called."""

    method: Method

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def is_apart(self) -> bool:
        return False

    def decide(self, items: Sequence[Item]) -> list[Found]:
        plain = decide_stream(self.method, (one.pool for one in items if not one.wants_reasons))
        reasoned = explain_stream(self.method, (one.pool for one in items if one.wants_reasons))
        return [next(reasoned)[1] if one.wants_reasons else next(plain)[1] for one in items]

    def close(self, seconds: float = 0.0) -> None:
        """Nothing to end."""


class MethodProcess:
    """Decides in a process of its own, which is started anew when it has died or hangs."""

    def __init__(
        self,
        make: MakeMethod,
        threads: int | None = None,
        seconds: float | None = None,
        hung_seconds: float = HUNG_SECONDS,
    ) -> None:
        """``threads`` is how many the numeric libraries may use there; None: as many as they like.

        ``seconds`` is how long it may take to decide, after which nobody waits for it; None: for ever.
        """
        self._make = make
        self._threads = threads
        self._seconds = seconds
        self._hung_seconds = hung_seconds
        self._until: float | None = None
        """Until when it is expected to answer; None: nobody waits for it."""
        self._is_hung = self._is_closed = False
        self._process: BaseProcess | None = None
        self._line: Connection | None = None
        self._name: str | None = None
        self._start()

    @property
    def name(self) -> str:
        return self.await_ready()

    @property
    def is_apart(self) -> bool:
        return True

    def await_ready(self) -> str:
        """Wait until the method is there; its name, or the error that prevents it."""
        if self._is_closed:
            raise ProcessEnded("the process that decides was ended with the service")
        if self._line is None:
            self._start()
        if self._name is None:
            with self._expected_within(None):
                self._name = str(self._heard())
        return self._name

    def decide(self, items: Sequence[Item]) -> list[Found]:
        self.await_ready()
        assert self._line is not None
        with self._expected_within(self._seconds):
            try:
                self._line.send(items)
            except OSError:
                raise self._ended() from None
            found = self._heard()
        assert isinstance(found, list)
        return found

    def is_running(self) -> bool:
        return self._process is not None and self._process.is_alive()

    def close(self, seconds: float = ENDING_SECONDS) -> None:
        self._is_closed = True  # before it ends: who waits for it in another thread would start the next one
        self._end(seconds)

    def _start(self) -> None:
        """Not forked: threads and locks of this process would be torn in the copy."""
        context = get_context("spawn")
        self._line, theirs = context.Pipe()
        self._is_hung = False
        # When it last showed that it runs, by the clock that all processes share.
        beat = context.RawValue("d", time.monotonic() + STARTING_SECONDS)
        self._process = context.Process(
            target=_decide_until_hung_up,
            args=(theirs, self._make, self._threads, beat),
            name="deciding",
            daemon=True,
        )
        self._process.start()
        theirs.close()  # else its end would go unnoticed
        Thread(target=self._watch, args=(self._process, beat), name="watching", daemon=True).start()

    def _heard(self) -> object:
        assert self._line is not None
        try:
            heard = self._line.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if isinstance(heard, Exception):
            raise heard
        return heard

    @contextmanager
    def _expected_within(self, seconds: float | None) -> Iterator[None]:
        """While we wait for it, it must show that it runs."""
        self._until = math.inf if seconds is None else time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = None

    def _watch(self, process: BaseProcess, beat: Any) -> None:
        """Kill it when it hangs: whoever waits for it, to take or to give, then sees that it has ended."""
        while not wait([process.sentinel], BEAT_SECONDS):
            now, until = time.monotonic(), self._until
            if until is not None and (now > until or now - beat.value > self._hung_seconds):
                self._is_hung = True
                process.kill()  # also what is stopped
                return

    def _ended(self) -> ProcessEnded:
        self._end()
        return ProcessEnded(f"the process that decides {'hung and was' if self._is_hung else 'has'} ended")

    def _end(self, seconds: float = ENDING_SECONDS) -> None:
        """Hang up, upon which it ends by itself, or is made to."""
        line, self._line = self._line, None
        self._name = None
        if line is not None:
            line.close()
        process, self._process = self._process, None
        if process is not None:
            process.join(seconds)
            if process.is_alive():
                process.kill()
                process.join()


def _decide_until_hung_up(line: Connection, make: MakeMethod, threads: int | None, beat: Any) -> None:
    Thread(target=_show_life, args=(beat,), name="beating", daemon=True).start()
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
            found: object = own.decide(items)
        except Exception as error:
            found = _portable(error)
        try:
            line.send(found)
        except OSError:
            return  # nobody listens any more


def _show_life(beat: Any) -> None:
    while True:
        beat.value = time.monotonic()
        time.sleep(BEAT_SECONDS)


def _portable(error: Exception) -> Exception:
    """Errors that the user is told go as they are, if they are of one line; others by their name and text."""
    if isinstance(error, UndecidedPool) or (isinstance(error, TraceRankError) and error.args == (str(error),)):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client sent, as far as it has been understood."""

    request: SelectRequest
    size: int | None
    """Bytes; None: unknown."""
    since: float
    """When all of it had arrived, by the clock of the event loop."""


@dataclass(frozen=True, slots=True)
class Decided(Generic[R]):
    """The pool in a request, what could not be read as it stood, and what the method says."""

    pool: Pool
    problems: list[str]
    found: R


class Deciding:
    """Reads, and has decided or explained by whichever decider is free."""

    def __init__(self, deciders: Sequence[Decider], limits: ServiceLimits) -> None:
        self._deciders = deciders
        self._seconds = limits.seconds
        self._read_now = 0
        self._long_readers = ThreadPoolExecutor(LONG_READERS, "reading")
        self._loop: asyncio.AbstractEventLoop | None = None
        self.batches: MicroBatches[Item, Found] = MicroBatches(
            [decider.decide for decider in deciders],
            limits,
            lambda count: self.metrics.batches.observe(count),
            (*OUTAGES, ProcessEnded),
            lambda: self._read_now > 0,
            self._run_in_loop,
            leaves_part=all(decider.is_apart for decider in deciders),
        )
        self.metrics = ServiceMetrics(self.batches.waiting)

    async def decide(self, asked: Asked) -> Decided[Decision]:
        pool, problems, decision = await self._found(asked, wants_reasons=False)
        assert isinstance(decision, Decision)
        self.metrics.dropped.inc(len(decision.dropped))
        return Decided(pool, problems, decision)

    async def explain(self, asked: Asked) -> Decided[Explanation]:
        pool, problems, explanation = await self._found(asked, wants_reasons=True)
        assert isinstance(explanation, Explanation)
        return Decided(pool, problems, explanation)

    def close(self) -> None:
        """Take nothing more and finish what was accepted, unless it takes longer than anybody waits for it."""
        if not (is_done := self.batches.close(ENDING_SECONDS)):
            _log.warning("what was being decided is left undone: it would have taken too long")
        for decider in self._deciders:
            decider.close(ENDING_SECONDS if is_done else 0.0)
        self._long_readers.shutdown(wait=False, cancel_futures=True)

    async def _found(self, asked: Asked, wants_reasons: bool) -> tuple[Pool, list[str], Found]:
        with self._told():
            async with asyncio.timeout_at(asked.since + self._seconds):
                pool, problems = await self._read(asked)
                found = await self._submitted(Item(pool, wants_reasons))
                decision = found if isinstance(found, Decision) else found.decision
                if decision.problem is not None:
                    raise ChatError(decision.problem)
                return pool, problems, found

    async def _read(self, asked: Asked) -> tuple[Pool, list[str]]:
        if self.batches.waiting() + self._read_now >= self.batches.limits.waiting:
            raise QueueIsFull  # before the work of reading is done in vain
        self._read_now += 1
        try:
            if asked.size is not None and asked.size <= QUICK_BYTES:
                return pool_of(asked.request)
            # Parsing a long transcript takes a while, and other clients must be answered meanwhile.
            return await asyncio.get_running_loop().run_in_executor(self._long_readers, pool_of, asked.request)
        finally:
            self._read_now -= 1

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong, as a status and a line."""
        try:
            yield
        except UnreadableRequest as error:
            raise HTTPException(422, str(error)) from None
        except QueueIsFull:
            raise HTTPException(429, "too many requests wait; try again", _AGAIN) from None
        except (IsClosed, asyncio.CancelledError):  # the second: it ends, and there is no time left for this one
            raise HTTPException(503, "the service is closing") from None
        except ProcessEnded as error:
            _log.error("%s", error)
            raise HTTPException(503, "deciding broke off; try again", _AGAIN) from None
        except TimeoutError:
            raise HTTPException(504, f"not decided within {self._seconds:g} s") from None
        except OUTAGES as error:
            _log.warning("%s: %s", type(error).__name__, error)  # it may name addresses, which are not the client's
            raise HTTPException(503, "the encoder or chat server behind this service failed", _AGAIN) from None
        except UndecidedPool as error:
            _log.error("%s", error)
            raise HTTPException(500, str(error)) from None
        except TraceRankError as error:
            raise HTTPException(422, str(error)) from None

    async def _submitted(self, item: Item) -> Found:
        self._loop = asyncio.get_running_loop()
        is_done: asyncio.Future[None] = self._loop.create_future()
        decided = self.batches.submit(item)
        decided.add_done_callback(partial(_wake, is_done))  # in the loop, see below
        try:
            await is_done
            return decided.result()
        finally:
            decided.cancel()  # who waits no longer costs nothing, unless it is decided right now

    def _run_in_loop(self, hand_out: Callable[[], None]) -> None:
        """Results of a batch wake the event loop once, not one by one, for which both threads would take turns."""
        assert self._loop is not None
        try:
            self._loop.call_soon_threadsafe(hand_out)
        except RuntimeError:  # the loop is closed: nobody waits any more
            hand_out()


def _wake(is_done: "asyncio.Future[None]", _: object) -> None:
    if not is_done.done():  # else nobody waits any more
        is_done.set_result(None)
