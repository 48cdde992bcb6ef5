"""JSON Lines that survive a kill: written under ``NAME.part``, renamed when complete, resumed by the same run."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from tracerank.errors import TraceRankError, UsageError
from tracerank.runs.atomic import write_json
from tracerank.runs.locks import alone_with


class RunComplete(TraceRankError):
    """The same run has already finished; there is nothing left to do."""


class ResumableLines:
    """Appends records to ``NAME.part`` as they come; on success the part becomes ``NAME``.

    ``NAME.part.json`` holds the run's settings. A run with the same settings continues behind the last whole line;
    other settings are refused unless ``force`` is set. A lock keeps a second process out.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        *,
        force: bool = False,
        finish: Callable[[Path, Path], object] = os.replace,
    ) -> None:
        """``finish(part, path)`` makes the final file, for output in another order or format."""
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}: not a regular file")
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.keep_part = False
        """Leave the part beside the finished file, so that the same run can retry what failed."""
        self._settings = json.loads(json.dumps(settings))
        self._force = force
        self._finish = finish
        self._lock = ExitStack()
        self._file: BinaryIO

    def __enter__(self) -> "ResumableLines":
        with ExitStack() as stack:
            stack.enter_context(alone_with(self.path))
            self._refuse_other_runs()
            is_new = not self.part.exists()
            self._file = open(self.part, "a+b")
            if is_new:  # after the part: settings without a part mean that the run is complete
                write_json(settings_file(self.path), self._settings)
            with open(self.part, "rb") as file:  # a kill can tear the last line
                self._truncate(sum(len(line) for line in file if line.endswith(b"\n")))
            self._lock = stack.pop_all()
        return self

    def _refuse_other_runs(self) -> None:
        settings, has_part = settings_file(self.path), self.part.exists()
        is_same = settings.exists() and _json_object(settings.read_bytes()) == self._settings
        if has_part and not is_same:
            is_used = settings.exists() or self.part.stat().st_size > 0
            if is_used and not self._force:
                raise UsageError(
                    f"{self.part}: left by a run with other arguments or inputs; delete it, or start over with --force"
                )
            self.part.unlink()
        if self.path.exists() and not self._force:
            if not is_same:
                raise UsageError(f"{self.path}: already exists; choose another name or overwrite it with --force")
            if not has_part:
                settings.unlink()
                raise RunComplete(f"{self.path}: already complete")

    def kept(self, is_good: Callable[[dict[str, Any]], bool] = lambda record: True) -> Iterator[dict[str, Any]]:
        """The records of the interrupted run, in order, up to the first that is not good; the rest is discarded."""
        length = 0
        with open(self.part, "rb") as file:
            for line in file:
                record = _json_object(line)
                if record is None or not is_good(record):
                    self._truncate(length)
                    return
                length += len(line)
                yield record

    def write(self, lines: bytes) -> None:
        """Append whole lines and hand them to the operating system at once."""
        self._file.write(lines)
        self._file.flush()

    def _truncate(self, length: int) -> None:
        self._file.truncate(length)
        self._file.seek(0, os.SEEK_END)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock, self._file as file:
            is_empty = file.tell() == 0
            if kind is None:
                os.fsync(file.fileno())
                self._finish(self.part, self.path)
            if self.keep_part if kind is None else not is_empty:
                return
            self.part.unlink(missing_ok=True)  # before the settings: see __enter__
            settings_file(self.path).unlink(missing_ok=True)


def settings_file(path: Path) -> Path:
    """Where the settings of an unfinished run that writes ``path`` are kept."""
    return path.with_name(f"{path.name}.part.json")


def _json_object(text: bytes) -> dict[str, Any] | None:
    """The object that a text holds; None: it is damaged."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file of JSON Lines."""
    with open(path, "rb") as file:
        yield from map(json.loads, file)
