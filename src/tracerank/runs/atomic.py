"""Files that are written whole or not at all: a draft beside the file is renamed onto its name."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from tracerank.errors import UsageError
from tracerank.runs.locks import alone_with


def is_draft(name: str) -> bool:
    """Whether a file is a draft, which only a kill leaves behind."""
    return name.startswith(".") and name.endswith(".tmp")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a draft that gets the name when the block ends well and is removed otherwise.

    A draft that a killed process left is used again. Errors of the system pass as they are.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target  # a pipe or a device cannot be renamed onto
        return
    draft = target.with_name(f".{target.name}.tmp")
    with alone_with(target, draft):
        yield draft
        os.replace(draft, target)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that appears under its name when the block ends well, and not at all otherwise."""
    if os.path.isdir(path):
        raise UsageError(f"{os.fspath(path)}: is a directory; name a file in it")
    try:
        with replacing(path) as draft, open(draft, "wb") as file:
            yield file
    except OSError as error:
        raise UsageError(f"{os.fspath(path)}: cannot be written ({error.strerror or error})") from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file; lone surrogates, which some logs hold, are escaped."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def write_json(path: str | os.PathLike[str], value: Mapping[str, Any]) -> None:
    """Write a JSON object for people to read."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def packed(path: str | os.PathLike[str], file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """The file, or gzip on top of it when the name ends with .gz."""
    if not os.fspath(path).endswith(".gz"):
        return nullcontext(file)
    # No name and time inside: the same records give the same bytes.
    return cast(AbstractContextManager[BinaryIO], gzip.GzipFile("", "wb", 6, file, mtime=0))


def write_lines(path: str | os.PathLike[str], records: Iterable[Mapping[str, Any]]) -> None:
    """Write one record a line, gzip-compressed when the name ends with .gz."""
    with whole_file(path) as file, packed(path, file) as lines:
        lines.writelines(map(line_of, records))


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as a line of JSON."""
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Lone surrogates and integers beyond 64 bits, which only the standard library writes.
        return json.dumps(record).encode() + b"\n"
