"""An ordered map over processes: results come back in the order of the items, in bounded memory."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

from tracerank.errors import TraceRankError

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 4
"""Blocks per worker that are submitted before their turn has come."""
_function: Callable[[list[Any]], Iterable[Any]]
"""In a worker: what is applied to the blocks."""


def ordered_map(
    setup: Callable[[], Callable[[list[T]], Iterable[R]]], items: Iterable[T], workers: int, *, block: int = 16
) -> Iterator[R]:
    """The results of the function that ``setup`` makes, applied to blocks of items; one by one, in order.

    ``setup`` must be picklable; it runs once in each worker, and in this process if there is only one. A worker that
    dies ends the map with an error: callers that are resumable lose what was in flight.
    """
    stream = iter(items)
    blocks = iter(lambda: list(islice(stream, block)), [])
    if workers == 1:
        function = setup()
        for one in blocks:
            yield from function(one)
        return
    executor = ProcessPoolExecutor(workers, get_context("spawn"), _start, (setup,))
    pending: deque[Future[list[R]]] = deque()
    try:
        for one in blocks:
            pending.append(executor.submit(_apply, one))
            if len(pending) >= workers * AHEAD:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool:
        raise TraceRankError("a worker process died (killed, or out of memory); try fewer --workers") from None
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _start(setup: Callable[[], Callable[[list[Any]], Iterable[Any]]]) -> None:
    global _function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent ends the others
    Thread(target=_exit_with_parent, daemon=True).start()
    _function = setup()


def _exit_with_parent() -> None:
    # A parent that is killed cannot end its workers, and their queue stays open as long as one of them lives.
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _apply(block: list[T]) -> list[R]:
    return list(_function(block))
