"""The files named on the command line: their pools, the problems met in them, and what may be written beside them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from tracerank.cli.terminal import Progress, json_text, note, working
from tracerank.errors import ReadError, UndecidedPool, UsageError

if TYPE_CHECKING:  # the readers take longer to import than --help may take
    from tracerank.pools.pool import Pool
    from tracerank.readers.base import Problem
    from tracerank.readers.runs.pools import Report

SHOWN = 10
"""Problems that are shown on the terminal, one by one."""
SOME_FAILED = 3
"""Exit code of a command that is done, but some rollouts or questions failed."""


class Opened(NamedTuple):
    """What a command works with while it reads."""

    pools: "Iterator[Pool]"
    """Counted as progress."""
    progress: Progress
    problems: "Problems"


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files of rollouts, and how they are read."""

    files: tuple[Path, ...]
    reader: str
    """With the map of fields and the file of questions, if they were given."""
    problems: Path | None
    """Where all problems are written."""
    quiet: bool
    k: int | None = None
    """Rollouts of each question; None: all."""

    @contextmanager
    def opened(self, what: str, keep: Iterable[Path | None] = (), hides_progress: bool = False) -> Iterator[Opened]:
        """Pools, progress and problems while the block runs; ``keep`` are the command's other files."""
        with (
            Problems(self.problems, (*self.files, *keep)) as problems,
            working(what, quiet=self.quiet or hides_progress) as progress,
        ):
            yield Opened(progress.over(self.pools(problems)), progress, problems)

    def pools(
        self,
        report: "Report",
        *,
        files: Sequence[Path] | None = None,
        is_grouped: bool = True,
        on_record: Callable[[str], None] | None = None,
    ) -> "Iterator[Pool]":
        """Pools one by one, cut to their first K rollouts; a file that is missing is refused before any work.

        Without ``is_grouped`` the rollouts of a question may stand anywhere, and all pools are held in memory.
        """
        from tracerank.readers import iter_pools
        from tracerank.readers.runs.pools import WINDOW_BYTES
        from tracerank.readers.sources.open import find_files

        paths = self.files if files is None else files
        for path in paths:
            find_files(path)  # raises if nothing is there
        pools = iter_pools(paths, self.reader, report, WINDOW_BYTES if is_grouped else None, on_record)
        return self._first(pools, paths)

    def _first(self, pools: "Iterator[Pool]", paths: Sequence[Path]) -> "Iterator[Pool]":
        is_empty = True
        for pool in pools:
            is_empty = False
            yield pool if self.k is None else pool.first(self.k)
        if is_empty:
            names = ", ".join(map(str, paths))
            raise ReadError(f"{names}: not one usable rollout; see the problems above and docs/reference/formats.md")

    def identity(self, files: Sequence[Path] | None = None) -> dict[str, Any]:
        """What a resumable run remembers: the files by their content, and how they are read."""
        return {"files": fingerprint(self.files if files is None else files), "reader": self.reader, "k": self.k}


@dataclass(slots=True)
class Problems:
    """Shows the first problems met, and writes all of them to a file if asked for; call it with each."""

    path: Path | None = None
    keep: Iterable[Path | None] = ()
    """The command's other files, which the list must not replace."""
    count: int = 0
    failures: int = 0
    """Of the problems, questions on which a method or its server failed."""
    _file: TextIO | None = field(default=None, init=False)

    def __enter__(self) -> "Problems":
        if self.path is not None:
            if self.path.resolve() in {other.resolve() for other in self.keep if other is not None}:
                raise UsageError(
                    f"--problems {self.path}: is a file that this command reads or writes; choose another name"
                )
            # Emptied even if there will be no problem: an older list must not pass for this one.
            self._file = open(self.path, "w", encoding="utf-8")
        return self

    def __call__(self, problem: "Problem") -> None:
        self.count += 1
        if self.count <= SHOWN:
            note(f"problem: {problem}")
        if self._file is not None:
            self._file.write(json_text({"source": problem.source, "reason": problem.reason}) + "\n")

    def undecided(self, pool: "Pool", reason: str) -> None:
        """Report that a method or its server failed on a pool."""
        from tracerank.readers.base import Problem

        self.failures += 1
        source = next((one.source for one in pool.rollouts if one.source), "the input")
        self(Problem(source, str(UndecidedPool(pool.question.id, reason))))

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
        if (more := self.count - SHOWN) > 0:
            where = f"all are in {self.path}" if self.path else "--problems FILE.jsonl lists them all"
            note(f"and {more:,} more; {where}")


NOT_FOLDERS = (".csv", ".html", ".json", ".jsonl", ".md", ".parquet")


def check_folder(path: Path, marks: Sequence[str]) -> None:
    """Refuse a folder that is a file, has the name of one, or holds something else than what bears one of the marks."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: is a file; name a folder")
    if path.suffix.lower() in NOT_FOLDERS and not path.is_dir():
        raise UsageError(f"{path}: has the name of a file, but this command writes a folder; choose another name")
    if marks and path.is_dir():
        names = {other.name for other in path.iterdir() if not other.name.startswith(".")}
        if names and not names & {*marks}:
            raise UsageError(f"{path}: is not empty, and not of this command; choose another folder")


def check_output(path: Path, inputs: Sequence[Path], force: bool, *, is_resumable: bool = False) -> None:
    """Refuse a name that would cost the user a file; a resumable run says itself whether what is there is its own."""
    from tracerank.runs.resumable import settings_file

    if path.is_dir():
        raise UsageError(f"{path}: is a directory; name a file in it")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist; make it first")
    if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
        raise UsageError(f"{path}: is one of the input files; choose another name")
    check_outside(path, inputs)
    if path.is_file() and not force and not (is_resumable and settings_file(path).exists()):
        raise UsageError(f"{path}: already exists; choose another name or overwrite it with --force")


def check_outside(path: Path, inputs: Sequence[Path]) -> None:
    """Refuse to write into a folder that is read."""
    if any(other.is_dir() and path.resolve().is_relative_to(other.resolve()) for other in inputs):
        raise UsageError(f"{path}: lies in a folder that is read; the next run would read it, too: write it elsewhere")


def check_lines(path: Path) -> None:
    """Refuse a name that says a table, for what is written as JSON Lines: rollouts do not fit in cells."""
    if path.suffix.lower() in (".csv", ".tsv", ".parquet", ".xlsx"):
        raise UsageError(f"{path}: rollouts are not a table; name a file that ends in .jsonl or .jsonl.gz")


def fingerprint(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Whether files are still the same: name, size and a digest of what is in them."""
    from tracerank.readers.sources.open import find_files
    from tracerank.readers.sources.remote import is_remote, remote_identity

    names = [name for path in files for name in find_files(path).names]
    return [remote_identity(name) if is_remote(name) else _identity(Path(name)) for name in names]


def _identity(path: Path) -> dict[str, Any]:
    from hashlib import blake2b, file_digest

    found = path.stat()
    known = {"path": str(path.resolve()), "bytes": found.st_size}
    if not path.is_file():  # a pipe can be read only once
        return {**known, "modified": found.st_mtime_ns}
    with open(path, "rb") as file:
        return {**known, "blake2b": file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()}
