"""``select --workers N``: N processes decide on blocks of pools; what they say comes back in the order of the pools.

This process is one of them: it reads, and decides where the others have enough to do. Knows nothing of methods: whoever
asks gives what turns pools into rows, here and in the others. A problem is told when its pool's turn has come, as if
there were one process. The block of a worker that died is given to a new one, once.
"""

import io
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copyreg import dispatch_table
from dataclasses import dataclass, field, fields
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from operator import attrgetter
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Any, Generic, TypeVar

from tracerank.cli import collect_less
from tracerank.errors import TraceRankError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Document, Evidence, Question, Rollout, Search, View
from tracerank.readers.files.records import Problem
from tracerank.readers.grouping import Report

BLOCK = 16
"""Pools that go to a worker at a time."""
AHEAD = 2
"""Blocks of each worker that are under way: one that it works on, and the next."""
MOST_WAITING = 16
"""Blocks for each worker that may wait for their turn behind a slow one."""
MOST_DEATHS = 2
"""Workers that may die on one block; then it is the block."""
_PATIENCE = 5.0
"""Seconds that a worker has to end when it is told to."""

R = TypeVar("R")
Rows = Callable[[list[Pool]], Iterator[R]]
"""What makes a row of each pool, in order."""


class HeldProblems:
    """Problems met while reading ahead, until their pool's turn has come."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._held: list[Problem] = []

    def __call__(self, problem: Problem) -> None:
        self._held.append(problem)

    def take(self) -> list[Problem]:
        """Those met since the last time."""
        held, self._held = self._held, []
        return held

    def tell(self, problems: Iterable[Problem]) -> None:
        """Their turn has come."""
        for problem in problems:
            self._report(problem)


Made = tuple[list[R], str | None]
"""The rows of a block, and what ended the work before all were made."""


@dataclass(slots=True, eq=False)
class _Block(Generic[R]):
    """Some pools, each with the problems met before it was read."""

    pools: list[Pool] = field(default_factory=list)
    problems: list[list[Problem]] = field(default_factory=list)
    made: Made[R] | None = None
    data: bytes = b""
    """The pools as they were sent."""
    deaths: int = 0

    def read(self, stream: Iterator[Pool], held: HeldProblems) -> Exception | None:
        """Fill it; what reading failed with, if it did."""
        try:
            for pool in islice(stream, BLOCK):
                self.pools.append(pool)
                self.problems.append(held.take())
        except Exception as error:
            return error
        return None

    def told(self, held: HeldProblems) -> Iterator[tuple[Pool, R]]:
        """Its pools with their rows."""
        assert self.made is not None
        rows, problem = self.made
        for pool, row, met in zip(self.pools, rows, self.problems, strict=False):
            held.tell(met)
            yield pool, row
        if problem is not None:
            raise TraceRankError(problem)


def in_workers(
    pools: Iterable[Pool], count: int, here: Rows[R], setup: Callable[[], Rows[R]], held: HeldProblems
) -> Iterator[tuple[Pool, R]]:
    """Each pool with its row, in order, by so many processes: ``here`` makes rows in this one.

    ``setup`` is called once in each of the others, and must be importable by name. What was read before reading failed
    is still decided on.
    """
    stream = iter(pools)
    waiting: deque[_Block[R]] = deque()
    with _Crew(count - 1, setup) as crew:
        is_over = False
        while not is_over:
            block: _Block[R] = _Block()
            failure = block.read(stream, held)
            is_over = len(block.pools) < BLOCK
            if block.pools:
                waiting.append(block)
                if not crew.give(block):
                    block.made = _made(here, block.pools)
            while waiting and (is_over or waiting[0].made is not None or len(waiting) > MOST_WAITING * count):
                first = waiting.popleft()
                crew.wait_for(first)
                yield from first.told(held)
    held.tell(held.take())
    if failure is not None:
        raise failure


class _Worker(Generic[R]):
    """One process and the blocks that it was given, in order."""

    def __init__(self, setup: Callable[[], Rows[R]]) -> None:
        self.blocks: deque[_Block[R]] = deque()
        self._setup = setup
        self._process: BaseProcess | None = None
        self._ours: Connection | None = None
        self._is_idle = True

    def give(self, block: _Block[R]) -> None:
        self.blocks.append(block)
        self._send(block)

    def take(self) -> None:
        """Wait for the first of its blocks; where it has died on it, another process does what is left."""
        assert self._ours is not None
        block = self.blocks[0]
        try:
            block.made = pickle.loads(self._ours.recv_bytes())
            self.blocks.popleft()
        except (EOFError, OSError):
            block.deaths += 1
            if block.deaths == MOST_DEATHS:
                first, last = (block.pools[place].question.id for place in (0, -1))
                raise TraceRankError(
                    f"--workers: {MOST_DEATHS} workers died between the questions {first!r} and {last!r} (killed, or "
                    "out of memory); try without the option"
                ) from None
            self.stop(at_once=True)
            self.start()

    def has_more(self) -> bool:
        """Whether something can be taken without waiting."""
        return bool(self.blocks) and self._ours is not None and self._ours.poll()

    def start(self) -> None:
        """A new process, with what the last one left."""
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._setup), daemon=True)
        self._process.start()
        theirs.close()  # so that its end is noticed
        for block in self.blocks:
            self._send(block)

    def _send(self, block: _Block[R]) -> None:
        assert self._ours is not None
        self._is_idle = False
        block.data = block.data or _packed(block.pools)
        with suppress(OSError):  # it has died, which whoever waits for the block will see
            self._ours.send_bytes(block.data)

    def stop(self, *, at_once: bool) -> None:
        """End the process; one that has worked ends by itself when the pipe is closed."""
        if self._ours is not None and self._process is not None:
            self._ours.close()
            if at_once or self._is_idle:  # who was never given anything may still be loading
                self._process.terminate()
            self._process.join(_PATIENCE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()


class _Crew(Generic[R]):
    """The other processes."""

    def __init__(self, count: int, setup: Callable[[], Rows[R]]) -> None:
        self._workers: list[_Worker[R]] = [_Worker(setup) for _ in range(count)]

    def __enter__(self) -> "_Crew[R]":
        # At once: they load what they need while the first pools are read, which may be a window of 64 MiB.
        for worker in self._workers:
            worker.start()
        return self

    def give(self, block: _Block[R]) -> bool:
        """Whether somebody takes the block."""
        for worker in self._workers:
            while worker.has_more():
                worker.take()
        worker = min(self._workers, key=lambda worker: len(worker.blocks))
        is_free = len(worker.blocks) < AHEAD
        if is_free:
            worker.give(block)
        return is_free

    def wait_for(self, block: _Block[R]) -> None:
        """Until the block is made."""
        while block.made is None:
            next(worker for worker in self._workers if block in worker.blocks).take()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.stop(at_once=kind is not None)


_Reduce = Callable[[Any], tuple[type, tuple[Any, ...]]]


def _fields_of(kind: type) -> _Reduce:
    values = attrgetter(*(item.name for item in fields(kind)))
    return lambda value: (kind, values(value))


_REDUCED: dict[type, _Reduce] = {
    kind: _fields_of(kind) for kind in (Pool, Question, Rollout, Search, Evidence, Document, View)
}
"""How values are taken apart: by their fields, in a third of the time that pickling slotted classes takes."""


def _packed(pools: list[Pool]) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {**dispatch_table, **_REDUCED}
    pickler.dump(pools)
    return file.getvalue()


def _work(theirs: Connection, setup: Callable[[], Rows[R]]) -> None:
    """In a worker: rows of each block that comes, until the pipe is closed."""
    collect_less()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    inbox: SimpleQueue[bytes | None] = SimpleQueue()
    # A thread empties the pipe: else both ends could wait for each other to read.
    Thread(target=_listen, args=(theirs, inbox), daemon=True).start()
    rows_of = setup()
    while (data := inbox.get()) is not None:
        made = _made(rows_of, pickle.loads(data))
        try:
            theirs.send_bytes(pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
        except OSError:
            return  # nobody waits any more


def _made(rows_of: Rows[R], pools: list[Pool]) -> Made[R]:
    rows: list[R] = []
    try:
        rows.extend(rows_of(pools))
    except TraceRankError as error:
        return rows, str(error)
    except Exception as error:
        return rows, f"{type(error).__name__}: {error}"
    return rows, None


def _listen(theirs: Connection, inbox: "SimpleQueue[bytes | None]") -> None:
    try:
        while True:
            inbox.put(theirs.recv_bytes())
    except (EOFError, OSError):
        inbox.put(None)
