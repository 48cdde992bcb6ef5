"""How problems met while reading are shown: a few lines on stderr, all of them in a file if asked for."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from tracerank.cli.terminal import json_text, note
from tracerank.errors import UsageError
from tracerank.readers.files.records import Problem

SHOWN = 10


class Problems:
    """Takes problems as they come; call it with each."""

    def __init__(self, path: Path | None = None, keep: Iterable[Path | None] = ()) -> None:
        """``keep`` are the command's other files, which the list must not replace."""
        if path is not None and path.resolve() in {other.resolve() for other in keep if other is not None}:
            raise UsageError(f"--problems {path}: is a file that this command reads or writes; choose another name")
        self.count = 0
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> "Problems":
        if self._path is not None:
            # Emptied even if nothing will be wrong: an older list must not pass for this one.
            self._file = open(self._path, "w", encoding="utf-8")
        return self

    def __call__(self, problem: Problem) -> None:
        self.count += 1
        if self.count <= SHOWN:
            note(f"problem: {problem}")
        if self._file is not None:
            self._file.write(json_text({"source": problem.source, "reason": problem.reason}) + "\n")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        more = self.count - SHOWN
        if self._file is not None:
            self._file.close()
        if more > 0:
            where = f"all are in {self._path}" if self._path else "--problems FILE.jsonl lists them all"
            note(f"and {more:,} more; {where}")
