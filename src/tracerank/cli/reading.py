"""The pools of the files named on the command line, the problems met in them, and the sentence that sums them up.

Also ``--map``, which every command that reads has beside ``--reader``.
"""

import inspect
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, TextIO

import typer

from tracerank.cli.terminal import json_text, note
from tracerank.errors import ReadError, UndecidedPool, UsageError
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.readers import OnRecord, iter_pools
from tracerank.readers.files.field_map import with_map
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.records import Problem
from tracerank.readers.grouping import WINDOW_BYTES, Report

PARTLY = 3
"""Exit code of a command that did its work but for some questions, which it names."""
SHOWN = 10
"""Problems that the terminal is told of, one by one."""


FieldNames = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="OUR=THEIR,…",
        help="Fields under other names, as in question=prompt,answer=data.reply; dots lead into objects and lists.",
        show_default=False,
    ),
]


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--map`` behind its ``--reader``; it gets both as one value, which its runs remember."""
    signature = inspect.signature(command)

    @wraps(command)
    def with_fields(*args: Any, fields: str | None = None, **options: Any) -> None:
        if fields is not None:
            options["reader"] = with_map(options["reader"], fields)
        command(*args, **options)

    extra = inspect.Parameter("fields", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=FieldNames)
    names = list(signature.parameters.values())
    place = [one.name for one in names].index("reader") + 1
    # Typer reads both.
    with_fields.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*names[:place], extra, *names[place:])]
    )
    with_fields.__annotations__ = {**command.__annotations__, "fields": FieldNames}
    return with_fields


def pools_of(
    files: Sequence[Path],
    reader: str,
    report: Report,
    k: int | None = None,
    is_grouped: bool = True,
    on_record: OnRecord | None = None,
) -> Iterator[Pool]:
    """Pools one by one, cut to their first K rollouts; a file that is missing is refused before any work.

    Files that are not grouped by question are held in memory.
    """
    for path in files:
        find_files(path)  # raises, in the reader's words
    window = WINDOW_BYTES if is_grouped else None
    return _some(iter_pools(files, reader, report, window, on_record), files, k)


def _some(pools: Iterator[Pool], files: Sequence[Path], k: int | None) -> Iterator[Pool]:
    is_empty = True
    for pool in pools:
        is_empty = False
        yield pool if k is None else pool.first(k)
    if is_empty:
        names = ", ".join(map(str, files))
        raise ReadError(f"{names}: not one usable rollout; see the problems above and docs/file-formats.md")


class Problems:
    """Shows a few of the problems met while reading, and lists all in a file if asked for; call it with each."""

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


class Undecided:
    """Pools on which the method failed: each is a problem of its own, and the command ends with ``PARTLY``."""

    def __init__(self, report: Report) -> None:
        self.count = 0
        self._report = report

    def __call__(self, pool: Pool, error: UndecidedPool) -> None:
        self.count += 1
        source = next((one.source for one in pool.rollouts if one.source), None)
        self._report(Problem(source or "the input", str(error)))

    def end(self, what: str = "they have no answer, and a note says why") -> None:
        """Say how many, and leave with the exit code, if there are any."""
        if self.count:
            note(f"{self.count:,} questions could not be decided; {what}")
            raise typer.Exit(PARTLY)


def unweighed_sentence(method: str, count: int, decisions: int) -> str:
    """That a weighted vote had nothing to weigh by."""
    where = "" if count == decisions else f" in {count:,} of {decisions:,} decisions"
    return (
        f"{method}: not one rollout states a confidence{where}, so it equals the majority vote there; "
        "--chat URL#MODEL asks for it"
    )


def _clock() -> float:
    return time.monotonic()


@dataclass(slots=True)
class Summary:
    """What has gone by, for the last line of a command."""

    questions: int = 0
    rollouts: int = 0
    empty: int = 0
    bare: int = 0
    """Questions of which no rollout shows evidence."""
    dropped: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=_clock)

    def add(self, pool: Pool, sample_id: int | None, dropped: Mapping[int, str]) -> None:
        """One pool that was decided on."""
        self.questions += 1
        self.rollouts += len(pool)
        self.empty += sample_id is None
        self.bare += not any(rollout.has_evidence for rollout in pool.rollouts)
        self.dropped.update(drop_reasons(pool, dropped))

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        dropped = f"{self.dropped.total():,} of {self.rollouts:,} rollouts dropped"
        bare = f"; {self.bare:,} questions without evidence: only the answers were compared" if self.bare else ""
        return (
            f"{self.questions:,} questions, {self.empty:,} of them without a candidate; "
            f"{dropped}{f' ({reasons})' if reasons else ''}{bare}; {_clock() - self.began:.1f} s"
        )
