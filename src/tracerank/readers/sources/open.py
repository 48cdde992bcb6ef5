"""What a path stands for: one file of any container, all files of a folder, or those that a pattern matches.

Finds and opens; what the containers hold is read in ``json_lines.py``, ``arrow.py``, ``archives.py`` and
``sqlite_stores.py``. Containers are told apart by their first bytes, whatever the name.
"""

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tracerank.errors import ReadError
from tracerank.readers.base import PathLike, Problem, RecordAt
from tracerank.readers.sources.json_lines import ReadLine, iter_records, read_one
from tracerank.readers.sources.remote import address, fetched, is_remote, remote_files
from tracerank.readers.sources.sqlite_file import BESIDE, SQLITE_MAGIC
from tracerank.readers.sources.trial_folders import RESULT, Trials, trials_among
from tracerank.readers.values import natural

_PARQUET_MAGIC = b"PAR1"
_ARROW_MAGIC = (b"ARROW1", b"\xff\xff\xff\xff")  # of a file, and of a stream of batches as ``datasets`` saves it
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # the second: an archive without members
_ABOUT_ARROW = frozenset(("dataset_info.json", "state.json"))
_OPENED = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""What a shell opened for this process, such as ``<(zcat logs.gz)``."""
NOT_A_FILE = "a pipe or a device, not a file"
_MESSAGE = re.compile(r"[/\\]messages[/\\]message_\d{1,9}\.json\Z")
_SESSION = re.compile(r"[/\\]session_([^/\\]+)[/\\]")
_ITERATION = re.compile(r"(?:iter|iteration|run|rollout|attempt|sample|seed|trial|epoch|pass|k)[-_ ]?\d{1,9}", re.I)


@dataclass(frozen=True, slots=True)
class Found:
    """The files that a path stands for, in the order in which they are read."""

    names: tuple[str, ...]
    place: str | None = None
    """The folder or pattern in which they were found; None: the user named the file itself, so it must be readable."""
    refused: tuple[str, ...] = ()
    """Pipes and devices in the folder, which would block or never end."""
    joined: Mapping[str, Callable[[], Iterator[RecordAt | Problem]]] = field(default_factory=dict)
    """What reads those of the names that stand for several files: trials of a job, sessions with a file a message."""

    def records(self, name: str, read: ReadLine = read_one) -> Iterator[RecordAt | Problem]:
        """The records of one of the files; ``read`` is asked about the lines of JSON Lines."""
        return self.joined[name]() if name in self.joined else iter_input(name, read)


def find_files(path: PathLike) -> Found:
    """The files of a folder or pattern; any other path stands for itself. Raises when there is nothing."""
    name = os.fspath(path)
    if os.path.isdir(name):
        return _found(list(_below(name)), name)
    if os.path.lexists(name):
        if _is_endless(name) and not name.startswith(_OPENED):
            raise ReadError(f"{name}: {NOT_A_FILE}; write what it gives to a file")
        return Found((name,))
    if is_remote(name):
        return _found_remote(name)
    if not glob.has_magic(name):
        raise ReadError(f"{name}: no such file; check the path")
    names: list[str] = []
    for match in glob.glob(name, recursive=True):
        names += _below(match) if os.path.isdir(match) else [match]
    if not names:
        raise ReadError(f"{name}: no file matches the pattern; check it, ** stands for any folders")
    return _found(list(dict.fromkeys(names)), name)


def _found_remote(name: str) -> Found:
    names = remote_files(name)
    if not names:
        raise ReadError(f"{address(name)}: no file there matches; check the address")
    if names == [address(name)]:
        return Found((names[0],))
    return Found(in_sample_order(names), address(name))


def _found(names: list[str], place: str) -> Found:
    refused = tuple(filter(_is_endless, names))
    names = [name for name in names if name not in refused]
    if not names:
        raise ReadError(f"{place}: the folder holds no files; hidden ones, pipes and devices are not read")
    sessions, names = _sessions_among(names)
    trials = Trials()
    if any(os.path.basename(name) == RESULT for name in names):
        trials, names = trials_among(in_sample_order(names))
    joined = {folder: partial(_session, folder, parts) for folder, parts in sessions.items()}
    joined |= {name: partial(trials.records, name) for name in trials.by_name}
    return Found((*trials.by_name, *in_sample_order([*sessions, *names])), place, refused, joined)


def _sessions_among(names: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Sessions as Strands keeps them, a file for each message and two that describe the rest, and the other names."""
    found: dict[str, list[str]] = {}
    for name in names:
        if _MESSAGE.search(name):
            found.setdefault(os.path.dirname(name), []).append(name)
    about = {
        os.path.normpath(os.path.join(folder, above, file))
        for folder in found
        for above, file in (("..", "agent.json"), (os.path.join("..", "..", ".."), "session.json"))
    }
    rest = [name for name in names if os.path.dirname(name) not in found and os.path.normpath(name) not in about]
    return {folder: tuple(sorted(each, key=natural)) for folder, each in found.items()}, rest


def _session(folder: str, names: Sequence[str]) -> Iterator[RecordAt | Problem]:
    messages: list[Any] = []
    size = 0
    for name in names:
        for item in iter_records(name):
            if isinstance(item, Problem):
                yield item
            else:
                messages.append(item.value.get("message", item.value))
                size += item.size
    found = _SESSION.search(folder)
    yield RecordAt({"messages": messages, "session_id": found[1] if found else folder}, folder, size)


def iter_input(path: PathLike, read: ReadLine = read_one) -> Iterator[RecordAt | Problem]:
    """The records of one file of any container, with a Problem in the place of each that is damaged."""
    name = os.fspath(path)
    head = _head(name)
    # What reads a container is imported for the first file of its kind.
    if head.startswith((_PARQUET_MAGIC, *_ARROW_MAGIC)):
        from tracerank.readers.sources.arrow import iter_arrow, iter_parquet

        yield from iter_parquet(name) if head.startswith(_PARQUET_MAGIC) else iter_arrow(name)
    elif head.startswith(_ZIP_MAGIC):
        from tracerank.readers.sources.archives import iter_eval

        yield from iter_eval(name)
    elif head.startswith(SQLITE_MAGIC):
        from tracerank.readers.sources.sqlite_stores import iter_store

        yield from iter_store(name)
    elif not os.path.lexists(name) and is_remote(name):
        yield from _iter_remote(address(name))
    else:
        yield from iter_records(path, read)


def _iter_remote(name: str) -> Iterator[RecordAt | Problem]:
    """The records of a file behind an address, which they name as their place."""
    with fetched(name) as copy:
        here = str(copy)
        try:
            for item in iter_input(here):
                place = item.source.replace(here, name, 1)
                yield item._replace(source=place) if isinstance(item, RecordAt) else replace(item, source=place)
        except ReadError as error:
            raise ReadError(str(error).replace(here, name)) from None


def in_sample_order(names: list[str]) -> tuple[str, ...]:
    """The files in natural order; where ``iter1/q.json`` has a twin ``iter2/q.json``, the twins stand together.

    So a question's rollouts are near each other, however many questions an iteration holds.
    """
    keys = {name: _without_iterations(name) for name in names}
    shared = Counter(keys.values())
    if sum(count for count in shared.values() if count > 1) * 2 > len(names):
        return tuple(sorted(names, key=lambda name: (natural(keys[name]), natural(name))))
    return tuple(sorted(names, key=natural))


def _without_iterations(name: str) -> str:
    *folders, file = name.split(os.sep)
    return os.sep.join([*("*" if _ITERATION.fullmatch(each) else each for each in folders), file])


def _below(folder: str) -> Iterator[str]:
    """Files at any depth; links to folders are not followed, so that a loop ends."""
    for place, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for file in files:
            is_beside = any(file.endswith(ending) and file.removesuffix(ending) in files for ending in BESIDE)
            # Journals are read together with their store; a data set of ``datasets`` has two files about itself.
            if is_beside or file.startswith(".") or (file in _ABOUT_ARROW and {*files} >= _ABOUT_ARROW):
                continue
            name = os.path.join(place, file)
            if os.path.exists(name):
                yield name


def _is_endless(name: str) -> bool:
    return os.path.exists(name) and not os.path.isfile(name)


def _head(name: str) -> bytes:
    """The first bytes of a regular file; empty for anything else, since a pipe can be read only once."""
    if not os.path.isfile(name):
        return b""
    try:
        with open(name, "rb") as file:
            return file.read(len(SQLITE_MAGIC))
    except OSError:  # reported where the records are read
        return b""
