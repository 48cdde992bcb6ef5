"""A method behind a queue: pools of many requests settled together, and what goes wrong as an HTTP status."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from tracerank.errors import ChatError, EmbeddingError, TraceRankError
from tracerank.evaluation.evaluate import decide_stream
from tracerank.methods.base import Decision, Method
from tracerank.methods.explanation import Explanation
from tracerank.pools.pool import Pool
from tracerank.serving.explaining import explained
from tracerank.serving.micro_batches import BatchLimits, IsClosed, MicroBatches, QueueIsFull
from tracerank.serving.service_metrics import ServiceMetrics
from tracerank.serving.wire import SelectRequest, UnreadableRequest, pool_of

OUTAGES = (EmbeddingError, ChatError)
"""What the method itself depends on has failed; the client did nothing wrong and may come back."""

QUICK_BYTES = 2**16
"""Up to this size a request is read in a millisecond or two: less than it takes to hand it to another thread and back
while the model computes."""

_AGAIN = {"Retry-After": "1"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pool and whether only the decision or also its reasons are wanted."""

    pool: Pool
    wants_reasons: bool


class Settling:
    """Reads, decides and explains; decisions and explanations take turns in one thread."""

    def __init__(self, method: Method, seconds: float, limits: BatchLimits) -> None:
        self._method = method
        self._seconds = seconds
        self._read_now = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self.batches: MicroBatches[_Asked, Decision | Explanation] = MicroBatches(
            self._settle,
            limits,
            lambda count: self.metrics.batches.observe(count),
            OUTAGES,
            lambda: self._read_now > 0,
            self._run_in_loop,
        )
        self.metrics = ServiceMetrics(self.batches.waiting)

    async def read(self, request: SelectRequest, size: int | None) -> tuple[Pool, list[str]]:
        """The pool in a request of so many bytes (None: unknown) and what could not be read as it stood."""
        if self.batches.is_full():
            raise _turned_away()  # before the work of reading is done in vain
        self._read_now += 1
        try:
            if size is not None and size <= QUICK_BYTES:
                return pool_of(request)
            # Parsing a long transcript takes a while, and other clients must be answered meanwhile.
            return await run_in_threadpool(pool_of, request)
        except UnreadableRequest as error:
            raise HTTPException(422, str(error)) from None
        finally:
            self._read_now -= 1

    async def decide(self, pool: Pool) -> Decision:
        decision = await self._wait(_Asked(pool, wants_reasons=False))
        assert isinstance(decision, Decision)
        self.metrics.dropped.inc(len(decision.dropped))
        return decision

    async def explain(self, pool: Pool) -> Explanation:
        explanation = await self._wait(_Asked(pool, wants_reasons=True))
        assert isinstance(explanation, Explanation)
        return explanation

    async def _wait(self, asked: _Asked) -> Decision | Explanation:
        try:
            return await self._submitted(asked)
        except QueueIsFull:
            raise _turned_away() from None
        except IsClosed:
            raise HTTPException(503, "the service is closing") from None
        except TimeoutError:
            raise HTTPException(504, f"not settled within {self._seconds:g} s") from None
        except OUTAGES as error:
            _log.warning("%s: %s", type(error).__name__, error)  # it may name addresses, which are not the client's
            raise HTTPException(503, "the encoder or chat server behind this service failed", _AGAIN) from None
        except TraceRankError as error:
            raise HTTPException(422, str(error)) from None

    async def _submitted(self, asked: _Asked) -> Decision | Explanation:
        self._loop = asyncio.get_running_loop()
        is_done: asyncio.Future[None] = self._loop.create_future()
        settled = self.batches.submit(asked)
        settled.add_done_callback(partial(_wake, is_done))  # in the loop, see below
        try:
            await asyncio.wait_for(is_done, self._seconds)
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

    def _settle(self, asked: Sequence[_Asked]) -> list[Decision | Explanation]:
        plain = decide_stream(self._method, (one.pool for one in asked if not one.wants_reasons))
        reasoned = explained(self._method, (one.pool for one in asked if one.wants_reasons))
        return [next(reasoned)[1] if one.wants_reasons else next(plain)[1] for one in asked]


def _wake(is_done: "asyncio.Future[None]", _: object) -> None:
    if not is_done.done():  # else nobody waits any more
        is_done.set_result(None)


def _turned_away() -> HTTPException:
    return HTTPException(429, "too many requests wait; try again", _AGAIN)
