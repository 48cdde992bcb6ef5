"""Requests of many clients, settled together: a bounded queue and threads that settle what has gathered.

Knows nothing of HTTP. Each way to settle has a thread of its own, so it need not be safe to share.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Settle(Protocol[T_contra, R_co]):
    """A way to settle: a result for each item, in order."""

    def __call__(self, items: Sequence[T_contra], /) -> Sequence[R_co]: ...


OUTAGE_FAILURES = 2
"""Items of a failed batch that meet an outage, too, before the others are spared the wait."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much may gather, and for how long."""

    batch: int = 64
    """Most requests settled together; what the selector scores in one block."""
    part: int | None = None
    """From so many on, a batch leaves an equal part for each other settler and one for clients who are answered and ask
    anew meanwhile. None: take all there are; best where settling holds up those who read the requests."""
    gather_seconds: float = 0.001
    """How long a batch waits for one more of which nothing is known yet."""
    longest_seconds: float = 0.03
    """How long it waits in all, however they keep coming; meanwhile, and while it is settled, others gather."""
    waiting: int = 256
    """Requests that may wait; more are turned away."""


class QueueIsFull(Exception):
    """More requests wait than may."""


class IsClosed(Exception):
    """No request is taken any more."""


class MicroBatches(Generic[T, R]):
    """Settles single items in batches; every accepted item gets its result, also while closing."""

    def __init__(
        self,
        settles: Sequence[Settle[T, R]],
        limits: BatchLimits,
        on_batch: Callable[[int], None] = lambda _: None,
        outages: tuple[type[Exception], ...] = (),
        is_more_coming: Callable[[], bool] = lambda: False,
        run: Callable[[Callable[[], None]], None] = lambda work: work(),
    ) -> None:
        """Each of ``settles`` gets a thread.

        ``outages`` are errors that are hardly the fault of an item, such as a server that does not answer.

        ``run`` is told to hand out the results of a batch, all at once, in whatever thread that should happen.
        """
        self.limits = limits
        self._on_batch = on_batch
        self._outages = outages
        self._is_more_coming = is_more_coming
        self._run = run
        self._queue: queue.Queue[tuple[T, Future[R]] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._sizes = [0] * len(settles)  # of each thread's batch at work, or of the one before
        self._threads = [
            threading.Thread(target=self._work, args=(number, settle), name=f"micro-batches-{number}", daemon=True)
            for number, settle in enumerate(settles)
        ]
        for thread in self._threads:
            thread.start()

    def waiting(self) -> int:
        """Items that nobody has begun with."""
        return self._queue.qsize()

    def is_full(self) -> bool:
        """Whether a further item would be turned away."""
        return self.waiting() >= self.limits.waiting

    def submit(self, item: T) -> "Future[R]":
        """A future of the item's result; cancelling it before its turn saves the work."""
        future: Future[R] = Future()
        with self._lock:
            if self._is_closed:
                raise IsClosed
            if self.is_full():
                raise QueueIsFull
            self._queue.put((item, future))
        return future

    def close(self) -> None:
        """Take nothing more and finish what was accepted."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                for _ in self._threads:
                    self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, number: int, settle: Settle[T, R]) -> None:
        while (first := self._queue.get()) is not None:
            batch, is_last = self._gather(first)
            started = [(item, future) for item, future in batch if future.set_running_or_notify_cancel()]
            self._sizes[number] = len(started)
            if started:
                self._on_batch(len(started))
                self._answer(started, settle)
            if is_last:
                return

    def _gather(self, first: tuple[T, "Future[R]"]) -> tuple[list[tuple[T, "Future[R]"]], bool]:
        """The first item and its company, and whether it is the last batch.

        It looks now and then instead of waking for each: the thread that brings them needs the interpreter, too.
        """
        batch = [first]
        until = time.monotonic() + self.limits.longest_seconds
        while len(batch) < self._enough(len(batch)):
            try:
                found = self._queue.get_nowait()
            except queue.Empty:
                if not self._has_waited_for_more(until):
                    break
                continue
            if found is None:
                return batch, True
            batch.append(found)
        return batch, False

    def _enough(self, taken: int) -> int:
        """An equal part of all who ask: in the queue, at work elsewhere, or answered just now and soon back."""
        if self.limits.part is None:
            return self.limits.batch
        parts = len(self._threads) + 1
        share = -(-(taken + self.waiting() + sum(self._sizes)) // parts)
        return min(self.limits.batch, max(share, self.limits.part))

    def _has_waited_for_more(self, until: float) -> bool:
        """Waits a little; whether it was worth it."""
        if time.monotonic() >= until:
            return False
        time.sleep(self.limits.gather_seconds)
        return self.waiting() > 0 or self._is_more_coming()

    def _answer(self, batch: list[tuple[T, "Future[R]"]], settle: Settle[T, R]) -> None:
        try:
            settled: Sequence[R] = _settled(batch, settle)
            found: list[R | Exception] = [*settled]
        except Exception as error:
            found = [error] if len(batch) == 1 else self._one_by_one(batch, settle, error)

        def hand_out() -> None:
            for (_, future), result in zip(batch, found, strict=True):
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

        self._run(hand_out)

    def _one_by_one(
        self, batch: list[tuple[T, "Future[R]"]], settle: Settle[T, R], error: Exception
    ) -> list[R | Exception]:
        """One bad item must not cost the others their answer, nor an outage each of them the same wait."""
        found: list[R | Exception] = []
        outages = 0
        for pair in batch:
            if outages >= OUTAGE_FAILURES:
                found.append(error)
                continue
            try:
                alone: Sequence[R] = _settled([pair], settle)
                found += alone
                outages = 0
            except Exception as failure:
                found.append(failure)
                outages = outages + 1 if isinstance(failure, self._outages) else 0
        return found


def _settled(batch: list[tuple[T, "Future[R]"]], settle: Settle[T, R]) -> Sequence[R]:
    results = settle([item for item, _ in batch])
    if len(results) != len(batch):
        raise RuntimeError(f"{len(batch)} items were settled, but there are {len(results)} results")
    return results
