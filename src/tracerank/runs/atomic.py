"""Files that are written whole or not at all; the one place that renames a draft onto a name.

What grows line by line and is resumed (records, rollouts under way) is not written here.
"""

import gzip
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from tracerank.errors import UsageError

_DRAFT = re.compile(r"\..+\.(\d+)\.tmp")
_LEFT_SECONDS = 60.0
"""How long a draft whose writer is gone must have lain still: on a shared disk its writer may be on another machine."""
_swept: set[Path] = set()
"""Folders in which this process has looked for drafts."""


def is_draft(name: str) -> bool:
    """Whether a file is what a kill has left of one being written."""
    return _DRAFT.fullmatch(name) is not None


@contextmanager
def replacing(path: str | os.PathLike[str], *, is_synced: bool = False) -> Iterator[Path]:
    """The path of a draft that gets the name when the block ends well and is removed otherwise.

    The system's errors pass as they are. With ``is_synced`` also a power cut leaves the old file or the new one.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target  # a pipe or a device cannot be renamed onto
        return
    _sweep(target.parent)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield draft
        if is_synced:
            _sync(draft)
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    if is_synced and os.name == "posix":
        _sync(target.parent)


def _sweep(folder: Path) -> None:
    """Remove the drafts that killed processes have left in a folder."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):
        for path in folder.iterdir():
            found = _DRAFT.fullmatch(path.name)
            if found and not _is_running(int(found[1])) and time.time() - path.stat().st_mtime > _LEFT_SECONDS:
                path.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's, or no number of a process
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
    """Write a text file, whole; half a character, as some logs hold, is spelled out."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def write_json(path: str | os.PathLike[str], value: Mapping[str, Any]) -> None:
    """Write a JSON object for people to read, whole."""
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


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
