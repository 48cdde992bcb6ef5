"""Files that commands write: never over an input, never half a file under the final name."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import blake2b, file_digest
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import typer

from tracerank.cli.terminal import json_text, note
from tracerank.errors import UsageError
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.remote import remote_identity
from tracerank.runs.locks import alone_with

SOME_FAILED = 3
"""Exit code of a command that is done, but some rollouts or questions failed."""


def check_output(path: Path, inputs: Sequence[Path], force: bool) -> None:
    """Refuse a name that would cost the user a file."""
    if path.is_dir():
        raise UsageError(f"{path}: is a directory; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist; make it first")
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise UsageError(f"{path}: is one of the input files; choose another name")
    if any(other.is_dir() and path.resolve().is_relative_to(other.resolve()) for other in inputs):
        raise UsageError(f"{path}: lies in a folder that is read; the next run would read it, too: write it elsewhere")
    if path.is_file() and not force:
        raise UsageError(_exists(path))


def check_resumable(path: Path, inputs: Sequence[Path], force: bool) -> None:
    """The same where an interrupted run may have left the file; whether it is ours shows when it is taken up."""
    check_output(path, inputs, force or _about(path).exists())


def _exists(path: Path) -> str:
    return f"{path}: exists already; choose another name or overwrite it with --force"


def _about(path: Path) -> Path:
    """What tells which run a part belongs to; it goes last."""
    return path.with_name(f"{path.name}.part.json")


def check_lines(path: Path) -> None:
    """Refuse a name that says a table, for what is written as JSON Lines: rollouts do not fit in cells."""
    if path.suffix.lower() in (".csv", ".tsv", ".parquet", ".xlsx"):
        raise UsageError(f"{path}: rollouts are no table; name a file that ends in .jsonl or .jsonl.gz")


def _check_regular(path: Path) -> None:
    # Renaming onto a pipe or a device would replace it.
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: is not a regular file; name one")


def fingerprint(files: Sequence[Path]) -> list[dict[str, Any]]:
    """What tells whether files are still the same: name, size and a digest of what is in them."""
    names = [name for path in files for name in find_files(path).names]
    return [_identity(Path(name)) if os.path.lexists(name) else remote_identity(name) for name in names]


def _identity(path: Path) -> dict[str, Any]:
    found = path.stat()
    known = {"path": str(path.resolve()), "bytes": found.st_size}
    if not path.is_file():  # a pipe can be read but once
        return {**known, "modified": found.st_mtime_ns}
    with open(path, "rb") as file:
        return {**known, "blake2b": file_digest(file, _digest).hexdigest()}


def _digest() -> blake2b:
    return blake2b(digest_size=16)


class ResumableLines:
    """JSON Lines under ``NAME.part``, renamed when complete; an interrupted run with the same arguments goes on.

    One process at a time. A run that is complete, and was killed before it could say so, ends the command.
    """

    def __init__(
        self,
        path: Path,
        run: Mapping[str, Any],
        force: bool = False,
        finish: Callable[[Path, Path], object] | None = None,
    ) -> None:
        """``finish`` makes the file of the complete part, for lines in another order; None: the part is the file."""
        _check_regular(path)
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._about = _about(path)
        self._turn = ExitStack()
        # As it will be read back, for comparison.
        self._run = json.loads(json_text(run))
        self._force = force
        self._finish = finish
        self.stays = False
        """Set: the part stays beside the file, so that the same command can go on with what is missing."""

    def __enter__(self) -> "ResumableLines":
        with ExitStack() as stack:
            stack.enter_context(alone_with(self._path))
            self._refuse_others()
            is_new = not self._part.exists()
            self._file = open(self._part, "a+b")
            if is_new:  # behind the part: a run that is known and has no part is complete
                self._about.write_text(json_text(self._run), encoding="utf-8")
            self._file.truncate(_sound_bytes(self._file))
            self._file.seek(0, os.SEEK_END)
            self._turn = stack.pop_all()
        return self

    def _refuse_others(self) -> None:
        """Leave to others what is theirs, unless forced, and end where nothing is left to do."""
        has_part, is_ours = self._part.exists(), self._is_ours()
        if has_part and not is_ours and not self._force and (self._about.exists() or self._part.stat().st_size):
            raise UsageError(
                f"{self._part}: was left by a run with other arguments or inputs; delete it, or start over with --force"
            )
        if self._path.exists() and not self._force:
            if not is_ours:
                raise UsageError(_exists(self._path))
            if not has_part:
                self._about.unlink()
                note(f"{self._path}: was complete already; nothing is left to do")
                raise typer.Exit()
        if has_part and not is_ours:
            self._part.unlink()

    def done(self, is_good: Callable[[dict[str, Any]], bool] = lambda _: True) -> Iterator[dict[str, Any]]:
        """The lines that the interrupted run has left, in order; from one that is no good on, they are forgotten."""
        length = 0
        with open(self._part, "rb") as file:
            for line in file:
                record = json.loads(line)
                if not is_good(record):
                    self._file.truncate(length)
                    self._file.seek(0, os.SEEK_END)
                    return
                length += len(line)
                yield record

    def follow(self, blocks: Iterable[bytes]) -> None:
        """Write whole lines, but for those that the interrupted run has left; from the first that differ on, anew."""
        stream = iter(blocks)
        length = 0
        with open(self._part, "rb") as there:
            for block in stream:
                if there.read(len(block)) != block:
                    stream = chain((block,), stream)
                    break
                length += len(block)
        self._file.truncate(length)
        self._file.seek(0, os.SEEK_END)
        for block in stream:
            self._file.write(block)
            self._file.flush()

    def write(self, record: Mapping[str, Any]) -> None:
        """One more line, out of our hands at once."""
        self.write_line(json_text(record))

    def write_line(self, line: str) -> None:
        """The same for a record that is text already."""
        self._file.write(line.encode() + b"\n")
        self._file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._turn:
            self._leave(kind is None)

    def _leave(self, is_done: bool) -> None:
        is_empty = self._file.tell() == 0
        if is_done:
            os.fsync(self._file.fileno())
        self._file.close()
        if is_done:
            (self._finish or os.replace)(self._part, self._path)
            if self.stays:
                return
            self._part.unlink(missing_ok=True)  # first: from here on it is complete
        elif not is_empty:
            note(f"what was done is kept in {self._part}; the same command goes on from there")
            return
        self._about.unlink(missing_ok=True)
        self._part.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        try:
            return bool(json.loads(self._about.read_text(encoding="utf-8")) == self._run)
        except (OSError, ValueError):
            return False


def _sound_bytes(file: BinaryIO) -> int:
    """How much of the file, from its beginning, is whole lines of JSON objects."""
    file.seek(0)
    length = 0
    for line in file:
        try:
            is_sound = line.endswith(b"\n") and isinstance(json.loads(line), dict)
        except ValueError:
            is_sound = False
        if not is_sound:
            break
        length += len(line)
    return length
