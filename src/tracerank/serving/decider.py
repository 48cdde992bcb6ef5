"""One method and the requests that wait for it: decided in a thread of its own, together where several wait.

Batches are for trained networks: of 16 pools decided at once each takes half to a third of the CPU that it takes alone
(K=16, webqa: 3.1 ms for 10.5; browsing: 6.8 for 13.5). No request waits for company. Knows nothing of HTTP.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from tracerank.errors import ChatError, EmbeddingError
from tracerank.pools.pool import Pool
from tracerank.votes.base import Method, StreamingMethod, decide_stream
from tracerank.votes.explanation import Explanation, explain_stream

MAX_BATCH = 64


@dataclass(frozen=True, slots=True)
class _Job:
    pool: Pool
    wants_reasons: bool
    future: "Future[Explanation]" = field(default_factory=Future)


class Decider:
    """Decides one batch at a time: a method need not be thread-safe."""

    def __init__(self, method: Method, on_batch: Callable[[int], object], lock: Lock) -> None:
        """``on_batch`` is called with the size of each batch; ``lock`` is held while the method decides."""
        self._method = method
        self._max_batch = MAX_BATCH if isinstance(method, StreamingMethod) else 1
        self._on_batch = on_batch
        self._lock = lock
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        # A daemon: a pool that takes forever must not keep the process from ending.
        Thread(target=self._work, name="deciding", daemon=True).start()

    def waiting(self) -> int:
        """How many requests wait; those being decided do not count."""
        return self._queue.qsize()

    def submit(self, pool: Pool, wants_reasons: bool = False) -> "Future[Explanation]":
        """The decision, with nothing else unless reasons are wanted; cancelling before its turn saves the work."""
        job = _Job(pool, wants_reasons)
        self._queue.put(job)
        return job.future

    def close(self) -> None:
        """End after what was submitted."""
        self._queue.put(None)

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            if batch := [job for job in self._gathered(first) if job.future.set_running_or_notify_cancel()]:
                self._on_batch(len(batch))
                with self._lock:
                    self._answer(batch)

    def _gathered(self, first: _Job) -> Iterator[_Job]:
        """The first job and those that wait behind it."""
        yield first
        with suppress(Empty):
            for _ in range(self._max_batch - 1):
                if (job := self._queue.get_nowait()) is None:
                    self.close()
                    return
                yield job

    def _answer(self, batch: Sequence[_Job]) -> None:
        """One failure must not cost the others their decision, nor an outage each of them the same wait."""
        left = deque(batch)
        try:
            for explanation in self._decided(batch):
                left.popleft().future.set_result(explanation)
        except Exception as error:
            is_outage = isinstance(error, EmbeddingError) or (isinstance(error, ChatError) and error.ends_all)
            for job in left:
                if is_outage or len(batch) == 1:
                    job.future.set_exception(error)
                else:
                    self._answer([job])

    def _decided(self, batch: Sequence[_Job]) -> Iterator[Explanation]:
        plain = decide_stream(self._method, (job.pool for job in batch if not job.wants_reasons))
        explained = explain_stream(self._method, (job.pool for job in batch if job.wants_reasons))
        for job in batch:
            yield next(explained)[1] if job.wants_reasons else Explanation(next(plain)[1], ())
