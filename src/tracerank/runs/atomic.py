"""Files that are written whole or not at all: a draft beside the file is renamed onto its name."""

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from tracerank.errors import UsageError

_DRAFT = re.compile(r"\.(.+)\.(\d+)\.tmp")


def is_draft(name: str) -> bool:
    """Whether a file is a draft, which only a kill leaves behind."""
    return _DRAFT.fullmatch(name) is not None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a draft that gets the name when the block ends well and is removed otherwise.

    Drafts of the same file that killed processes left are removed. Errors of the system pass as they are.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target  # a pipe or a device cannot be renamed onto
        return
    remove_drafts(target)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield draft
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def remove_drafts(path: Path) -> None:
    """Remove the drafts of a file whose processes no longer run."""
    with suppress(OSError):
        for entry in os.scandir(path.parent):
            found = _DRAFT.fullmatch(entry.name)
            if found and found[1] == path.name and not _is_running(int(found[2])):
                os.unlink(entry.path)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # of another user, or not a process id
    return True


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
        for record in records:
            lines.write(line_of(record))


def line_of(record: Mapping[str, Any]) -> bytes:
    """A record as a line of JSON."""
    try:
        return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Lone surrogates and integers beyond 64 bits, which only the standard library writes.
        return json.dumps(record).encode() + b"\n"
