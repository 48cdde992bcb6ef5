"""Concurrent runs: started a few at a time, bounded in time, collected in the order of starting, and cancelled.

Knows neither agents nor pools; a collector takes the results and says when there are enough. Collecting in order keeps
a decision independent of which run was quicker; only a run that takes much longer than the others is not waited for.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from math import inf
from threading import Thread
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tracerank.errors import TraceRankError
from tracerank.stopping.rules import Verdict

GRACE_SECONDS = 1.0
"""How long cancelled runs may take to clean up."""
PATIENCE = 2.0
"""A run holds back later ones until it takes this many times as long as the slowest that ended."""
MIN_PATIENCE = 0.25
"""Seconds; where runs take less, their order is worth more than the time."""
MAX_REASON = 300
"""Characters of an error message that are kept."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_number: ContextVar[int] = ContextVar("tracerank_run_number")
_abandoned: set["asyncio.Task[Any]"] = set()
"""Cancelled tasks that have not ended yet; asyncio itself holds them by weak references only."""


def run_number() -> int:
    """The number of the current run, from 0 in the order of starting: a seed that differs between runs."""
    return _number.get(0)


@dataclass(frozen=True, slots=True)
class Failure:
    """A run without a result."""

    error: BaseException
    is_late: bool = False

    @property
    def reason(self) -> str:
        message = " ".join(str(self.error).split())[:MAX_REASON]
        if self.is_late or isinstance(self.error, TraceRankError):
            return message
        return f"{type(self.error).__name__}{f': {message}' if message else ''}"


class Collector(Protocol[T_contra]):
    """Takes results one at a time and says when there are enough; called in threads."""

    def take(self, number: int, ended: "T_contra | Failure") -> None:
        """Accept the result of a run, or the reason why it has none."""
        ...

    def should_continue(self) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of all runs, by number."""

    verdict: Verdict
    """Why it ended."""
    cancelled: tuple[int, ...]
    """Still running at the end."""
    unneeded: Mapping[int, object]
    """Finished but not taken, with their results or failures."""
    saved: tuple[int, ...]
    """Never started."""


async def run_in_waves(
    run: Callable[[int], Awaitable[T]],
    collector: Collector[T],
    numbers: Iterable[int],
    parallel: int,
    timeout: float | None = None,
    deadline: float | None = None,
) -> Ended:
    """Start runs with these numbers, ``parallel`` at once, until the collector has enough.

    ``timeout`` is how many seconds a run may take, ``deadline`` all of them together. An error with ``ends_all`` set
    stops everything, and is raised if there is no result yet.
    """
    waves = _Waves(run, collector, deque(numbers), parallel, timeout)
    try:
        return await waves.ended(deadline)
    finally:
        await waves.close()


class _Running(NamedTuple):
    task: "asyncio.Task[Any]"
    began: float


class _Waves(Generic[T]):
    """The state of one call: runs that are waiting, running, and finished but not taken."""

    def __init__(
        self,
        run: Callable[[int], Awaitable[T]],
        collector: Collector[T],
        left: deque[int],
        parallel: int,
        timeout: float | None,
    ) -> None:
        self._run, self._collector, self._left, self._parallel = run, collector, left, parallel
        self._timeout = inf if timeout is None else timeout
        self._running: dict[int, _Running] = {}
        self._held: dict[int, Any] = {}
        """Results that wait for those of earlier runs."""
        self._slowest = 0.0
        """Seconds of the slowest run with a result."""
        self._has_result = False
        self._fatal: BaseException | None = None
        self._now = asyncio.get_running_loop().time

    async def ended(self, deadline: float | None) -> Ended:
        until = inf if deadline is None else self._now() + deadline
        verdict = await in_thread(self._collector.should_continue)
        while verdict and (self._left or self._running or self._held):
            self._start()
            await self._wait(until)
            over = None
            if self._fatal is not None:
                if not self._has_result:
                    raise self._fatal
                over = f"no run can do better: {self._fatal}"
            elif self._now() >= until:
                over = f"{deadline:g} s are over"
            for number in sorted(self._held) if over else self._ready():
                await in_thread(self._collector.take, number, self._held.pop(number))
                verdict = await in_thread(self._collector.should_continue)
                if not verdict:
                    break
            if verdict and over:
                verdict = Verdict(False, over)
        held = dict(sorted(self._held.items()))
        return Ended(verdict, tuple(sorted(self._running)), held, tuple(self._left))

    async def close(self) -> None:
        """Cancel what is running, and let it clean up."""
        tasks = [run.task for run in self._running.values() if not run.task.done()]
        for task in tasks:
            _cancel(task)
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)

    def _start(self) -> None:
        # Held results count: they may show that no further run is needed.
        while self._left and len(self._running) + len(self._held) < self._parallel:
            number = self._left.popleft()
            context = copy_context()
            context.run(_number.set, number)
            task = asyncio.get_running_loop().create_task(self._begun(number), context=context)
            self._running[number] = _Running(task, self._now())

    async def _begun(self, number: int) -> T:
        return await self._run(number)  # inside the task, so that an error on starting is the run's own

    async def _wait(self, until: float) -> None:
        """Wait until a run ends or is late, an earlier run is no longer waited for, or time is over."""
        if not self._running:
            return
        now, last = self._now(), max(self._held, default=-1)
        times = [until, *(run.began + self._timeout for run in self._running.values())]
        overtaken = (run.began + self._patience() for number, run in self._running.items() if number < last)
        seconds = min([*times, *(time for time in overtaken if time > now)]) - now
        tasks = [run.task for run in self._running.values()]
        await asyncio.wait(
            tasks, timeout=None if seconds == inf else max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED
        )
        for number, run in list(self._running.items()):
            seconds = self._now() - run.began
            if run.task.done():
                self._end(number, _outcome(run.task), seconds)
            elif seconds >= self._timeout:
                _cancel(run.task)
                late = TimeoutError(f"no result within {self._timeout:g} s")
                self._end(number, Failure(late, is_late=True), seconds)

    def _end(self, number: int, outcome: object, seconds: float) -> None:
        del self._running[number]
        self._held[number] = outcome
        if not isinstance(outcome, Failure):
            self._has_result = True
            self._slowest = max(self._slowest, seconds)
        elif getattr(outcome.error, "ends_all", False):
            self._fatal = outcome.error

    def _patience(self) -> float:
        return max(MIN_PATIENCE, PATIENCE * self._slowest)

    def _ready(self) -> Sequence[int]:
        """Held results whose turn it is."""
        since = self._now() - self._patience()
        first = min((number for number, run in self._running.items() if run.began > since), default=inf)
        return sorted(number for number in self._held if number < first)


def _outcome(task: "asyncio.Task[Any]") -> object:
    if task.cancelled():
        return Failure(asyncio.CancelledError("cancelled itself"))
    error = task.exception()
    return task.result() if error is None else Failure(error)


def _cancel(task: "asyncio.Task[Any]") -> None:
    _abandoned.add(task)
    task.add_done_callback(_forget)
    task.cancel()


def _forget(task: "asyncio.Task[Any]") -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        task.exception()  # retrieved, or asyncio would log it


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """The result of a plain function, run in a thread that neither the event loop nor the interpreter waits for."""
    ended: Future[T] = Future()
    ended.set_running_or_notify_cancel()  # a cancelled waiter must not cancel it under the thread's feet
    context = copy_context()

    def work() -> None:
        try:
            ended.set_result(context.run(function, *arguments))
        except BaseException as error:
            is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            # Others would end the event loop, or could not be set on a future.
            ended.set_exception(error if is_plain else RuntimeError(f"{type(error).__name__}: {error}"))

    Thread(target=work, name="tracerank-run", daemon=True).start()
    return await asyncio.wrap_future(ended)


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine for a plain program, also beside a running event loop."""
    ended: Future[T] = Future()
    cancel: list[Callable[[], object]] = []

    async def main() -> None:
        task = asyncio.create_task(work)
        loop = asyncio.get_running_loop()
        cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            ended.set_result(await task)
        except BaseException as error:
            ended.set_exception(error)

    # Not in this thread: at its end, asyncio waits for tasks that refuse to be cancelled.
    Thread(target=copy_context().run, args=(asyncio.run, main()), name="tracerank-loop", daemon=True).start()
    try:
        return ended.result()
    except KeyboardInterrupt:
        for call in cancel:
            call()
        raise
