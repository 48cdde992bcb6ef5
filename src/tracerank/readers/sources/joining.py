"""Rollouts that are spread over several records, put together between the file and the reader.

A reader parses one record into one rollout. A format whose rollouts come in pieces, such as spans of a trace, also
satisfies ``Joiner``: ``pieces`` says which rollouts a record belongs to, and ``join`` makes one record of the pieces.
Records that have no pieces pass through untouched. Pieces may be interleaved and stand in several files; a rollout
stays open until a window of other records has passed, as pools do in ``grouping.py``.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tracerank.errors import ReadError
from tracerank.readers.base import Record, RecordAt

_LOW = 2**32 - 1


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

    source: str
    """Where its first piece stood."""
    start: int
    """Bytes read before it began."""
    own: int = 0
    """Bytes of its own pieces."""
    values: list[Any] = field(default_factory=list)


class Joining:
    """The open rollouts of some files, and a few bytes about each closed one."""

    def __init__(self, joiner: Joiner | None, window_bytes: int | None) -> None:
        self._joiner = joiner
        self._window = window_bytes
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._closed = Digests()
        self._bytes = 0

    @property
    def is_waiting(self) -> bool:
        """Whether there are rollouts that have not been given out."""
        return bool(self._open)

    def through(self, items: Iterable[RecordAt]) -> Iterator[RecordAt]:
        """The records of a file, those in pieces as soon as their rollout is closed."""
        for item in items:
            self._bytes += item.size
            pieces = self._joiner.pieces(item.value) if self._joiner is not None and item.parsed is None else ()
            for piece in pieces:
                self._add(piece, item, item.size // len(pieces))
            if not pieces:
                yield item
            while self._has_passed():
                yield self._close()

    def rest(self) -> Iterator[RecordAt]:
        """What is still open after the last file, in order of first appearance."""
        while self._open:
            yield self._close()

    def _add(self, piece: Piece, item: RecordAt, size: int) -> None:
        rollout = self._open.get(piece.key)
        if rollout is None:
            self._refuse_return(piece.key, item.source)
            rollout = self._open[piece.key] = _Open(item.source, self._bytes - item.size)
        rollout.values.append(piece.value)
        rollout.own += size

    def _has_passed(self) -> bool:
        if self._window is None or not self._open:
            return False
        oldest = next(iter(self._open.values()))
        return self._bytes - oldest.start - oldest.own > self._window

    def _close(self) -> RecordAt:
        assert self._joiner is not None
        key, rollout = self._open.popitem(last=False)
        if self._window is not None:
            self._closed.add(key)
        return RecordAt(self._joiner.join(rollout.values), rollout.source, rollout.own)

    def _refuse_return(self, key: str, source: str) -> None:
        if key in self._closed:
            name = "" if self._joiner is None else f"{self._joiner.name} "
            raise ScatteredRollout(
                f"{source}: {name}trace {key!r} goes on after it was closed: over {self._window:,} bytes of "
                "other records stood in between; sort the file by trace or use tr.read_pools(FILE), which holds "
                "everything in memory"
            )


class Digests:
    """Names with a number each, of which the first one given stays: what is remembered of closed pools and rollouts.

    By digests, so that each takes some hundred bytes however long it is. Two of 10^8 names share a digest once in some
    thousand runs.
    """

    def __init__(self) -> None:
        self._known: dict[int, int] = {}  # the number, and behind it 32 bits of the detail's digest

    def __contains__(self, name: str) -> bool:
        return digest_of(name) in self._known

    def get(self, name: str) -> int | None:
        """The number of a name; None: it was not met."""
        found = self._known.get(digest_of(name))
        return None if found is None else found >> 32

    def get_with(self, name: str, detail: str) -> int | None:
        """The number of a name that was given with this detail."""
        found = self._known.get(digest_of(name), 0)
        return found >> 32 if found and found & _LOW == digest_of(detail) & _LOW else self.get(f"{name}\0{detail}")

    def add(self, name: str, number: int = 0, detail: str = "") -> None:
        """Remember a name with a detail, unless both are known."""
        value = number << 32 | digest_of(detail) & _LOW
        if self._known.setdefault(digest_of(name), value) & _LOW != value & _LOW:
            self._known.setdefault(digest_of(f"{name}\0{detail}"), value)


def digest_of(text: str) -> int:
    """Eight bytes."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
