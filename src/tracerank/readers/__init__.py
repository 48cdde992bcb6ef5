"""ANY LOG -> ROLLOUT: transcript files of any known format to pools, recognised by content and streamed.

Holds the entry points. `sources/` makes records of bytes, `runs/` says which records are one run and makes the pools,
`calls/` makes rollouts of tool calls, `browser/` and `spans/` read two kinds of events, `formats/` has a module a
format and `detect.py` lists them. No module decides between answers, and none reads a label as text.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, cast

from tracerank.errors import ReadError, UsageError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question
from tracerank.readers.assemble import answering_with
from tracerank.readers.base import Parsed, PathLike, Problem, Reader, Record, RecordAt
from tracerank.readers.detect import AUTO, CANONICAL, READERS, assign_readers, reader_named, taken_apart
from tracerank.readers.runs.pools import WINDOW_BYTES, Placed, Report, group, parse_record
from tracerank.readers.runs.transcripts import Joiner, Joining, ScatteredRollout, runs_in
from tracerank.readers.sources.canonical_lines import CanonicalLines
from tracerank.readers.sources.field_map import FieldMap, spelled
from tracerank.readers.sources.json_lines import ReadLine, iter_values, read_one
from tracerank.readers.sources.open import NOT_A_FILE, find_files
from tracerank.readers.spans.reader import TelemetryReader
from tracerank.readers.tools import TOOL_NAMES, ToolNames, using

if TYPE_CHECKING:
    from tracerank.readers.runs.questions import MissingQuestions
    from tracerank.readers.sources.question_files import QuestionTable

__all__ = [
    "READERS",
    "Parsed",
    "Problem",
    "Reader",
    "Record",
    "RolloutWarning",
    "iter_pools",
    "pools_of_records",
    "read_pools",
]


Given = Any
"""Paths, or what has rows: ``tracerank.readers.sources.arrow.rows_in`` takes it without importing its library."""
OnRecord = Callable[[str], None]
"""Gets the name of the reader that takes each record."""
Questions = PathLike | Mapping[str, str] | Iterable[Question]
"""What was asked: a file, texts by id, or questions."""


_OF_FRAMES = ("iloc", "iter_rows", "to_batches", "to_pylist", "collect")
"""Attributes of pandas, polars and Arrow, whose frames give the names of their columns when iterated."""
ROWS = "rows"
"""Stands for a file's name, for rows that were in memory."""
_JOINER = TelemetryReader()
"""The one of our own that puts pieces together."""


class RolloutWarning(UserWarning):
    """A rollout that could not be used as it stands."""


def read_pools(
    given: Given,
    reader: str | Reader = AUTO,
    on_problem: Report | None = None,
    fields: Mapping[str, str] | None = None,
    questions: Questions | None = None,
    tools: Mapping[str, str] | None = None,
    answer_field: str = "",
) -> list[Pool]:
    """All pools of files, folders or patterns, with rollouts grouped by question across them.

    ``given`` may also be a frame of pandas or polars, an Arrow table, a Hugging Face dataset, or a list of objects.
    ``fields`` maps our names to those of the records: ``{"question": "prompt", "answer": "data.reply"}``.
    ``questions`` has the questions of logs that lack them: a file of ids, texts and references, or ``{id: text}``.
    ``tools`` describes tools of your own and which argument is the query: ``{"lookup": "search:for_what"}``.
    ``answer_field`` is the part that counts as the answer where answers are objects.
    """
    return list(iter_pools(given, reader, on_problem, None, None, fields, questions, tools, answer_field))


def iter_pools(
    given: Given,
    reader: str | Reader = AUTO,
    on_problem: Report | None = None,
    window_bytes: int | None = WINDOW_BYTES,
    on_record: OnRecord | None = None,
    fields: Mapping[str, str] | None = None,
    questions: Questions | None = None,
    tools: Mapping[str, str] | None = None,
    answer_field: str = "",
) -> Iterator[Pool]:
    """The pools of ``read_pools`` one by one, in constant memory if a question's rollouts are near each other."""
    source = _source(reader, on_problem, window_bytes, on_record, fields, questions, tools, answer_field)
    places, rows = _places_or_rows(given)
    return group(source.placed(places, rows), source.report, window_bytes)


def _places_or_rows(given: Given) -> tuple[list[PathLike], Any]:
    """The paths that are named, or, where there are none, what holds rows."""
    if isinstance(given, str | os.PathLike):
        return [given], None
    if isinstance(given, Mapping) or any(hasattr(given, name) for name in _OF_FRAMES):
        return [], given
    if not isinstance(given, Iterable):
        raise UsageError(f"expected paths, a frame or rows that are objects, got {type(given).__name__}")
    items = iter(given)
    first = next(items, None)
    rest = chain(() if first is None else (first,), items)
    return (list(rest), None) if first is None or isinstance(first, str | os.PathLike) else ([], rest)


def pools_of_records(
    records: Iterable[Record],
    reader: str | Reader = AUTO,
    on_problem: Report | None = None,
    name: str = "request",
    fields: Mapping[str, str] | None = None,
    tools: Mapping[str, str] | None = None,
    answer_field: str = "",
) -> list[Pool]:
    """Pools of records that are in memory already, such as the body of a request; ``name`` tells where they stood."""
    placed = (RecordAt(record, f"{name}:[{index}]", 0) for index, record in enumerate(records))
    return list(pools_of_placed(placed, reader, on_problem, fields=fields, tools=tools, answer_field=answer_field))


def pools_of_placed(
    records: Iterable[RecordAt],
    reader: str | Reader = AUTO,
    on_problem: Report | None = None,
    window_bytes: int | None = None,
    fields: Mapping[str, str] | None = None,
    tools: Mapping[str, str] | None = None,
    answer_field: str = "",
) -> Iterator[Pool]:
    """Pools of records that say where they stood; those of a file are read as that file would be."""
    source = _source(reader, on_problem, window_bytes, None, fields, None, tools, answer_field)
    files = (part for _, part in groupby(records, lambda item: item.source.rpartition(":")[0]))
    return group(chain.from_iterable(map(source.of_records, files)), source.report, window_bytes)


def _source(
    reader: str | Reader,
    on_problem: Report | None,
    window_bytes: int | None,
    on_record: OnRecord | None,
    fields: Mapping[str, str] | None = None,
    questions: Questions | None = None,
    tools: Mapping[str, str] | None = None,
    answer_field: str = "",
) -> "_Source":
    mapped, names = FieldMap(fields or {}), TOOL_NAMES
    if isinstance(reader, str):
        spelling = spelled(reader)
        reader, names = spelling.name, names.with_tools(spelling.tools)
        mapped = FieldMap({**spelling.fields.paths, **mapped.paths})
        answer_field, questions = answer_field or spelling.answer_field, spelling.questions or questions
    if tools:
        names = names.with_tools(",".join(f"{name}={does}" for name, does in tools.items()))
    chosen = (None if reader == AUTO else reader_named(reader)) if isinstance(reader, str) else reader
    joiner = chosen or _JOINER
    # Asking whether it is a ``Joiner`` would cost a request more than reading it.
    is_joiner = hasattr(joiner, "pieces") and hasattr(joiner, "join")
    report = on_problem or _warn
    table = None if questions is None else _table(questions, report)
    joining, heard = Joining(cast(Joiner, joiner) if is_joiner else None, window_bytes), on_record or (lambda _: None)
    return _Source(chosen, joining, report, heard, mapped, table, names, answer_field)


def _table(questions: Questions, report: Report) -> "QuestionTable":
    from tracerank.readers.sources.question_files import question_table

    return question_table(questions, report)


@dataclass(slots=True)
class _Source:
    """Rollouts out of files, with where to report what."""

    reader: Reader | None
    """None: each record's own."""
    joining: Joining
    report: Report
    on_record: OnRecord
    fields: FieldMap = field(default_factory=FieldMap)
    """Where other names stand for ours."""
    table: "QuestionTable | None" = None
    """What was asked, where the user says so."""
    names: ToolNames = TOOL_NAMES
    """What tools do, with what the user says."""
    answer_field: str = ""
    """The field that is the answer, of answers that are objects."""
    seen: set[str] = field(default_factory=set)
    """Of our names, those that were met."""
    reported: set[str] = field(default_factory=set)
    """Doubts that were reported."""
    missing: "MissingQuestions | None" = None
    """Names rollouts whose log does not say what was asked, from the first one on."""

    def placed(self, places: Sequence[PathLike], rows: Any = None) -> Iterator[Placed]:
        for place in places:
            yield from self._from_place(place, places)
        if rows is not None:
            from tracerank.readers.sources.arrow import rows_in

            items = iter_values(rows_in(rows), ROWS)
            yield from self._named(ROWS, self._parsed(self._stitched(items)), places)
        rest = list(self._parsed(self.joining.rest()))
        if rest:
            from tracerank.readers.runs.questions import by_file

            for name, traces in by_file(rest, places).items():
                yield from self._named(name, traces, places)
        if self.fields.paths:
            for problem in self.fields.unseen(self.seen, ", ".join(os.fspath(place) for place in places) or ROWS):
                self.report(problem)
        if self.missing is not None:
            for problem in self.missing.problems():
                self.report(problem)

    def of_records(self, records: Iterable[RecordAt]) -> Iterator[Placed]:
        parsed = (self._parsed(each) for each in (self.joining.through(self._mapped(records)), self.joining.rest()))
        for placed in chain.from_iterable(parsed):
            if placed.parsed.question.id:
                yield placed
            else:
                self.report(Problem(placed.source, "no question: nothing says what was asked; the record was dropped"))

    def _named(self, name: str, placed: Iterable[Placed], places: Sequence[PathLike]) -> Iterator[Placed]:
        """The rollouts of one file, each with its question: its own, the table's, or one by the name of the file."""
        held: list[Placed] = []
        is_whole = True
        for one in placed:
            if not one.parsed.question.id:
                held.append(one)
                continue
            is_whole = False
            yield one if self.table is None else self._names(places).joined(one)
        if held:
            yield from self._names(places).of_file(name, held, is_whole)

    def _names(self, places: Sequence[PathLike]) -> "MissingQuestions":
        if self.missing is None:
            from tracerank.readers.runs.questions import MissingQuestions

            self.missing = MissingQuestions(tuple(map(find_files, places)), self.table, self.report)
        return self.missing

    def _from_place(self, place: PathLike, places: Sequence[PathLike]) -> Iterator[Placed]:
        """The rollouts of a file that the user named, or of those found there, of which some may be of no use."""
        found = find_files(place)
        refused: list[Problem] = []
        for name in found.refused:
            self.report(Problem(name, f"{NOT_A_FILE}; it was left out"))
        is_empty = True
        for name in found.names:
            items = found.records(name, self._reading_of_lines())
            try:
                for placed in self._named(name, self._parsed(self._stitched(items)), places):
                    is_empty = False
                    yield placed
            except ReadError as error:
                if found.place is None or isinstance(error, ScatteredRollout):
                    raise
                refused.append(Problem(name, f"{str(error).removeprefix(f'{name}: ')}; the file was left out"))
                self.report(refused[-1])
        if refused and is_empty and not self.joining.is_waiting:
            count = f"none of the {len(found.names):,} files" if len(found.names) > 1 else "nothing"
            raise ReadError(f"{found.place}: {count} could be read; the first problem: {refused[0]}")

    def _stitched(self, items: Iterable[RecordAt | Problem]) -> Iterator[RecordAt]:
        return runs_in(self.joining.through(self._mapped(_sound(items, self.report))))

    def _reading_of_lines(self) -> ReadLine:
        """Canonical lines are read as such, unless another reader or other names of fields are asked for."""
        if self.fields.paths:  # a field may stand anywhere
            return read_one
        is_own = self.reader is None or self.reader is READERS[CANONICAL]
        return CanonicalLines().read if is_own else read_one

    def _mapped(self, records: Iterable[RecordAt]) -> Iterable[RecordAt]:
        return self.fields.through(records, self.seen) if self.fields.paths else records

    def _parsed(self, records: Iterable[RecordAt]) -> Iterator[Placed]:
        reader = self.reader
        assigned = assign_readers(records) if reader is None else ((reader, r) for r in taken_apart(records, reader))
        is_usual = self.names is TOOL_NAMES and not self.answer_field
        for chosen, item in assigned:
            if is_usual or item.parsed is not None:  # most files: setting the context costs more than a short line
                placed = parse_record(chosen, item, self.report)
            else:
                with using(self.names), answering_with(self.answer_field):
                    placed = parse_record(chosen, item, self.report)
            self.on_record((placed.reading if placed is not None else "") or chosen.name)
            if placed is None:
                continue
            doubt = placed.parsed.doubt
            if doubt and doubt not in self.reported:
                self.reported.add(doubt)
                self.report(Problem(placed.source, doubt))
            yield placed


def _sound(items: Iterable[RecordAt | Problem], report: Report) -> Iterator[RecordAt]:
    for item in items:
        if isinstance(item, Problem):
            report(item)
        else:
            yield item


def _warn(problem: Problem) -> None:
    warnings.warn(str(problem), RolloutWarning, stacklevel=2)
