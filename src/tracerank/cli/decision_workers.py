"""``select --workers N``: N processes decide on blocks of pools; what they say comes back in the order of the pools.

This process is one of them: it reads, and decides where the others have enough to do. A pool is closed only when 64 MiB
of others were read; one that seems complete is given away before, and what is made of it waits until it is closed.
Knows nothing of methods: whoever asks gives what turns pools into rows, here and in the others. A problem is told when
its pool's turn has come, as if there were one process. The block of a worker that died is given to a new one, once.
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
from typing import Any, Generic, NamedTuple, TypeVar

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


Made = tuple[list[R], str | None]
"""The rows of a block, and what ended the work before all were made."""


@dataclass(slots=True, eq=False)
class _Block(Generic[R]):
    """Some pools that one process decides on."""

    pools: list[Pool] = field(default_factory=list)
    made: Made[R] | None = None
    data: bytes = b""
    """The pools as they were sent."""
    deaths: int = 0
    is_early: bool = False
    """Given away before its pools were closed, of which some may have gone on."""


class ReadAhead(Generic[R]):
    """What is met while reading ahead: problems, until their pool's turn has come, and pools that seem complete."""

    def __init__(self, report: Report, k: int | None = None) -> None:
        """``k``: pools with more rollouts are cut, so that others are decided on."""
        self._report = report
        self._k = k
        self._problems: list[Problem] = []
        self._crew: _Crew[R] | None = None
        self._quiet: dict[int, Pool] = {}  # by identity: what is equal may not be what is given out
        self._given: dict[int, tuple[_Block[R], int]] = {}
        self._shown = 0

    def __call__(self, problem: Problem) -> None:
        self._problems.append(problem)

    def take(self) -> list[Problem]:
        """The problems met since the last time."""
        taken, self._problems = self._problems, []
        return taken

    def tell(self, problems: Iterable[Problem]) -> None:
        """Their turn has come."""
        for problem in problems:
            self._report(problem)

    def begin(self, crew: "_Crew[R]") -> None:
        """From here on, others may work on pools that are not closed yet."""
        self._crew = crew

    def seems_complete(self, pool: Pool) -> None:
        """Have it decided on as soon as somebody has nothing to do, together with others."""
        if self._crew is None or (self._k is not None and len(pool) > self._k):
            return
        self._quiet[id(pool)] = pool
        self._shown += 1
        if self._shown % BLOCK == 0 and len(self._quiet) >= BLOCK:
            block: _Block[R] = _Block(list(islice(self._quiet.values(), BLOCK)), is_early=True)
            if self._crew.give(block):
                for place, one in enumerate(block.pools):
                    self._given[id(one)] = block, place
                    del self._quiet[id(one)]

    def goes_on(self, pool: Pool) -> None:
        """What is made of it is of no use."""
        self.closed(pool)

    def closed(self, pool: Pool) -> tuple[_Block[R], int] | None:
        """The block and the place in it with which the pool was given away; None: it was not."""
        self._quiet.pop(id(pool), None)
        return self._given.pop(id(pool), None)


class _Turn(NamedTuple, Generic[R]):
    """A pool whose row is written after that of the one before."""

    pool: Pool
    problems: list[Problem]
    """Met before it was read."""
    block: _Block[R]
    place: int
    """Of the pool in the block."""

    def row(self, here: Rows[R]) -> R:
        """The row, if its block is made; raises what ended the work on it."""
        assert self.block.made is not None
        rows, problem = self.block.made
        if self.place >= len(rows) and self.block.is_early:  # perhaps because of a pool that was never given out
            rows, problem = _made(here, [self.pool])
            if rows:
                return rows[0]
        if self.place < len(rows):
            return rows[self.place]
        raise TraceRankError(problem)


def in_workers(
    pools: Iterable[Pool], count: int, here: Rows[R], setup: Callable[[], Rows[R]], ahead: ReadAhead[R]
) -> Iterator[tuple[Pool, R]]:
    """Each pool with its row, in order, by so many processes: ``here`` makes rows in this one.

    ``setup`` is called once in each of the others, and must be importable by name. What was read before reading failed
    is still decided on.
    """
    stream = iter(pools)
    waiting: deque[_Turn[R]] = deque()
    failure: Exception | None = None
    with _Crew(count - 1, setup) as crew:
        ahead.begin(crew)
        is_over = False
        while not is_over:
            block: _Block[R] = _Block()
            read = 0
            try:
                for pool in islice(stream, BLOCK):
                    read += 1
                    given = ahead.closed(pool)
                    if given is None:
                        block.pools.append(pool)
                        given = block, len(block.pools) - 1
                    waiting.append(_Turn(pool, ahead.take(), *given))
            except Exception as error:
                failure = error
            is_over = read < BLOCK
            if block.pools and not crew.give(block):
                block.made = _made(here, block.pools)
            while waiting and (is_over or waiting[0].block.made is not None or len(waiting) > _most_waiting(count)):
                turn = waiting.popleft()
                crew.wait_for(turn.block)
                row = turn.row(here)
                ahead.tell(turn.problems)
                yield turn.pool, row
    ahead.tell(ahead.take())
    if failure is not None:
        raise failure


def _most_waiting(count: int) -> int:
    return MOST_WAITING * BLOCK * count


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
