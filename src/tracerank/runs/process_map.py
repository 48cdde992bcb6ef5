"""An ordered map over processes: results come back in the order of the items, in bounded memory."""

import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import Any, TypeVar

from tracerank.errors import TraceRankError

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 4
"""Blocks per worker that are submitted before their turn has come."""


def ordered_map(
    function: Callable[[list[T]], list[R]],
    items: Iterable[T],
    workers: int,
    *,
    block: int = 16,
    setup: Callable[..., object] | None = None,
    arguments: tuple[Any, ...] = (),
) -> Iterator[R]:
    """``function`` applied to blocks of items, its results one by one and in order.

    With one worker everything runs in this process. ``setup(*arguments)`` runs once in each process before its first
    block. A worker that dies ends the map with an error; resumable callers lose only what was in flight.
    """
    stream = iter(items)
    blocks = iter(lambda: list(islice(stream, block)), [])
    if workers == 1:
        if setup is not None:
            setup(*arguments)
        for one in blocks:
            yield from function(one)
        return
    executor = ProcessPoolExecutor(workers, get_context("spawn"), _start, (setup, arguments))
    pending: deque[Future[list[R]]] = deque()
    try:
        for one in blocks:
            pending.append(executor.submit(function, one))
            if len(pending) >= workers * AHEAD:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool:
        raise TraceRankError("a worker process died (killed, or out of memory); try fewer --workers") from None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _start(setup: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent ends the others
    if setup is not None:
        setup(*arguments)
