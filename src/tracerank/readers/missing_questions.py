"""Rollouts whose log does not say what was asked: grouped by what their session or file is called, or by a table.

Nothing is grouped in silence: how it was done is reported once, and what cannot be grouped is a problem that says what
to do. A file with one run goes by its name. Several runs in one file are distinguished only by names of their own, or
by a table of questions that the user gives.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tracerank.pools.types import Question
from tracerank.readers.base import PathLike, Problem, Record
from tracerank.readers.grouping import Placed, Report
from tracerank.readers.question_files import QuestionTable
from tracerank.readers.sources.open import Found, find_files
from tracerank.readers.sources.run_names import RunName, common_folder, question_of_run, run_names

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
    _names: dict[str, RunName] = field(default_factory=dict)
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
        for place, placed in enumerate(held):
            found = self._by_name(name, placed.record, len(held) if is_whole else 0)
            if found is None and self.table is not None:
                found = self._by_table(place, len(held))
            if found is None:
                dropped.append(placed)
                continue
            question = replace(found, references=found.references or placed.parsed.question.references)
            yield placed._replace(parsed=replace(placed.parsed, question=question), is_unasked=True)
        if len(dropped) == len(held) == 1 and is_whole:
            self._unnamed.append(dropped[0].source)
        elif dropped:
            self.report(
                Problem(dropped[0].source, f"{self._reason(len(held), is_whole)}; {_were_dropped(len(dropped))}")
            )

    def problems(self) -> Iterator[Problem]:
        """How it was done, once for all files."""
        if self._unnamed:
            yield Problem(
                self._unnamed[0],
                f"{_UNASKED}, and names of files such as this one do not tell questions from runs: {_HELP}; "
                + _were_dropped(len(self._unnamed)),
            )
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
        if self.table is not None:
            for one in found.possible:
                if (row := self.table.under(one)) is not None:
                    return self._take("file name", row.id)
        # A name that no table confirms may be that of a model or a day: then one run alone can go by it.
        return self._take("file name", found.question) if count == 1 and found.question else None

    def _by_table(self, place: int, count: int) -> Question | None:
        assert self.table is not None
        if (only := self.table.only()) is not None:
            return self._take("the one question of the table", only.id)
        if count == len(self.table.rows):
            return self._take("their place beside the table", self.table.rows[place].id)
        return None

    def _take(self, way: str, name: str, others: Iterable[str] = ()) -> Question:
        self._ways.setdefault(way, []).append(name)
        if self.table is None:
            return Question(name, "")
        for one in (*others, name):
            if (row := self.table.under(one)) is not None:
                return row
        self._unknown[name] = None
        return Question(name, "")

    def _name_of(self, name: str) -> RunName | None:
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
