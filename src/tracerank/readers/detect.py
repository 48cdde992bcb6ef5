"""Which reader a record needs: the table of formats by name, and recognition by content.

File names are never looked at. The order of the table matters: the more specific format is asked first.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from tracerank.errors import ReadError, UsageError
from tracerank.readers.base import Reader, Record
from tracerank.readers.browsing import BrowsingReader
from tracerank.readers.canonical import CanonicalReader
from tracerank.readers.records import PATIENCE, RecordAt
from tracerank.readers.search_r1 import SearchR1Reader
from tracerank.readers.webqa import WebQAReader

AUTO = "auto"

_IN_ORDER: tuple[Reader, ...] = (CanonicalReader(), WebQAReader(), SearchR1Reader(), BrowsingReader())
READERS: Mapping[str, Reader] = MappingProxyType({reader.name: reader for reader in _IN_ORDER})

_KEYS_SHOWN = 12


def reader_named(name: str) -> Reader:
    """The reader of a format."""
    try:
        return READERS[name]
    except KeyError:
        raise UsageError(f"unknown reader {name!r}; known are {', '.join((AUTO, *READERS))}") from None


def detect(record: Record) -> Reader | None:
    """The reader that recognises the record, if any."""
    for reader in _IN_ORDER:
        if reader.recognises(record):
            return reader
    return None


def assign_readers(records: Iterable[RecordAt]) -> Iterator[tuple[Reader, RecordAt]]:
    """A reader for each record of one file: its own, else that of the first record that was recognised."""
    usual: Reader | None = None
    waiting: list[RecordAt] = []
    for item in records:
        reader = detect(item.value) or usual
        if reader is None:
            waiting.append(item)
            if len(waiting) >= PATIENCE:
                break
            continue
        if usual is None:
            usual = reader
            for early in waiting:
                yield reader, early
            waiting.clear()
        yield reader, item
    if waiting:
        raise ReadError(_unrecognised(waiting[0]))


def _unrecognised(item: RecordAt) -> str:
    keys = [str(key) for key in item.value]
    shown = ", ".join(keys[:_KEYS_SHOWN]) + (", …" if len(keys) > _KEYS_SHOWN else "")
    return (
        f"{item.source}: no known format, the record has the keys: {shown or '(none)'}; "
        f"known formats: {', '.join(READERS)} (docs/file-formats.md), or pass a Reader of your own"
    )
