"""Settlers behind a queue: pools of many requests settled together, and what goes wrong as an HTTP status."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from starlette.exceptions import HTTPException

from tracerank.errors import ChatError, EmbeddingError, TraceRankError
from tracerank.methods.base import Decision
from tracerank.methods.explanation import Explanation
from tracerank.pools.pool import Pool
from tracerank.serving.micro_batches import BatchLimits, IsClosed, MicroBatches, QueueIsFull
from tracerank.serving.service_metrics import ServiceMetrics
from tracerank.serving.settlers import Item, ProcessEnded, Settler
from tracerank.serving.wire import SelectRequest, UnreadableRequest, pool_of

OUTAGES = (EmbeddingError, ChatError)
"""What the method itself depends on has failed; the client did nothing wrong and may come back."""

QUICK_BYTES = 2**16
"""Up to this size a request is read in a millisecond or two: less than it takes to hand it to another thread and back
while the model computes."""

LONG_READERS = 2
"""Threads that read longer ones."""

_AGAIN = {"Retry-After": "1"}
_log = logging.getLogger(__name__)


R = TypeVar("R", Decision, Explanation)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client sent, as far as it has been understood."""

    request: SelectRequest
    size: int | None
    """Bytes; None: unknown."""
    since: float
    """When all of it had arrived, by the clock of the event loop."""


@dataclass(frozen=True, slots=True)
class Settled(Generic[R]):
    """The pool in a request, what could not be read as it stood, and what the method says."""

    pool: Pool
    problems: list[str]
    found: R


class Settling:
    """Reads, and has decided or explained by whichever settler is free."""

    def __init__(self, settlers: Sequence[Settler], seconds: float, limits: BatchLimits) -> None:
        self._settlers = settlers
        self._seconds = seconds
        self._read_now = 0
        self._long_readers = ThreadPoolExecutor(LONG_READERS, "reading")
        self._loop: asyncio.AbstractEventLoop | None = None
        self.batches: MicroBatches[Item, Decision | Explanation] = MicroBatches(
            [settler.settle for settler in settlers],
            limits,
            lambda count: self.metrics.batches.observe(count),
            (*OUTAGES, ProcessEnded),
            lambda: self._read_now > 0,
            self._run_in_loop,
        )
        self.metrics = ServiceMetrics(self.batches.waiting)

    async def decide(self, asked: Asked) -> Settled[Decision]:
        pool, problems, decision = await self._settled(asked, wants_reasons=False)
        assert isinstance(decision, Decision)
        self.metrics.dropped.inc(len(decision.dropped))
        return Settled(pool, problems, decision)

    async def explain(self, asked: Asked) -> Settled[Explanation]:
        pool, problems, explanation = await self._settled(asked, wants_reasons=True)
        assert isinstance(explanation, Explanation)
        return Settled(pool, problems, explanation)

    def close(self) -> None:
        """Take nothing more and finish what was accepted."""
        self.batches.close()
        for settler in self._settlers:
            settler.close()
        self._long_readers.shutdown(wait=False, cancel_futures=True)

    async def _settled(self, asked: Asked, wants_reasons: bool) -> tuple[Pool, list[str], Decision | Explanation]:
        with self._told():
            async with asyncio.timeout_at(asked.since + self._seconds):
                pool, problems = await self._read(asked)
                return pool, problems, await self._submitted(Item(pool, wants_reasons))

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
        except IsClosed:
            raise HTTPException(503, "the service is closing") from None
        except ProcessEnded as error:
            _log.error("%s", error)
            raise HTTPException(503, "settling broke off; try again", _AGAIN) from None
        except TimeoutError:
            raise HTTPException(504, f"not settled within {self._seconds:g} s") from None
        except OUTAGES as error:
            _log.warning("%s: %s", type(error).__name__, error)  # it may name addresses, which are not the client's
            raise HTTPException(503, "the encoder or chat server behind this service failed", _AGAIN) from None
        except TraceRankError as error:
            raise HTTPException(422, str(error)) from None

    async def _submitted(self, item: Item) -> Decision | Explanation:
        self._loop = asyncio.get_running_loop()
        is_done: asyncio.Future[None] = self._loop.create_future()
        settled = self.batches.submit(item)
        settled.add_done_callback(partial(_wake, is_done))  # in the loop, see below
        try:
            await is_done
            return settled.result()
        finally:
            settled.cancel()  # who waits no longer costs nothing, unless it is settled right now

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
