"""The pools of the files named on the command line, the problems met in them, and the sentence that sums them up.

Also ``--map`` and ``--questions``, which every command that reads has beside ``--reader``.
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
from tracerank.readers.files.field_map import with_map, with_questions
from tracerank.readers.files.inputs import find_files
from tracerank.readers.files.records import Problem
from tracerank.readers.grouping import WINDOW_BYTES, Report, Watcher
from tracerank.votes.base import ASKED_AGAIN, FORCED, LENIENT, NO_ANSWER

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
QuestionFile = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="What was asked, for logs that do not say it: ids, questions and references; ids may be names of files.",
        show_default=False,
    ),
]


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--map`` and ``--questions`` behind its ``--reader``: one value, which its runs remember.

    A command whose ``--questions`` is a number keeps it.
    """
    signature = inspect.signature(command)

    @wraps(command)
    def with_fields(*args: Any, fields: str | None = None, asked: Path | None = None, **options: Any) -> None:
        if fields is not None:
            options["reader"] = with_map(options["reader"], fields)
        if asked is not None:
            options["reader"] = with_questions(options["reader"], asked)
        command(*args, **options)

    added: dict[str, Any] = {"fields": FieldNames}
    if "questions" not in signature.parameters:
        added["asked"] = QuestionFile
    return _with_options(with_fields, command, added, "reader")


def _with_options(
    made: Callable[..., None], command: Callable[..., None], added: dict[str, Any], behind: str
) -> Callable[..., None]:
    """What stands for a command, with options added behind one of its own; Typer reads both signs of them."""
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in added.items()
    ]
    signature = inspect.signature(command)
    names = list(signature.parameters.values())
    place = [one.name for one in names].index(behind) + 1
    made.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*names[:place], *extra, *names[place:])
        ]
    )
    made.__annotations__ = {**command.__annotations__, **added}
    return made


Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="What runs the work: local, daft or ray; the last two read Parquet and write a folder of shards. For "
        "folders of Parquet and -o FOLDER it is daft where that is installed.",
        show_default=False,
    ),
]
Sharded = Annotated[
    bool | None,
    typer.Option(
        "--sharded",
        help="Of engines: no question is in two files, so nothing is looked for or shuffled.",
        show_default=False,
    ),
]
Partitions = Annotated[
    int | None,
    typer.Option(
        "--partitions",
        metavar="N",
        min=1,
        help="Of engines: into how many parts rows are gathered by question where files are not cut by it; unless "
        "given, one for 64 MiB.",
        show_default=False,
    ),
]
Embedders = Annotated[
    int | None,
    typer.Option(
        "--embedders",
        metavar="N",
        min=1,
        help="Of ray: workers that only embed, for selectors that read vectors; --gpus is for these.",
        show_default=False,
    ),
]
Gpus = Annotated[
    float | None,
    typer.Option("--gpus", metavar="N", min=0.0, help="Of ray: of each worker that embeds.", show_default=False),
]
_OF_ENGINES: Mapping[str, Any] = {
    "engine": Engine,
    "sharded": Sharded,
    "partitions": Partitions,
    "embedders": Embedders,
    "gpus": Gpus,
}
LOCAL = "local"


def on_engines(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which has ``--workers``, with ``--engine`` and what belongs to it."""

    @wraps(command)
    def with_engine(*args: Any, **options: Any) -> None:
        given = {name: options.pop(name, None) for name in _OF_ENGINES}
        output = options.get("output")
        # A name without an end may be a folder; any other is a file, which no engine writes.
        if given["engine"] != LOCAL and (any(given.values()) or (output is not None and not output.suffix)):
            from tracerank.cli.engines import engine_for, run_engine

            if (engine := engine_for(given["engine"], options)) is not None:
                problems = Problems(options.get("problems"), keep=(*options["files"], output))
                run_engine(engine, given, options, problems)
                return
        command(*args, **options)

    return _with_options(with_engine, command, dict(_OF_ENGINES), "output")


def pools_of(
    files: Sequence[Path],
    reader: str,
    report: Report,
    k: int | None = None,
    is_grouped: bool = True,
    on_record: OnRecord | None = None,
    watcher: Watcher | None = None,
) -> Iterator[Pool]:
    """Pools one by one, cut to their first K rollouts; a file that is missing is refused before any work.

    Files that are not grouped by question are held in memory.
    """
    for path in files:
        find_files(path)  # raises, in the reader's words
    window = WINDOW_BYTES if is_grouped else None
    return _some(iter_pools(files, reader, report, window, on_record, watcher=watcher), files, k)


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


def unweighed_sentence(method: str, count: int, decisions: int) -> str:
    """That a weighted vote had nothing to weigh by."""
    where = "" if count == decisions else f" in {count:,} of {decisions:,} decisions"
    return (
        f"{method}: not one rollout states a confidence{where}, so it equals the majority vote there; "
        "--chat URL#MODEL asks for it"
    )


def alike_sentence(method: str, count: int, decisions: int) -> str:
    """That scores told nothing apart."""
    return (
        f"warning: {method}: in {count:,} of {decisions:,} decisions all scores are alike, so the first candidate was "
        "taken, or what stood before; behind a reasoning parser log probabilities may be those of the thinking"
    )


class Failures:
    """How often a method or its server failed, and why for the first time; call it to have each told as a problem."""

    def __init__(self, what: str, report: Report = lambda _: None) -> None:
        self.count = 0
        self._what = what
        self._report = report
        self._first: str | None = None

    def add(self, reason: str) -> None:
        """One more that failed."""
        self.count += 1
        self._first = self._first or reason

    def __call__(self, pool: Pool, reason: str) -> None:
        self.add(reason)
        source = next((one.source for one in pool.rollouts if one.source), None)
        self._report(Problem(source or "the input", str(UndecidedPool(pool.question.id, reason))))

    def sentence(self, method: str, total: int | None = None) -> str:
        """How many failed, in a line."""
        of_all = "" if total is None else f" of {total:,}"
        return f"{method}: {self.count:,}{of_all} {self._what} failed, the first because {self._first}"


def _clock() -> float:
    return time.monotonic()


@dataclass(slots=True)
class Summary:
    """What has gone by, for the last line of a command."""

    questions: int = 0
    rollouts: int = 0
    empty: int = 0
    """Questions without a candidate."""
    counts: Counter[str] = field(default_factory=Counter)
    """Questions by what happened while a model was asked about them."""
    bare: int = 0
    """Questions of which no rollout shows evidence."""
    dropped: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=_clock)

    def add(self, pool: Pool, answer: str | None, dropped: Mapping[int, str], counts: Mapping[str, int]) -> None:
        """One pool that was decided on."""
        self.questions += 1
        self.rollouts += len(pool)
        self.empty += answer is None and NO_ANSWER not in counts
        self.counts.update(counts.keys())
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


def asked_sentence(method: str, counts: Mapping[str, int], decisions: int) -> str | None:
    """How often a model had to be helped to an answer, or gave none, which is not to have no candidate."""
    parts = [f"{counts[name]:,} {name}" for name in (ASKED_AGAIN, LENIENT, FORCED) if counts.get(name)]
    parts += [f"{counts[NO_ANSWER]:,} without an answer of the model's"] if counts.get(NO_ANSWER) else []
    return f"{method}: of {decisions:,} decisions {', '.join(parts)}" if parts else None
