"""Runs that are under way at once: started, bounded in time, taken in order, and ended when they are needed no more.

Results are taken in the order of starting, so that what is decided does not hang on who was quicker; only a run that
takes much longer than the others is not waited for. Knows neither agents nor pools; who takes the
results says when to stop.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from threading import Thread
from typing import Any, Generic, Protocol, TypeVar

from tracerank.errors import TraceRankError
from tracerank.stopping.rules import Verdict

GRACE_SECONDS = 1.0
"""How long runs that were cancelled may take to clean up; then nobody waits for them."""
PATIENCE = 2.0
"""A run holds back those that were started after it until it takes so many times as long as the slowest that ended."""
LEAST_PATIENCE = 0.25
"""Seconds; where runs take less, their order is worth more than the time."""
_LONGEST_REASON = 300

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_number: ContextVar[int] = ContextVar("tracerank_run_number")
_left: set["asyncio.Task[Any]"] = set()
"""Tasks that refuse to end; asyncio itself holds them by weak references only."""


def run_number() -> int:
    """Inside a run: its number, from 0 in the order of starting; a seed that differs between runs."""
    return _number.get(0)


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that came to no result."""

    error: BaseException
    is_late: bool = False

    @property
    def reason(self) -> str:
        said = " ".join(str(self.error).split())[:_LONGEST_REASON]
        if self.is_late or isinstance(self.error, TraceRankError):
            return said
        return f"{type(self.error).__name__}{f': {said}' if said else ''}"


class Taker(Protocol[T_contra]):
    """Who takes results, one at a time, and says when there are enough; called in threads."""

    def take(self, number: int, ended: "T_contra | Failure") -> None:
        """The result of a run, or why there is none."""
        ...

    def should_continue(self) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of all runs."""

    verdict: Verdict
    """Why it ended."""
    taken: tuple[int, ...]
    """Numbers of the runs whose results were taken, in that order."""
    cancelled: tuple[int, ...]
    """Under way when it ended."""
    unneeded: Mapping[int, object]
    """Numbers of those that had a result, or a failure, that nobody needed any more, with it."""
    saved: tuple[int, ...]
    """Never started."""


class _Run:
    """One run under way; ``ended`` has its result, a failure, or that it took too long."""

    def __init__(self, number: int, work: Awaitable[object], seconds: float | None) -> None:
        loop = asyncio.get_running_loop()
        self.began = loop.time()
        self.ended: asyncio.Future[object] = loop.create_future()
        context = copy_context()
        context.run(_number.set, number)
        self.task: asyncio.Task[object] = loop.create_task(_awaited(work), context=context)
        self.task.add_done_callback(self._finish)
        self._seconds = seconds
        self._timer = None if seconds is None else loop.call_later(seconds, self._expire)

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.ended.cancel()
        if not self.task.done():
            _left.add(self.task)
            self.task.add_done_callback(_left.discard)
            self.task.cancel()

    def _finish(self, task: "asyncio.Task[object]") -> None:
        error = asyncio.CancelledError("cancelled itself") if task.cancelled() else task.exception()
        if not self.ended.done():
            self.ended.set_result(task.result() if error is None else Failure(error))
            self.cancel()

    def _expire(self) -> None:
        if not self.ended.done():
            self.ended.set_result(Failure(TimeoutError(f"no result within {self._seconds:g} s"), is_late=True))
            self.cancel()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


async def run_in_waves(
    run: Callable[[int], Awaitable[T]],
    taker: Taker[T],
    numbers: Iterable[int],
    parallel: int,
    timeout: float | None = None,
    deadline: float | None = None,
) -> Ended:
    """Start runs with these numbers, ``parallel`` at once, until the taker has enough.

    ``timeout`` is how many seconds a run may take, ``deadline`` all of them together. An error that says that no other
    run can do better (``ends_all``) ends it, and is raised where there is no result yet.
    """
    waves: _Waves[T] = _Waves(run, taker, numbers, parallel, timeout)
    try:
        return await waves.ended(deadline)
    finally:
        await waves.close()


class _Waves(Generic[T]):
    """What is waiting to be started, under way, ended and taken."""

    def __init__(
        self,
        run: Callable[[int], Awaitable[T]],
        taker: Taker[T],
        numbers: Iterable[int],
        parallel: int,
        timeout: float | None,
    ) -> None:
        self._run, self._taker, self._parallel, self._timeout = run, taker, parallel, timeout
        self._left = deque(numbers)
        self._under_way: dict[int, _Run] = {}
        self._held: dict[int, object] = {}
        """Results that wait for those of runs that were started before."""
        self._slowest = 0.0
        """Seconds of the slowest run that has ended."""
        self._taken: list[int] = []
        self._has_result = False
        self._fatal: BaseException | None = None

    async def ended(self, deadline: float | None) -> Ended:
        loop = asyncio.get_running_loop()
        until = None if deadline is None else loop.time() + deadline
        verdict = await in_thread(self._taker.should_continue)
        while verdict and (self._left or self._under_way or self._held):
            self._start()
            await self._some_ended(until)
            if self._fatal is not None:
                if not self._has_result:
                    raise self._fatal
                verdict = await self._take_all(
                    sorted(self._held), Verdict(False, f"no run can do better: {self._fatal}")
                )
                break
            verdict = await self._take_all(self._ready(), verdict)
            if verdict and until is not None and loop.time() >= until:
                verdict = await self._take_all(sorted(self._held), Verdict(False, f"{deadline:g} s are over"))
        under_way, held = tuple(sorted(self._under_way)), dict(sorted(self._held.items()))
        return Ended(verdict, tuple(self._taken), under_way, held, tuple(self._left))

    async def close(self) -> None:
        """Cancel what is under way, and let it clean up."""
        tasks = [run.task for run in self._under_way.values() if not run.task.done()]
        for run in self._under_way.values():
            run.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)

    def _start(self) -> None:
        # What is held counts: it may show that no further run is needed.
        while self._left and len(self._under_way) + len(self._held) < self._parallel:
            number = self._left.popleft()
            self._under_way[number] = _Run(number, _begun(self._run, number), self._timeout)

    async def _some_ended(self, until: float | None) -> None:
        """Wait until a result comes, one that is held need not be held any longer, or time is over."""
        if not self._under_way:
            return
        now = asyncio.get_running_loop().time()
        times = [time for time in (until, self._next_overtaken(now)) if time is not None]
        by_end = {run.ended: number for number, run in self._under_way.items()}
        seconds = max(0.0, min(times) - now) if times else None
        done, _ = await asyncio.wait(by_end, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for ended in done:
            number = by_end[ended]
            run = self._under_way.pop(number)
            result = self._held[number] = ended.result()
            if not isinstance(result, Failure):
                self._has_result = True
                self._slowest = max(self._slowest, asyncio.get_running_loop().time() - run.began)
            elif getattr(result.error, "ends_all", False):
                self._fatal = result.error

    def _patience(self) -> float:
        return max(LEAST_PATIENCE, PATIENCE * self._slowest)

    def _next_overtaken(self, now: float) -> float | None:
        """When the next run that holds back others is waited for no more."""
        last = max(self._held, default=-1)
        times = [run.began + self._patience() for number, run in self._under_way.items() if number < last]
        return min((time for time in times if time > now), default=None)

    def _ready(self) -> list[int]:
        """Held results whose turn it is."""
        since = asyncio.get_running_loop().time() - self._patience()
        first = min((number for number, run in self._under_way.items() if run.began > since), default=None)
        return sorted(number for number in self._held if first is None or number < first)

    async def _take_all(self, numbers: Sequence[int], verdict: Verdict) -> Verdict:
        for number in numbers:
            result: Any = self._held.pop(number)
            self._taken.append(number)
            await in_thread(self._taker.take, number, result)
            if verdict:
                verdict = await in_thread(self._taker.should_continue)
                if not verdict:
                    return verdict
        return verdict


async def _begun(run: Callable[[int], Awaitable[T]], number: int) -> T:
    """Inside the run's own task: what fails in starting it is its own failure."""
    return await run(number)


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """What a plain function returns; in a thread that neither the event loop nor the interpreter waits for."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(error: BaseException | None, result: Any) -> None:
        if ended.done():
            return  # nobody waits any more
        if error is None:
            ended.set_result(result)
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            ended.set_exception(error)
        else:  # else it would end the event loop, or never arrive
            ended.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

    def work() -> None:
        try:
            outcome: tuple[BaseException | None, Any] = (None, context.run(function, *arguments))
        except BaseException as error:
            outcome = (error, None)
        with suppress(RuntimeError):  # the event loop may be closed
            loop.call_soon_threadsafe(settle, *outcome)

    Thread(target=work, name="tracerank-run", daemon=True).start()
    return await ended
