"""Requests of many clients, decided together: a bounded queue and threads that decide what has gathered.

Knows nothing of HTTP. Each way to decide has a thread of its own, so it need not be safe to share.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

from tracerank.serving.limits import ServiceLimits

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")


class Decide(Protocol[T_contra, R_co]):
    """A way to decide: a result for each item, in order."""

    def __call__(self, items: Sequence[T_contra], /) -> Sequence[R_co]: ...


OUTAGE_FAILURES = 2
"""Items of a failed batch that meet an outage, too, before the others are spared the wait."""


class QueueIsFull(Exception):
    """More requests wait than may."""


class IsClosed(Exception):
    """No request is taken any more."""


class MicroBatches(Generic[T, R]):
    """Decides single items in batches; every accepted item gets its result, also while closing."""

    def __init__(
        self,
        ways: Sequence[Decide[T, R]],
        limits: ServiceLimits,
        on_batch: Callable[[int], None] = lambda _: None,
        outages: tuple[type[Exception], ...] = (),
        is_more_coming: Callable[[], bool] = lambda: False,
        run: Callable[[Callable[[], None]], None] = lambda work: work(),
        leaves_part: bool = False,
    ) -> None:
        """Each of ``ways`` gets a thread.

        ``outages`` are errors that are hardly the fault of an item, such as a server that does not answer.

        ``run`` is told to hand out the results of a batch, all at once, in whatever thread that should happen.

        With ``leaves_part`` a batch leaves an equal part for each other way and one for clients who are answered and
        ask anew meanwhile. Without, it takes all there are: best where deciding holds up those who read the requests.
        """
        self.limits = limits
        self._on_batch = on_batch
        self._outages = outages
        self._is_more_coming = is_more_coming
        self._run = run
        self._leaves_part = leaves_part
        self._queue: queue.Queue[tuple[T, Future[R]] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._sizes = [0] * len(ways)  # of each thread's batch at work, or of the one before
        self._threads = [
            threading.Thread(target=self._work, args=(number, decide), name=f"micro-batches-{number}", daemon=True)
            for number, decide in enumerate(ways)
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

    def close(self, seconds: float | None = None) -> bool:
        """Take nothing more and finish what was accepted, within so many seconds if given; whether all was."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                for _ in self._threads:
                    self._queue.put(None)
        until = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self, number: int, decide: Decide[T, R]) -> None:
        while (first := self._queue.get()) is not None:
            batch, is_last = self._gather(first)
            started = [(item, future) for item, future in batch if future.set_running_or_notify_cancel()]
            self._sizes[number] = len(started)
            if started:
                self._on_batch(len(started))
                self._answer(started, decide)
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
        if not self._leaves_part:
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

    def _answer(self, batch: list[tuple[T, "Future[R]"]], decide: Decide[T, R]) -> None:
        try:
            decided: Sequence[R] = _decided(batch, decide)
            found: list[R | Exception] = [*decided]
        except Exception as error:
            found = [error] if len(batch) == 1 else self._one_by_one(batch, decide, error)

        def hand_out() -> None:
            for (_, future), result in zip(batch, found, strict=True):
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

        self._run(hand_out)

    def _one_by_one(
        self, batch: list[tuple[T, "Future[R]"]], decide: Decide[T, R], error: Exception
    ) -> list[R | Exception]:
        """One bad item must not cost the others their answer, nor an outage each of them the same wait."""
        found: list[R | Exception] = []
        outages = 0
        for pair in batch:
            if outages >= OUTAGE_FAILURES:
                found.append(error)
                continue
            try:
                alone: Sequence[R] = _decided([pair], decide)
                found += alone
                outages = 0
            except Exception as failure:
                found.append(failure)
                outages = outages + 1 if isinstance(failure, self._outages) else 0
        return found


def _decided(batch: list[tuple[T, "Future[R]"]], decide: Decide[T, R]) -> Sequence[R]:
    results = decide([item for item, _ in batch])
    if len(results) != len(batch):
        raise RuntimeError(f"{len(batch)} items were decided, but there are {len(results)} results")
    return results
