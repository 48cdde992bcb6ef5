"""Inspect AI's ``.eval`` archives to one record a sample, without the library: both layouts, one sample at a time.

A sample is one member ``samples/{id}_epoch_{n}.json``, or a folder of that name with ``sample.json`` and its messages
and attachments in chunks. Members are read into memory only, after their sizes were checked: nothing in an archive can
fill the memory or name a file to write. What a sample means is read in ``inspect_eval.py``.
"""

import importlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tracerank.errors import ReadError
from tracerank.extras import needed
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.values import natural, whole_number

MAX_MEMBERS = 500_000
MAX_SAMPLE_BYTES = 1 << 30
"""Uncompressed, all members of a sample together."""
MAX_RATIO = 500
"""Uncompressed to compressed bytes; real logs stay below 100."""
_SMALL = 1 << 24
"""The ratio of what is smaller than this does not matter."""

_ZSTANDARD = 93
_MAX_MESSAGES = 1_000_000
_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d{1,9})(?:\.json|/sample\.json)", re.DOTALL)
_CHUNK = re.compile(r"(samples/.+_epoch_\d{1,9})/(messages|attachments)/(\d{1,12})\.json", re.DOTALL)
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, NotImplementedError)


@dataclass(slots=True)
class _Sample:
    """Where the parts of a sample stand in the archive."""

    id: str
    epoch: int
    body: zipfile.ZipInfo
    chunks: dict[str, list[tuple[int, zipfile.ZipInfo]]] = field(default_factory=dict)
    """``messages`` and ``attachments`` by the index of the first item of each chunk; empty in the classic layout."""

    @property
    def members(self) -> list[zipfile.ZipInfo]:
        return [self.body, *(info for chunks in self.chunks.values() for _, info in chunks)]


def iter_eval(name: str) -> Iterator[RecordAt | Problem]:
    """The samples of an archive, epoch by epoch, with a Problem in the place of each that is damaged or a zip bomb."""
    try:
        archive = zipfile.ZipFile(name)
    except (*_DAMAGE, UnicodeError) as error:
        raise ReadError(f"{name}: the zip archive is damaged or cut off ({error}); fetch or write it again") from None
    first: Problem | None = None
    is_empty = True
    with archive:
        for sample in _samples(name, archive):
            member = " ".join(sample.body.filename.split())  # a name may hold line breaks
            item = _read_sample(archive, sample, f"{name}!{member}")
            if isinstance(item, RecordAt):
                is_empty = False
            else:
                first = first or item
            yield item
    if is_empty:
        raise ReadError(f"{name}: not one of its samples could be read; the first: {first and first.reason}")


def _samples(name: str, archive: zipfile.ZipFile) -> list[_Sample]:
    members = archive.NameToInfo  # of members with the same name the last one counts, as in Inspect
    if len(archive.infolist()) > MAX_MEMBERS:
        raise ReadError(f"{name}: refused, {len(archive.infolist()):,} members are more than {MAX_MEMBERS:,}")
    if sum(info.compress_size for info in archive.infolist()) > os.path.getsize(name):
        raise ReadError(f"{name}: refused, its members overlap as in a zip bomb")
    samples: dict[str, _Sample] = {}
    for member, info in members.items():
        if found := _SAMPLE.fullmatch(member):
            prefix = member.removesuffix("/sample.json").removesuffix(".json")
            samples[prefix] = _Sample(found[1], int(found[2]), info)
    for member, info in members.items():
        chunk = _CHUNK.fullmatch(member)
        if chunk and (sample := samples.get(chunk[1])):
            sample.chunks.setdefault(chunk[2], []).append((int(chunk[3]), info))
    if not samples:
        raise ReadError(f"{name}: a zip archive without samples; expected an Inspect log, unpack any other archive")
    # Epochs of a question stand together, whatever the order in which they were finished.
    return sorted(samples.values(), key=lambda sample: (natural(sample.id), sample.epoch))


def _read_sample(archive: zipfile.ZipFile, sample: _Sample, source: str) -> RecordAt | Problem:
    size = sum(info.file_size for info in sample.members)
    try:
        if size > MAX_SAMPLE_BYTES:
            raise ValueError(f"refused: unpacks to {size:,} bytes, more than {MAX_SAMPLE_BYTES:,}")
        if any(info.file_size > max(_SMALL, MAX_RATIO * info.compress_size) for info in sample.members):
            raise ValueError(f"refused: unpacks to more than {MAX_RATIO} times its size, like a zip bomb")
        return RecordAt(_assembled(archive, sample), source, size)
    except RecursionError:
        reason = "nested too deeply"
    except MemoryError:
        reason = "too large for this machine's memory"
    except _DAMAGE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
    return Problem(source, f"{reason}; the sample was dropped")


def _assembled(archive: zipfile.ZipFile, sample: _Sample) -> Mapping[str, Any]:
    """A sample as one object, in the shape of the classic layout."""
    value = _json(archive, sample.body)
    if not isinstance(value, dict):
        raise ValueError("expected a JSON object")
    if "message_refs" not in value and not sample.chunks:
        return value
    chunks = {name: sorted(found, key=lambda chunk: chunk[0]) for name, found in sample.chunks.items()}
    attachments: dict[str, Any] = {}
    for start, info in chunks.get("attachments", ()):
        attachments.update((str(index), text) for index, text in enumerate(_list(archive, info), start))
    known: dict[int, Any] = {}
    for start, info in chunks.get("messages", ()):
        known.update(enumerate(_list(archive, info), start))
    messages = [known[index] for index in _places(value.get("message_refs"), len(known)) if index in known]
    return {**value, "messages": messages, "attachments": attachments}


def _places(references: object, count: int) -> Iterable[int]:
    """The messages of the final conversation, which are kept as half-open ranges of all messages."""
    places: list[int] = []
    for pair in references if isinstance(references, list) else ():
        if isinstance(pair, list) and len(pair) == 2:
            start, end = whole_number(pair[0]), whole_number(pair[1])
            if start is not None and end is not None:
                places += range(max(start, 0), min(end, count))
        if len(places) > _MAX_MESSAGES:
            raise ValueError(f"more than {_MAX_MESSAGES:,} messages")
    return places


def _list(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> list[Any]:
    value = _json(archive, info)
    if not isinstance(value, list):
        raise ValueError(f"{info.filename}: expected a JSON array")
    return value


def _json(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    data = _read(archive, info)
    try:
        return orjson.loads(data)
    except ValueError:
        text = data.decode("utf-8", "replace")
    try:
        return json.loads(text)  # NaN, lone surrogates
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg}, line {error.lineno} column {error.colno})") from None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member, never more of it than the size that was checked."""
    try:
        with archive.open(info) as stream:
            return stream.read()
    except NotImplementedError:
        if info.compress_type != _ZSTANDARD:
            raise
    # The standard library before 3.14 does not know this compression, but it knows where the data begins.
    with needed(f"{archive.filename}: compressed with Zstandard, which needs Python 3.14 or", "readers", ReadError):
        zstandard = importlib.import_module("zstandard")
    with open(str(archive.filename), "rb") as file:
        file.seek(info.header_offset)
        header = file.read(30)
        if header[:4] != b"PK\x03\x04" or info.flag_bits & 1:
            raise ValueError("encrypted, or its header is damaged")
        file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
        packed = file.read(info.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            data: bytes = stream.read(info.file_size + 1)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise ValueError("its size or checksum is wrong")
    return data
