"""Files to records: JSON Lines and tables (streamed), JSON arrays and objects, gzip or plain.

Knows nothing of rollouts: what a record means is the readers' business. A damaged line is reported and reading goes
on; only a file that cannot be used at all raises.
"""

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import orjson

from tracerank.errors import ReadError
from tracerank.pools.canonical import kind_of
from tracerank.readers.base import PathLike, Problem, RecordAt
from tracerank.readers.runs.containers import parts_of, parts_of_pool, records_in
from tracerank.readers.runs.transcripts import as_record
from tracerank.readers.sources.loose_json import NOT_JSON, load_objects
from tracerank.readers.sources.tables import Header, header_of, iter_rows
from tracerank.readers.values import encodable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PATIENCE = 1000
"""Unusable lines or records from the beginning of a file after which the whole file is refused."""

MAX_LINE_BYTES = 2**28
"""Of one line, unpacked; a longer one is dropped and reported."""
MAX_VALUE_BYTES = 2**30
"""Of a file that is one JSON value, unpacked: all of it is held in memory."""
MAX_RATIO = 200
"""Unpacked to packed bytes of a gzip file; real logs stay below 100, and no file that is packed twice comes back."""
_SMALL = 2**26
"""The ratio of what is smaller than this does not matter."""

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_BUFFER_BYTES = 1 << 18
"""Rollouts take tens of thousands of bytes a line: small buffers would put each together from many pieces."""
_ARRAY_START = re.compile(rb"\[\s*(?:[{\]]|$)")
_JSON_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
"""Bytes that no text holds, whatever its encoding."""
_EXPECTED = "expected one JSON object per line (JSON Lines), a JSON array of objects or a table with a header (CSV)"


ReadLine = Callable[[bytes, str], RecordAt | Problem]
"""What makes a record of a line of JSON and the place where it stands."""


def read_one(data: bytes, source: str) -> RecordAt | Problem:
    """The JSON object as a record."""
    try:
        value = orjson.loads(data)
    except ValueError:
        try:
            value = _decode(data)
        except ValueError as error:
            reason, _, _ = str(error).partition("; use sys.")  # what follows is advice to programs
            return Problem(source, f"not JSON ({reason}); expected a JSON object, it was dropped")
    return _record(value, source, len(data))


def iter_records(path: PathLike, read: ReadLine = read_one) -> Iterator[RecordAt | Problem]:
    """The records of one file in order, with a Problem in the place of each that is damaged.

    ``read`` is asked about the lines of JSON Lines.
    """
    name = os.fspath(path)
    try:
        with io.BufferedReader(io.FileIO(name), _BUFFER_BYTES) as file:
            yield from _records(name, file, read)
    except IsADirectoryError:
        raise ReadError(
            f"{name}: is a directory; name the files in it, for example {name.rstrip('/')}/*.jsonl"
        ) from None
    except FileNotFoundError:
        raise ReadError(f"{name}: no such file; check the path") from None
    except MemoryError:
        raise ReadError(f"{name}: does not fit into this machine's memory; write it as JSON Lines") from None
    except OSError as error:
        raise ReadError(f"{name}: cannot be read ({error.strerror or error}); check the file and its rights") from None


def iter_values(values: Iterable[Any], name: str) -> Iterator[RecordAt | Problem]:
    """Objects in memory as the records of a JSON array; they are counted as if they took no bytes."""
    listed = list(values)
    for index, value in enumerate(records_in(listed)):
        yield from _taken_apart(_record(value, f"{name}:[{index}]", 0))
    if not listed:
        raise ReadError(f"{name}: there are none")


class _TolerantGzip(io.RawIOBase):
    """A gzip stream whose damage ends it instead of raising, so that everything before can be used; no bomb."""

    def __init__(self, name: str, file: "io.BufferedReader[Any]") -> None:
        self.damage: str | None = None
        self._name = name
        self._packed = file
        self._stream = gzip.GzipFile(fileobj=file)
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        if self.damage is not None:
            return 0
        target = memoryview(buffer).cast("B")
        try:
            data = self._stream.read1(len(target))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damage = str(error).rstrip(".")
            return 0
        self._unpacked += len(data)
        if self._unpacked > max(_SMALL, MAX_RATIO * self._packed.tell()):
            reason = f"refused: unpacks to more than {MAX_RATIO} times its size, like a gzip bomb; unpack it yourself"
            raise ReadError(f"{self._name}: {reason} if it is meant")
        target[: len(data)] = data
        return len(data)


def _records(name: str, file: "io.BufferedReader[Any]", read: ReadLine) -> Iterator[RecordAt | Problem]:
    if file.peek(2)[:2] != _GZIP_MAGIC:
        yield from _from_stream(name, file, read)
        return
    unpacked = _TolerantGzip(name, file)
    found = False
    try:
        for item in _from_stream(name, io.BufferedReader(unpacked, _BUFFER_BYTES), read):
            found = found or isinstance(item, RecordAt)
            yield item
    except ReadError:
        if unpacked.damage is None:
            raise
    if unpacked.damage is not None:
        what = f"the gzip data is damaged or cut off ({unpacked.damage})"
        if not found:
            raise ReadError(f"{name}: {what}, nothing could be read; fetch or compress the file again")
        yield Problem(name, f"{what}; what came before was read, the rest is missing")


def _from_stream(name: str, stream: "io.BufferedReader[Any]", read: ReadLine) -> Iterator[RecordAt | Problem]:
    _refuse_binary(name, stream.peek(8192))
    number, first = 0, b""
    lines = _bounded_lines(name, stream)
    for line in lines:
        number += 1
        first = (line.removeprefix(_BOM) if number == 1 else line).strip()
        if first:
            break
    if not first:
        raise ReadError(f"{name}: the file is empty; {_EXPECTED}")
    header = header_of(first, stream.peek(_BUFFER_BYTES)) if first[:1] not in (b"{", b"[") else None
    if header is not None:
        items = _from_table(name, header, number, _no_dropped(name, lines))
    elif first.startswith(b"[") and stream.peek(1) and _is_one_of_many(first, stream.peek(64)):
        items = _from_lines(name, number, chain((first,), lines))
    elif _ARRAY_START.match(first) or (first.startswith(b"[") and _is_json(first)):
        items = _from_array(name, _rest(name, first, stream))
    elif first.startswith(b"{") and first.endswith((b"{", b"[", b",", b":")) and not _is_json(first):
        # A pretty-printed object; or, once in a blue moon, a first line cut off at such a place.
        items = _from_objects(name, number, _rest(name, first, stream))
    else:
        items = _from_lines(name, number, chain((first,), lines), read)
    yield from _with_a_record(name, chain.from_iterable(map(_taken_apart, items)))


class _Dropped(bytes):
    """What stands for a line that is too long to be read."""


def _bounded_lines(name: str, stream: "io.BufferedReader[Any]") -> Iterator[bytes]:
    """The lines, none longer than the limit: of a longer one nothing is held. The first may be the whole file."""
    first = stream.readline(MAX_VALUE_BYTES)
    if len(first) == MAX_VALUE_BYTES and not first.endswith(b"\n"):
        raise ReadError(_too_long(name))
    if first:
        yield first
    while line := stream.readline(MAX_LINE_BYTES):
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(_BUFFER_BYTES)
        yield _Dropped()


def _no_dropped(name: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        if isinstance(line, _Dropped):
            raise ReadError(f"{name}: a line of the table has more than {MAX_LINE_BYTES:,} bytes")
        yield line


def _rest(name: str, first: bytes, stream: "io.BufferedReader[Any]") -> bytes:
    """A file that is one JSON value, as far as it may be held in memory."""
    parts = [first, b"\n"]
    size = len(first)
    while part := stream.read(_BUFFER_BYTES):
        size += len(part)
        if size > MAX_VALUE_BYTES:
            raise ReadError(_too_long(name))
        parts.append(part)
    return b"".join(parts)


def _too_long(name: str) -> str:
    return f"{name}: one JSON value of more than {MAX_VALUE_BYTES:,} bytes; write it as JSON Lines, a record a line"


def _from_objects(name: str, number: int, data: bytes) -> Iterator[RecordAt | Problem]:
    """One pretty-printed object, or several after each other, as OpenTelemetry's console exporter prints spans."""
    if _is_json(data):
        yield read_one(data, name)
        return
    objects = load_objects(data.decode("utf-8", "replace"))
    if objects is NOT_JSON:
        yield from _from_lines(name, number, iter(data.splitlines()))
        return
    for index, value in enumerate(objects):
        yield _record(value, f"{name}:[{index}]", len(data) // len(objects))


def _taken_apart(item: RecordAt | Problem) -> list[RecordAt | Problem]:
    """The records that an object holds, where it is only a container."""
    if isinstance(item, Problem) or item.parsed is not None:
        return [item]
    if (parts := parts_of(item.value)) is None or parts_of_pool(item.value) is not None:
        return [item]  # a pool is taken apart where it is known what its rollouts look like
    return [_record(part.value, item.source + part.place, item.size // len(parts)) for part in parts]


def _with_a_record(name: str, items: Iterator[RecordAt | Problem]) -> Iterator[RecordAt | Problem]:
    """The items, unless there is no record among them: then the file is not what the user thinks it is."""
    early: list[Problem] = []
    for item in items:
        if isinstance(item, RecordAt):
            yield from early
            yield item
            yield from items
            return
        early.append(item)
        if len(early) >= PATIENCE:
            raise ReadError(f"{name}: nothing in the first {PATIENCE} lines is a JSON object; {_EXPECTED}")
    found = f"no JSON object in it ({early[0]})" if early else "the file is empty"
    raise ReadError(f"{name}: {found}; {_EXPECTED}")


def _refuse_binary(name: str, head: bytes) -> None:
    start = head.removeprefix(_BOM).lstrip()
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or start[1:2] == b"\0":
        raise ReadError(f"{name}: the text is UTF-16; save it as UTF-8")
    if start[:1] in (b"{", b"["):
        return
    if not _is_utf8(head) and not _CONTROL.search(head):
        raise ReadError(f"{name}: the text is not UTF-8; save it as UTF-8")
    if b"\0" in head or not _is_utf8(head):
        raise ReadError(f"{name}: is a binary file; {_EXPECTED}, plain or gzip-compressed")


def _is_utf8(head: bytes) -> bool:
    """Whether the beginning of a text is UTF-8; the last character may be cut."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and len(head) > 3
    return True


def _from_table(name: str, header: Header, number: int, lines: Iterator[bytes]) -> Iterator[RecordAt | Problem]:
    for row in iter_rows(name, header, number, lines):
        if row.value is None:
            yield Problem(row.source, row.reason or "")
        else:
            yield RecordAt(row.value, row.source, row.size)


def _is_one_of_many(line: bytes, following: bytes) -> bool:
    """Whether a line is a whole transcript, or a list of records behind which another one begins."""
    try:
        value = orjson.loads(line)
    except ValueError:
        return False
    return isinstance(value, list) and (following.lstrip().startswith(b"[") or as_record(value) is not None)


def _from_lines(
    name: str, number: int, lines: Iterator[bytes], read: ReadLine = read_one
) -> Iterator[RecordAt | Problem]:
    for line in lines:
        if isinstance(line, _Dropped):
            yield Problem(f"{name}:{number}", f"a line of more than {MAX_LINE_BYTES:,} bytes; it was dropped")
        elif line and not line.isspace():
            item = read(line, f"{name}:{number}")
            if isinstance(item, RecordAt) or line[:1] != b"[":
                yield item
            else:
                yield from _from_list(line, item)
        number += 1


def _from_list(line: bytes, problem: Problem) -> Iterator[RecordAt | Problem]:
    """The records of a line that is a list of them."""
    try:
        values = orjson.loads(line)
    except ValueError:
        values = None
    if not isinstance(values, list) or not any(isinstance(value, dict) for value in values):
        yield problem
        return
    for index, value in enumerate(values):
        yield _record(value, f"{problem.source}:[{index}]", len(line) // len(values))


def _from_array(name: str, data: bytes) -> Iterator[RecordAt | Problem]:
    try:
        records = records_in(orjson.loads(data))
    except ValueError:
        yield from _from_damaged_array(name, data)
        return
    for index, value in enumerate(records):
        yield _record(value, f"{name}:[{index}]", len(data) // len(records))


def _from_damaged_array(name: str, data: bytes) -> Iterator[RecordAt | Problem]:
    """Element by element, by matching brackets, so that one bad element does not cost its siblings."""
    depth, start, index, is_closed = 0, 0, 0, False
    for token in _JSON_TOKEN.finditer(data):
        mark = token.group()
        if mark in (b"{", b"["):
            depth += 1
            if depth == 1:
                start = token.end()
            continue
        is_end = mark in (b"}", b"]")
        if depth == 1 and (is_end or mark == b","):
            element = data[start : token.start()].strip()
            if element:
                yield read_one(element, f"{name}:[{index}]")
            start = token.end()
            index += 1
        depth -= is_end
        if depth == 0:
            is_closed = True
            break
    if not is_closed:
        yield Problem(f"{name}:[{index}]", "the JSON array breaks off here; what came before was read")
    elif data[start:].strip():
        yield Problem(name, "text after the end of the JSON array was ignored")


def _record(value: Any, source: str, size: int) -> RecordAt | Problem:
    whole = as_record(value) if type(value) is list else value
    if type(whole) is dict:
        return RecordAt(whole, source, size)
    return Problem(source, f"expected a JSON object, got {kind_of(value)}; it was dropped")


def _is_json(data: bytes) -> bool:
    try:
        _decode(data)
    except ValueError:
        return False
    return True


def _decode(data: bytes) -> Any:
    """JSON as orjson reads it, else as the standard library does: NaN, lone surrogates, broken UTF-8."""
    try:
        return orjson.loads(data)
    except ValueError:
        text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg}, line {error.lineno} column {error.colno}") from None
    # No encoder accepts the lone surrogates that escapes may leave.
    return json.loads(encodable(json.dumps(value, ensure_ascii=False))) if "\\u" in text else value
