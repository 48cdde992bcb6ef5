"""Rollouts that are spread over several records, put together between the file and the reader.

A reader parses one record into one rollout. A format whose rollouts come in pieces, such as spans of a trace, also
satisfies ``Joiner``: ``pieces`` says which rollouts a record belongs to, and ``join`` makes one record of the pieces.
Records that have no pieces pass through untouched. Pieces may be interleaved and stand in several files; a rollout
stays open until a window of other records has passed, as pools do in ``grouping.py``.
What both remember of millions of closed ones is a ``DigestTable``.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tracerank.errors import ReadError
from tracerank.readers.base import Record
from tracerank.readers.files.records import RecordAt

_PARTS = 64
_FIRST_SLOTS = 16
_FULL = 0.8
"""Share of its slots beyond which a part grows by half."""
_BITS = 32
_LARGEST = 2**_BITS - 1


class ScatteredRollout(ReadError):
    """Pieces of a rollout that was already given out: reading on would lose them, wherever they were found."""


class Piece(NamedTuple):
    """What one record says about one rollout."""

    key: str
    """Pieces with the same key belong to one rollout."""
    value: Any


@runtime_checkable
class Joiner(Protocol):
    """A reader whose rollouts come in several records."""

    name: str

    def pieces(self, record: Record) -> Sequence[Piece]:
        """What the record says about one or more rollouts; empty: it is of another format. Cheap, never raises."""
        ...

    def join(self, values: Sequence[Any]) -> Record:
        """One record of all the pieces of a rollout, which the reader's ``parse`` takes."""
        ...


@dataclass(slots=True)
class _Open:
    """A rollout that may still receive pieces."""

    name: str
    joiner: Joiner
    source: str
    """Where its first piece stood."""
    start: int
    """Bytes read before it began."""
    own: int = 0
    """Bytes of its own pieces."""
    values: list[Any] = field(default_factory=list)


class Joining:
    """The open rollouts of some files, and a few bytes about each closed one."""

    def __init__(self, joiners: Sequence[Joiner], window_bytes: int | None) -> None:
        self._joiners = joiners
        self._window = window_bytes
        self._queue: deque[_Open] = deque()
        self._open: dict[str, _Open] = {}
        self._closed = DigestTable()
        self._bytes = 0

    @property
    def is_waiting(self) -> bool:
        """Whether there are rollouts that have not been given out."""
        return bool(self._queue)

    def through(self, items: Iterable[RecordAt]) -> Iterator[RecordAt]:
        """The records of a file, those in pieces as soon as their rollout is closed."""
        for item in items:
            self._bytes += item.size
            for joiner in self._joiners if item.parsed is None else ():
                pieces = joiner.pieces(item.value)
                if pieces:
                    self._add(joiner, pieces, item)
                    break
            else:
                yield item
            while self._has_passed():
                yield self._close()

    def rest(self) -> Iterator[RecordAt]:
        """What is still open after the last file, in order of first appearance."""
        while self._queue:
            yield self._close()

    def _add(self, joiner: Joiner, pieces: Sequence[Piece], item: RecordAt) -> None:
        for piece in pieces:
            name = f"{joiner.name}\0{piece.key}"
            rollout = self._open.get(name)
            if rollout is None:
                self._refuse_return(joiner, name, piece.key, item.source)
                rollout = _Open(name, joiner, item.source, self._bytes - item.size)
                self._open[name] = rollout
                self._queue.append(rollout)
            rollout.values.append(piece.value)
            rollout.own += item.size // len(pieces)

    def _has_passed(self) -> bool:
        if self._window is None or not self._queue:
            return False
        oldest = self._queue[0]
        return self._bytes - oldest.start - oldest.own > self._window

    def _close(self) -> RecordAt:
        rollout = self._queue.popleft()
        del self._open[rollout.name]
        if self._window is not None:
            self._closed.add(rollout.name)
        return RecordAt(rollout.joiner.join(rollout.values), rollout.source, rollout.own)

    def _refuse_return(self, joiner: Joiner, name: str, key: str, source: str) -> None:
        if name in self._closed:
            raise ScatteredRollout(
                f"{source}: {joiner.name} trace {key!r} goes on after it was closed: over {self._window:,} bytes of "
                "other records stood in between; sort the file by trace or use tr.read_pools(FILE), which holds "
                "everything in memory"
            )


class DigestTable:
    """Names with a number each, of which the first one given stays: what is remembered of millions of closed pools.

    Open addressing by digests, in parts that grow one by one so that there is never a second copy of all; nothing is
    ever removed. Two of 10^8 names share a digest once in some thousand runs.
    """

    def __init__(self) -> None:
        self._parts = [_Part() for _ in range(_PARTS)]

    def __len__(self) -> int:
        return sum(part.count for part in self._parts)

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def get(self, name: str) -> int | None:
        """The number of a name; None: it was not met."""
        found = self._found(digest_of(name))
        return None if found is None else found >> _BITS

    def get_with(self, name: str, detail: str) -> int | None:
        """The number of a name that was given with this detail."""
        found = self._found(digest_of(name))
        if found is None:
            return None
        if found & _LARGEST == digest_of(detail) & _LARGEST:
            return found >> _BITS
        return self.get(f"{name}\0{detail}")

    def add(self, name: str, number: int = 0, detail: str = "") -> None:
        """Remember a name with a detail, unless both are known; numbers end at 32 bits."""
        digest, mark = digest_of(name), digest_of(detail) & _LARGEST
        value = min(number, _LARGEST) << _BITS | mark
        known = self._found(digest)
        if known is None:
            self._parts[digest % _PARTS].put(digest, value)
        elif known & _LARGEST != mark and (other := digest_of(f"{name}\0{detail}")):
            self._parts[other % _PARTS].put(other, value)

    def _found(self, digest: int) -> int | None:
        part = self._parts[digest % _PARTS]
        slot, is_there = part.slot(digest)
        return part.values[slot] if is_there else None


class _Part:
    """The names whose digests leave the same remainder."""

    __slots__ = ("count", "digests", "values")

    def __init__(self) -> None:
        self.digests = array("Q", bytes(8 * _FIRST_SLOTS))  # 0: free
        self.values = array("Q", bytes(8 * _FIRST_SLOTS))  # the number, and 32 bits of the detail's digest
        self.count = 0

    def put(self, digest: int, value: int) -> None:
        """Unless it is there."""
        slot, is_there = self.slot(digest)
        if is_there:
            return
        self.digests[slot] = digest
        self.values[slot] = value
        self.count += 1
        if self.count > _FULL * len(self.digests):
            self._grow()

    def slot(self, digest: int) -> tuple[int, bool]:
        """Where a digest lies, or would."""
        digests = self.digests
        size = len(digests)
        slot = digest // _PARTS % size
        while (found := digests[slot]) and found != digest:
            slot = slot + 1 if slot + 1 < size else 0
        return slot, found == digest

    def _grow(self) -> None:
        digests, values = self.digests, self.values
        size = len(digests) * 3 // 2
        self.digests, self.values = array("Q", bytes(8 * size)), array("Q", bytes(8 * size))
        for digest, value in zip(digests, values, strict=True):
            if digest:
                slot, _ = self.slot(digest)
                self.digests[slot] = digest
                self.values[slot] = value


def digest_of(text: str) -> int:
    """Eight bytes, never all zero."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little") or 1
