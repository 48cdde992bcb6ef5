"""The thread that decides: requests in order, in one batch where several wait.

A method need not be thread-safe, so whatever uses it is done here. Batches are for trained networks: of 16 pools
decided at once each takes half to a third of the CPU that it takes alone (K=16, webqa: 3.1 ms for 10.5; browsing: 6.8
for 13.5). No request waits for others. Knows nothing of HTTP.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

from tracerank.errors import ChatError, EmbeddingError
from tracerank.pools.pool import Pool
from tracerank.votes.base import Method, StreamingMethod, decide_stream
from tracerank.votes.explanation import Explanation, explain_stream

MAX_BATCH = 64
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    pool: Pool
    wants_reasons: bool
    future: "Future[Explanation]" = field(default_factory=Future)


class Decider:
    """One method and what waits for it."""

    def __init__(self, method: Method, on_batch: Callable[[int], object]) -> None:
        """``on_batch`` is called with the size of each batch."""
        self._method = method
        self._max_batch = MAX_BATCH if isinstance(method, StreamingMethod) else 1
        self._on_batch = on_batch
        self._jobs: deque[_Job] = deque()
        self._turns: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        # A daemon: a pool that takes forever must not keep the process from ending.
        Thread(target=self._work, name="deciding", daemon=True).start()

    def waiting(self) -> int:
        """How many pools wait; those being decided do not count."""
        return len(self._jobs)

    def submit(self, pool: Pool, wants_reasons: bool = False) -> "Future[Explanation]":
        """The decision, with nothing else unless reasons are wanted; cancelling before its turn saves the work."""
        job = _Job(pool, wants_reasons)
        self._jobs.append(job)
        self._turns.put(self._decide_waiting)
        return job.future

    def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Wait for the turn of a function that uses the method, and for its result."""
        future: Future[T] = Future()

        def turn() -> None:
            try:
                future.set_result(function(*arguments))
            except Exception as error:
                future.set_exception(error)

        self._turns.put(turn)
        return future.result()

    def close(self) -> None:
        """End after what was submitted."""
        self._turns.put(None)

    def _work(self) -> None:
        while (turn := self._turns.get()) is not None:
            turn()

    def _decide_waiting(self) -> None:
        """Decide what waits as one batch; an earlier batch may have taken all of it."""
        waiting = [self._jobs.popleft() for _ in range(min(self._max_batch, len(self._jobs)))]
        if batch := [job for job in waiting if job.future.set_running_or_notify_cancel()]:
            self._on_batch(len(batch))
            self._answer(batch)

    def _answer(self, batch: Sequence[_Job]) -> None:
        """Decide a batch; after a failure decide the rest one by one, unless a server is down for all of them."""
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
