"""Rollouts whose log does not say what was asked: grouped by what their session or file is called, or by a table.

Nothing is grouped in silence: how it was done is told once, and what cannot be grouped is a problem that says what to
do. A file with one run goes by its name. Several runs in one file are told apart only by names of their own, or by a
table of questions that the user gives.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tracerank.pools.types import Question
from tracerank.readers.base import Record
from tracerank.readers.files.inputs import Found, find_files
from tracerank.readers.files.records import PathLike, Problem
from tracerank.readers.files.run_names import RunName, common_folder, question_of_run, run_names
from tracerank.readers.grouping import Placed, Report
from tracerank.readers.question_files import QuestionTable

_RUN_FIELDS = ("run_name", "session_id", "sessionId", "session_name", "thread_id", "threadId", "conversation_id")
_SHOWN = 3
_HELP = (
    "name the files q1_run1.jsonl, q1_run2.jsonl, … or put each question's runs into a folder of its own; or give "
    "--questions FILE with the names of files or folders as ids"
)


@dataclass(slots=True)
class Unasked:
    """Names rollouts and remembers what is to be told of it."""

    files: tuple[Found, ...]
    """What the user named."""
    table: QuestionTable | None
    report: Report
    _names: dict[str, RunName] = field(default_factory=dict)
    _told: dict[str, list[str]] = field(default_factory=dict)
    """How rollouts were grouped -> the questions."""
    _count: int = 0

    def of_file(self, name: str, held: Sequence[Placed], is_whole: bool) -> Iterator[Placed]:
        """The rollouts of one file with a question each; ``is_whole``: the file holds no others."""
        dropped: list[Placed] = []
        for place, placed in enumerate(held):
            found = self._by_run(placed.record) or self._by_file(name, len(held) if is_whole else 0)
            if found is None and self.table is not None:
                found = self._by_table(place, len(held))
            if found is None:
                dropped.append(placed)
                continue
            self._count += 1
            references = found.references or placed.parsed.question.references
            question = replace(found, references=references)
            yield replace(placed, parsed=replace(placed.parsed, question=question), is_unasked=True)
        if dropped:
            end = "the rollout was dropped" if len(dropped) == 1 else f"these {len(dropped):,} rollouts were dropped"
            self.report(Problem(dropped[0].source, f"{self._reason(len(held), is_whole)}; {end}"))

    def told(self) -> Iterator[Problem]:
        """How it was done, once for all files."""
        if not self._count:
            return
        ways = []
        for way, ids in self._told.items():
            distinct = list(dict.fromkeys(ids))
            shown = ", ".join(distinct[:_SHOWN]) + (", …" if len(distinct) > _SHOWN else "")
            ways.append(f"{len(ids):,} by {way} to {len(distinct):,} question{'s' * (len(distinct) != 1)} ({shown})")
        names = [name for found in self.files for name in found.names]
        source = names[0] if len(names) == 1 else common_folder(names)
        rest = "" if self.table is not None else "; give --questions FILE to say what was asked"
        yield Problem(source, f"the log does not say what was asked: {', '.join(ways)}{rest}")

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
        self._told.setdefault(way, []).append(name)
        rows = (self.table.under(one) for one in (name, *others)) if self.table is not None else iter(())
        return next((row for row in rows if row is not None), Question(name, ""))

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
        what = "the log does not say what was asked"
        if not is_whole:
            return f"{what} here, as it does elsewhere in the file"
        if count > 1:
            table = "" if self.table is None else f" ({self.table.name} has {len(self.table.rows):,} rows)"
            return (
                f"{what}, and the file holds {count:,} runs{table}: name a field with --map question_id=FIELD; or give "
                "--questions FILE with one row a run, with the file's name as an id, or with the one question of all"
            )
        return f"{what}, and file names such as this one do not tell questions from runs: {_HELP}"


def joined(placed: Placed, table: QuestionTable) -> Placed:
    """The rollout with what the table says about its question."""
    found = table.joined(placed.parsed.question)
    return placed if found is None else replace(placed, parsed=replace(placed.parsed, question=found))


def by_file(placed: Iterable[Placed], places: Iterable[PathLike]) -> dict[str, list[Placed]]:
    """Rollouts that were put together of several records, by the file in which they begin."""
    names = sorted((name for place in places for name in find_files(place).names), key=len, reverse=True)
    found: dict[str, list[Placed]] = {}
    for one in placed:
        file = next((name for name in names if one.source.startswith(f"{name}:")), "")
        found.setdefault(file, []).append(one)
    return found
