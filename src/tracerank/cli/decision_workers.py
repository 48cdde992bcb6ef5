"""``select --workers N``: processes that decide on blocks of pools; what they say comes back in the order of the pools.

Knows nothing of methods: whoever asks gives a value that makes, in each process, what turns pools into rows. Reading
stays in this process, and a problem is told when its pool's turn has come, as if there were no workers. The block of a
worker that died is given to a new one, once.
"""

import io
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
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

from tracerank.errors import TraceRankError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Document, Evidence, Question, Rollout, Search, View
from tracerank.readers.files.records import Problem
from tracerank.readers.grouping import Report

BLOCK = 16
"""Pools that go to a worker at a time."""
AHEAD = 2
"""Blocks of each worker that are under way: one that it works on, and the next."""
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


@dataclass(slots=True)
class _Block:
    """Some pools, each with the problems met before it was read."""

    pools: list[Pool] = field(default_factory=list)
    problems: list[list[Problem]] = field(default_factory=list)
    data: bytes = b""
    """The pools, as they are sent."""
    deaths: int = 0


def in_workers(
    pools: Iterable[Pool], count: int, setup: Callable[[], Rows[R]], held: HeldProblems
) -> Iterator[tuple[Pool, R]]:
    """Each pool with its row, in order; ``setup`` is called once in each process, and must be importable by name.

    What was read before reading failed is still decided on.
    """
    stream = iter(pools)
    waiting: deque[_Block] = deque()
    failure: Exception | None = None
    with _Crew(count, setup) as crew:
        is_over = False
        while not is_over:
            block = _Block()
            try:
                for pool in islice(stream, BLOCK):
                    block.pools.append(pool)
                    block.problems.append(held.take())
            except Exception as error:
                failure = error
            is_over = len(block.pools) < BLOCK
            if block.pools:
                crew.give(block)
                waiting.append(block)
            while waiting and (is_over or len(waiting) >= AHEAD * count):
                block = waiting.popleft()
                rows, problem = crew.take(block)
                for pool, row, met in zip(block.pools, rows, block.problems, strict=False):
                    held.tell(met)
                    yield pool, row
                if problem is not None:
                    raise TraceRankError(problem)
    held.tell(held.take())
    if failure is not None:
        raise failure


class _Worker(Generic[R]):
    """One process and the blocks that it was given, in order."""

    def __init__(self, setup: Callable[[], Rows[R]]) -> None:
        self.blocks: deque[_Block] = deque()
        self._setup = setup
        self._process: BaseProcess | None = None
        self._ours: Connection | None = None

    def start(self) -> None:
        """Begin, or begin again with all that is still to be done."""
        self.stop(at_once=True)
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, self._setup), daemon=True)
        self._process.start()
        theirs.close()  # so that its end is noticed
        for block in self.blocks:
            self._send(block)

    def give(self, block: _Block) -> None:
        self.blocks.append(block)
        if self._process is None:
            self.start()
        else:
            self._send(block)

    def _send(self, block: _Block) -> None:
        assert self._ours is not None
        try:
            self._ours.send_bytes(block.data)
        except OSError:
            pass  # it has died, which whoever waits for the block will see

    def receive(self) -> bytes | None:
        """What it made of the first of its blocks; None: it has died."""
        assert self._ours is not None
        try:
            return self._ours.recv_bytes()
        except (EOFError, OSError):
            return None

    def stop(self, *, at_once: bool) -> None:
        if self._ours is not None:
            self._ours.close()  # an idle worker ends by that
        if self._process is not None:
            if at_once:
                self._process.terminate()
            self._process.join(_PATIENCE)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()


class _Crew(Generic[R]):
    """The workers, who take turns: the blocks come back in the order in which they were given."""

    def __init__(self, count: int, setup: Callable[[], Rows[R]]) -> None:
        self._workers: list[_Worker[R]] = [_Worker(setup) for _ in range(count)]
        self._given = self._taken = 0

    def __enter__(self) -> "_Crew[R]":
        return self

    def give(self, block: _Block) -> None:
        """To the next worker."""
        block.data = _packed(block.pools)
        self._workers[self._given % len(self._workers)].give(block)
        self._given += 1

    def take(self, block: _Block) -> tuple[list[R], str | None]:
        """The rows of the earliest block that was not taken yet, and what ended its work before all were made."""
        worker = self._workers[self._taken % len(self._workers)]
        self._taken += 1
        while (data := worker.receive()) is None:
            block.deaths += 1
            if block.deaths == MOST_DEATHS:
                first, last = (block.pools[place].question.id for place in (0, -1))
                raise TraceRankError(
                    f"--workers: {MOST_DEATHS} workers died between the questions {first!r} and {last!r} (killed, or "
                    "out of memory); try --workers 1"
                )
            worker.start()
        worker.blocks.popleft()
        rows, problem = pickle.loads(data)
        return rows, problem

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.stop(at_once=kind is not None)


def _fields_of(kind: type) -> Callable[[Any], tuple[type, tuple[Any, ...]]]:
    values = attrgetter(*(item.name for item in fields(kind)))
    return lambda value: (kind, values(value))


_REDUCED = {kind: _fields_of(kind) for kind in (Pool, Question, Rollout, Search, Evidence, Document, View)}
"""How values are taken apart: by their fields, in a third of the time that pickling slotted classes takes."""


def _packed(pools: list[Pool]) -> bytes:
    file = io.BytesIO()
    pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = dispatch_table | _REDUCED
    pickler.dump(pools)
    return file.getvalue()


def _work(theirs: Connection, setup: Callable[[], Rows[R]]) -> None:
    """In a worker: rows of each block that comes, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    inbox: SimpleQueue[bytes | None] = SimpleQueue()
    # A thread empties the pipe: else both ends could wait for each other to read.
    Thread(target=_listen, args=(theirs, inbox), daemon=True).start()
    rows_of: Rows[R] | None = None
    while (data := inbox.get()) is not None:
        rows: list[R] = []
        problem = None
        try:
            rows_of = rows_of or setup()
            rows.extend(rows_of(pickle.loads(data)))
        except TraceRankError as error:
            problem = str(error)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        try:
            theirs.send_bytes(pickle.dumps((rows, problem), pickle.HIGHEST_PROTOCOL))
        except OSError:
            return  # nobody waits any more


def _listen(theirs: Connection, inbox: "SimpleQueue[bytes | None]") -> None:
    try:
        while True:
            inbox.put(theirs.recv_bytes())
    except (EOFError, OSError):
        inbox.put(None)
