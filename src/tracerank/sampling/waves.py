"""Concurrent runs: started a few at a time, bounded in time, collected in the order of starting, and cancelled.

Knows neither agents nor pools. Collecting in order keeps a decision independent of which run was quicker; only a run
that takes much longer than the others is not waited for.
"""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import cache
from math import inf
from threading import Thread, current_thread
from typing import Any, TypeVar

from tracerank.errors import AgentError, TraceRankError
from tracerank.stopping.rules import Verdict

PATIENCE = 2.0
"""Later runs wait for a run until it has taken this many times as long as the slowest that ended."""
MIN_PATIENCE = 0.25
"""Seconds; for shorter runs, keeping the order costs little."""
MAX_REASON = 300
"""Characters of an error message that are kept."""

T = TypeVar("T")

_number: ContextVar[int] = ContextVar("tracerank_run_number")


def run_number() -> int:
    """The number of the current run, from 0 in the order of starting: a seed that differs between runs."""
    return _number.get(0)


@dataclass(frozen=True, slots=True)
class Failure:
    """A run without a result."""

    error: BaseException

    @property
    def ends_all(self) -> bool:
        """Whether no other run can succeed."""
        return bool(getattr(self.error, "ends_all", False))

    @property
    def reason(self) -> str:
        message = " ".join(str(self.error).split())[:MAX_REASON]
        if isinstance(self.error, TraceRankError):
            return message
        return f"{type(self.error).__name__}{f': {message}' if message else ''}"


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of all runs."""

    verdict: Verdict
    """Why it ended."""
    cancelled: int
    """Still running at the end."""
    unneeded: Mapping[int, object]
    """Finished but not taken, by number, with their results or failures."""
    saved: int
    """Never started."""


async def run_in_waves(
    run: Callable[[int], Awaitable[T]],
    take: Callable[[int, T | Failure], object],
    should_continue: Callable[[], Verdict],
    numbers: Iterable[int],
    parallel: int,
    timeout: float | None = None,
    deadline: float | None = None,
) -> Ended:
    """Start runs with these numbers, ``parallel`` at once, until ``should_continue`` says that there are enough.

    ``take`` receives each result, or why there is none; both functions are called in threads. ``timeout`` is how many
    seconds a run may take, ``deadline`` all of them together. An error with ``ends_all`` set stops everything, and is
    raised if there is no result yet.
    """
    now = asyncio.get_running_loop().time
    until = inf if deadline is None else now() + deadline
    left = deque(numbers)
    running: dict[int, asyncio.Task[T | Failure]] = {}
    began: dict[int, float] = {}
    held: dict[int, T | Failure] = {}  # results that wait for those of earlier runs
    slowest: float | None = None  # seconds of the slowest run with a result
    verdict = await in_thread(should_continue)
    try:
        while verdict and (left or running or held):
            # Held results count: they may show that no further run is needed.
            while left and len(running) + len(held) < parallel:
                number = left.popleft()
                running[number], began[number] = asyncio.create_task(_attempt(run, number, timeout)), now()
            if running:
                # Held results are looked at again now and then, since patience with an earlier run may end.
                seconds = min(until - now(), MIN_PATIENCE if held else inf)
                await asyncio.wait(running.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            for number in [number for number, task in running.items() if task.done()]:
                held[number] = ended = running.pop(number).result()
                if not isinstance(ended, Failure):
                    slowest = max(slowest or 0.0, now() - began[number])
            over = f"{deadline:g} s are over" if now() >= until else None
            if fatal := next((one for one in held.values() if isinstance(one, Failure) and one.ends_all), None):
                if slowest is None:
                    raise fatal.error
                over = f"no run can do better: {fatal.error}"
            since = now() - max(MIN_PATIENCE, PATIENCE * (slowest or 0.0))
            awaited = min((number for number in running if began[number] > since and not over), default=inf)
            for number in sorted(number for number in held if number < awaited):
                await in_thread(take, number, held.pop(number))
                if not (verdict := await in_thread(should_continue)):
                    break
            if verdict and over:
                verdict = Verdict(False, over)
        return Ended(verdict, len(running), dict(sorted(held.items())), len(left))
    finally:
        for task in running.values():
            task.cancel()
        if running:
            await asyncio.wait(running.values())


async def _attempt(run: Callable[[int], Awaitable[T]], number: int, timeout: float | None) -> T | Failure:
    """The result of a run, or why it has none."""
    _number.set(number)
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await run(number)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return Failure(error)  # of its own
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # the last two would end the event loop
        return Failure(AgentError(f"no result within {timeout:g} s") if limit.expired() else error)


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """The result of a plain function, run in a thread that neither the event loop nor the interpreter waits for."""
    result: T = await asyncio.wrap_future(_started(function, *arguments))
    return result


def run_blocking(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also beside a running loop; calls share one, as connections die with their loop."""
    loop, thread = _lasting_loop(os.getpid())
    is_inside = thread is current_thread()  # then it must not wait for that loop
    ended = _started(asyncio.run, work) if is_inside else asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return ended.result()
    except KeyboardInterrupt:
        ended.cancel()
        raise


@cache
def _lasting_loop(process: int) -> tuple[asyncio.AbstractEventLoop, Thread]:
    """A loop that runs until the process ends; a fork has its own."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="tracerank-loop", daemon=True)
    thread.start()
    return loop, thread


def _started(function: Callable[..., T], *arguments: object) -> "Future[T]":
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
    return ended
