"""Rollouts whose log does not say what was asked: grouped by what their session or file is called, or by a table.

Nothing is grouped in silence: how it was done is reported once, and what cannot be grouped is a problem that says what
to do. ``q0r1.jsonl``, ``q0/run-3.jsonl`` and ``run3/q0.jsonl`` are all runs of ``q0``: a number behind a word for a run
is that of the run, one behind a word for a question is the question's, and one alone is explained by the other names,
if at all. Several runs in one file are distinguished only by names of their own, or by a table of the user's.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tracerank.pools.types import Question
from tracerank.readers.base import PathLike, Problem, Record
from tracerank.readers.runs.pools import Placed, Report
from tracerank.readers.sources.open import Found, find_files
from tracerank.readers.sources.question_files import QuestionTable
from tracerank.readers.vocabulary import word_set

_RUN_FIELDS = ("run_name", "session_id", "sessionId", "session_name", "thread_id", "threadId", "conversation_id")
_SHOWN = 3
_UNASKED = "the log does not say what was asked"
_HELP = (
    "name the files q1_run1.jsonl, q1_run2.jsonl, … or put each question's runs into a folder of its own; or give "
    "--questions FILE with the names of files or folders as ids"
)


@dataclass(slots=True)
class MissingQuestions:
    """Names rollouts, joins them with the user's table, and remembers what is to be reported."""

    files: tuple[Found, ...]
    """What the user named."""
    table: QuestionTable | None
    report: Report
    _names: "dict[str, RunName]" = field(default_factory=dict)
    _ways: dict[str, list[str]] = field(default_factory=dict)
    """How rollouts were grouped -> their questions."""
    _unnamed: list[str] = field(default_factory=list)
    """Where runs stand whose files have names that do not tell questions apart."""
    _unknown: dict[str, None] = field(default_factory=dict)
    """Questions that the table does not have."""

    def joined(self, placed: Placed) -> Placed:
        """A rollout that has a question, with what the table says about it."""
        if self.table is None:
            return placed
        found = self.table.joined(placed.parsed.question)
        if found is None:
            self._unknown[placed.parsed.question.id] = None
            return placed
        return placed._replace(parsed=replace(placed.parsed, question=found))

    def of_file(self, name: str, held: Sequence[Placed], is_whole: bool) -> Iterator[Placed]:
        """The rollouts of one file with a question each; ``is_whole``: the file holds no others."""
        dropped: list[Placed] = []
        for index, placed in enumerate(held):
            found = self._by_name(name, placed.record, len(held) if is_whole else 0) or self._by_table(index, len(held))
            if found is None:
                dropped.append(placed)
                continue
            question = replace(found, references=found.references or placed.parsed.question.references)
            yield placed._replace(parsed=replace(placed.parsed, question=question), is_unasked=True)
        if len(dropped) == len(held) == 1 and is_whole:
            self._unnamed.append(dropped[0].source)
        elif dropped:
            reason = f"{self._reason(len(held), is_whole)}; {_were_dropped(len(dropped))}"
            self.report(Problem(dropped[0].source, reason))

    def problems(self) -> Iterator[Problem]:
        """How it was done, once for all files."""
        if self._unnamed:
            why = f"{_UNASKED}, and names of files such as this one do not tell questions from runs: {_HELP}"
            yield Problem(self._unnamed[0], f"{why}; {_were_dropped(len(self._unnamed))}")
        if self._ways:
            ways = [f"{_counted(ids, 'rollout')} by {way} into {_named(ids)}" for way, ids in self._ways.items()]
            names = [name for found in self.files for name in found.names]
            source = names[0] if len(names) == 1 else common_folder(names) if names else "rows"
            rest = "" if self.table is not None else "; give --questions FILE to say what was asked"
            yield Problem(source, f"{_UNASKED}: grouped {', '.join(ways)}{rest}")
        if self._unknown and self.table is not None:
            yield Problem(self.table.name, f"it does not have {_named(list(self._unknown))} of the log")

    def _by_name(self, name: str, record: Record, count: int) -> Question | None:
        """By the name of the file where there are others to compare it with, else by what the run is called."""
        if sum(len(found.names) for found in self.files) > 1:
            return self._by_file(name, count) or self._by_run(record)
        return self._by_run(record) or self._by_file(name, count)

    def _by_run(self, record: Record) -> Question | None:
        for name in _RUN_FIELDS:
            value = record.get(name)
            if isinstance(value, str) and value.strip() and (found := question_of_run(value.strip())):
                return self._take(f"{name} in the log", found, (value.strip(),))
        return None

    def _by_file(self, name: str, count: int) -> Question | None:
        found = self._name_of(name)
        if found is None:
            return None
        rows = (None if self.table is None else self.table.under(one) for one in found.possible)
        if (row := next(filter(None, rows), None)) is not None:
            return self._take("file name", row.id)
        # A name that no table confirms may be that of a model or a day: then one run alone can go by it.
        return self._take("file name", found.question) if count == 1 and found.question else None

    def _by_table(self, index: int, count: int) -> Question | None:
        if self.table is None:
            return None
        if (only := self.table.only()) is not None:
            return self._take("the one question of the table", only.id)
        if count == len(self.table.rows):
            return self._take("their position beside the table", self.table.rows[index].id)
        return None

    def _take(self, way: str, name: str, others: Iterable[str] = ()) -> Question:
        self._ways.setdefault(way, []).append(name)
        rows = (None if self.table is None else self.table.under(one) for one in (*others, name))
        found = next(filter(None, rows), None)
        if found is None and self.table is not None:
            self._unknown[name] = None
        return found or Question(name, "")

    def _name_of(self, name: str) -> "RunName | None":
        if not self._names:
            single = [found.names[0] for found in self.files if found.place is None]
            self._names = run_names(single, common_folder(single))
            for found in self.files:
                if found.place is not None:
                    root = found.place if os.path.isdir(found.place) else common_folder(found.names)
                    self._names |= run_names(found.names, root)
        return self._names.get(name)

    def _reason(self, count: int, is_whole: bool) -> str:
        if not is_whole:
            return f"{_UNASKED} here, as it does elsewhere in the file"
        table = "" if self.table is None else f" ({self.table.name} has {len(self.table.rows):,} rows)"
        return (
            f"{_UNASKED}, and the file holds {count:,} runs{table}: name a field with --map question_id=FIELD; or give "
            "--questions FILE with one row a run, with the file's name as an id, or with the one question of all"
        )


def _were_dropped(count: int) -> str:
    return "the rollout was dropped" if count == 1 else f"{count:,} rollouts were dropped"


def _counted(items: Sequence[str], what: str) -> str:
    return f"{len(items):,} {what}{'s' * (len(items) != 1)}"


def _named(ids: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(ids))
    shown = ", ".join(distinct[:_SHOWN]) + (", …" if len(distinct) > _SHOWN else "")
    return f"{_counted(distinct, 'question')} ({shown})"


def by_file(placed: Iterable[Placed], places: Iterable[PathLike]) -> dict[str, list[Placed]]:
    """Rollouts that were put together of several records, by the file in which they begin."""
    names = sorted((name for place in places for name in find_files(place).names), key=len, reverse=True)
    found: dict[str, list[Placed]] = {}
    for one in placed:
        file = next((name for name in names if one.source.startswith(f"{name}:")), "")
        found.setdefault(file, []).append(one)
    return found


# ---- names of files and sessions

_WORDS = (
    r"(?:run|rollout|sample|attempt|seed|trial|try|iter|iteration|epoch|pass|rep|repeat|replica|generation|gen"
    r"|traj|trajectory|session|r|s|k|t)"
)
_GAP = r"[\s_.#=~-]*+"
_RUN_BEHIND = re.compile(rf"(?i:(?P<rest>.{{0,400}}?){_GAP}(?<![a-z]){_WORDS}{_GAP}\d{{1,9}})")
_RUN_BEFORE = re.compile(rf"(?i:{_WORDS}{_GAP}\d{{1,9}}[\s_.-]+(?P<rest>.+))")
_RUN_FOLDER = re.compile(rf"(?i:{_WORDS}{_GAP}\d{{1,9}})")
_NUMBER_BEHIND = re.compile(r"(?P<rest>.{0,400}?)[\s_.#(-]*(?<![^\W_])\d{1,5}\)?")
_RANDOM_BEHIND = re.compile(
    r"(?i:(?P<rest>.{0,400}?)[\s_.-]*(?<![^\W_])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # a UUID
    r"|(?=[a-f]*[0-9])[0-9a-f]{16,64}|\d{8}[t_-]?\d{4,6}z?|\d{10,19}"
    r"|\d{4}-\d\d-\d\d(?:[t_ -]\d\d[-:.]?\d\d(?:[-:.]?\d\d)?z?)?))"
)
_QUESTION = (
    r"(?i:(?:.*[\s_.-])?(?:q|qid|question|query|task|problem|item|example|ex|case|instance|prompt|topic|id|idx|index|no"
    r"|nr){})"
)
_QUESTION_WORD = re.compile(_QUESTION.format(""))
_QUESTION_NAME = re.compile(_QUESTION.format(r"[\s_.-]?\d+"))
_NOTHING = word_set(
    "run runs rollout session sessions messages log trace output transcript stream events result results conversation",
    "chat response agent trajectory sample history",
)
"""Names that every run may have."""
_ENDINGS = re.compile(r"(?i:(?:\.(?:jsonl?|ndjson|gz|log|txt|eval|parquet|out|stream|events))+)\Z")
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class RunName:
    """What a name says about the question of a run."""

    question: str | None
    """None: it does not tell questions from runs."""
    possible: tuple[str, ...]
    """Names under which a list may have the question, the most exact first."""


def run_names(files: Sequence[str], root: str) -> dict[str, RunName]:
    """What the names of files below a folder say, looked at together."""
    found = {file: _split(file, root) for file in files}
    is_shared = len({parts.stem for parts in found.values()}) == 1 and len(files) > 1
    names = {file: parts.question(root, is_shared=is_shared) for file, parts in found.items()}
    distinct = {name for name in names.values() if name is not None}
    if len(distinct) == 1 and len(files) > 1 and all(parts.is_vague for parts in found.values()):
        names = dict.fromkeys(names)  # numbered questions, or numbered runs of one?
    if len(files) == 1:
        names = {file: name or found[file].stem for file, name in names.items()}
    return {file: RunName(names[file], parts.possible(names[file])) for file, parts in found.items()}


def common_folder(paths: Iterable[str]) -> str:
    """The folder in which all files lie."""
    folders = {os.path.dirname(os.path.abspath(path)) for path in paths}
    return os.path.commonpath(folders) if folders else os.sep


def question_of_run(name: str) -> str | None:
    """The question that the name of a run holds, such as that of a session; None: it is random or a mere number."""
    rest, kind = _without_run(name)
    if kind == "random":
        return None
    return rest or None if kind == "run" else name if not name.isdigit() else None


@dataclass(frozen=True, slots=True)
class _Parts:
    """A path below a folder, taken apart."""

    folders: tuple[str, ...]
    """Without those that name a run."""
    stem: str
    rest: str
    """The stem without what names a run."""
    kind: str
    """What that was: ``run``, ``number``, ``random``, or nothing."""

    @property
    def is_vague(self) -> bool:
        return self.kind == "number" and bool(self.rest) and not (self.folders or _QUESTION_NAME.fullmatch(self.rest))

    def question(self, root: str, *, is_shared: bool) -> str | None:
        rest = "" if self.rest.lower() in _NOTHING or (is_shared and self.folders) else self.rest
        if name := "/".join((*self.folders, *((rest,) if rest else ()))):
            return name
        own = os.path.basename(root.rstrip(os.sep))
        # A bare number may be that of a question, unless the folder is a question's.
        return own or None if self.kind == "run" or _QUESTION_NAME.fullmatch(own) else None

    def possible(self, name: str | None) -> tuple[str, ...]:
        """Names of the question, from the whole path to its parts."""
        whole = ("/".join((*self.folders, last)) for last in (self.stem, self.rest) if last)
        return tuple(dict.fromkeys(one for one in (name, *whole, self.stem, self.rest, *self.folders[::-1]) if one))


def _split(file: str, root: str) -> _Parts:
    path = os.path.relpath(os.path.abspath(file), os.path.abspath(root))
    *folders, name = path.split(os.sep)
    kept = tuple(one for one in folders if not _RUN_FOLDER.fullmatch(one) and _without_run(one)[1] != "random")
    stem = _ENDINGS.sub("", name) or name
    return _Parts(kept, stem, *_without_run(stem))


def _without_run(name: str) -> tuple[str, str]:
    """A name without what distinguishes runs, and what that was."""
    rest, kind = name[:200], ""
    for _ in range(_ROUNDS):
        if found := _RANDOM_BEHIND.fullmatch(rest):
            rest, kind = found["rest"], kind or "random"
        elif found := _RUN_BEHIND.fullmatch(rest) or _RUN_BEFORE.fullmatch(rest):
            return found["rest"].strip(" _.-"), "run"
    if (found := _NUMBER_BEHIND.fullmatch(rest)) and not _QUESTION_WORD.fullmatch(found["rest"]):
        return found["rest"].strip(" _.-"), "number"
    rest = rest.strip(" _.-")
    return ("", "random") if kind and rest.lower() in _NOTHING else (rest, kind if not rest else "run" if kind else "")
