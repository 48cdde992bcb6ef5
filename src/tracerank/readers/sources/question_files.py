"""Files of questions: JSON Lines, JSON, tables, Parquet or plain text with one question a line, also gzip.

To sample from, and to say what was asked where a log does not. A line that holds no question is reported with its
place and left out; only a file that cannot be used at all raises.
"""

import gzip
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import IO, cast

from tracerank.answers.exact import normalize_text
from tracerank.errors import ReadError
from tracerank.pools.canonical import kind_of
from tracerank.pools.types import Question
from tracerank.readers.base import PathLike, Problem, Record, RecordAt
from tracerank.readers.sources.open import find_files, iter_input
from tracerank.readers.sources.record_fields import RECORD_KEY, identity_of, references_of
from tracerank.readers.sources.remote import is_remote, opened_remote
from tracerank.readers.sources.tables import header_of
from tracerank.readers.values import encodable

TEXT_FIELDS = ("question", "query", "text", "prompt")
ID_FIELDS = ("id", "question_id", "qid", "_id", "query_id", "task_id", "example_id", RECORD_KEY)
REFERENCE_FIELDS = ("answers", "references", "golden_answers", "answer")
_GZIP_MAGIC = b"\x1f\x8b"
_HEAD_BYTES = 4096
_NAMED_LINE = re.compile(r"\s*+(\S{1,100}+)[ ]*+\t[ ]*+(\S[^\t]*+)")
"""A line of a table without a header, as search tasks keep their topics: an id, a tab, the question."""

OnProblem = Callable[[Problem], None]


def read_questions(paths: Sequence[Path], on_problem: OnProblem = lambda problem: None) -> list[Question]:
    """The questions of the files in order, with distinct ids.

    A question that comes again under its id is left out. An id that comes again with another text gets the next free
    one, ``7~2``, because ids often restart in every file.
    """
    texts: dict[str, str] = {}
    questions: list[Question] = []
    for source, row in _rows(paths, on_problem):
        free = _free_id(row.id, row.text, texts)
        if free is None:
            on_problem(Problem(source, f"question {row.id!r} stands here again; left out"))
            continue
        if free != row.id:
            on_problem(Problem(source, f"id {row.id!r} has another question already; it became {free!r}"))
        questions.append(replace(row, id=free))
    return questions


@dataclass(frozen=True, slots=True)
class QuestionTable:
    """What was asked, by id, by text and by place."""

    rows: tuple[Question, ...]
    """As they stand in the file, those that come again included."""
    name: str = "questions"
    """Where they were read."""
    _by_id: Mapping[str, Question] = field(default_factory=dict)
    _by_text: Mapping[str, Question] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Question], name: str = "questions") -> "QuestionTable":
        kept = tuple(rows)
        by_id = {row.id: row for row in reversed(kept)}
        return cls(kept, name, by_id, {normalize_text(row.text): row for row in reversed(kept)})

    def under(self, name: str) -> Question | None:
        """The question of an id."""
        return self._by_id.get(name)

    def only(self) -> Question | None:
        """The one question that is there; None: there are more."""
        return self.rows[0] if len(self._by_id) == 1 else None

    def joined(self, question: Question) -> Question | None:
        """The question with what the table says about it, found by id, else by text; None: it does not know it."""
        found = self._by_id.get(question.id) or self._by_text.get(normalize_text(question.text))
        if found is None:
            return None
        references, dataset = found.references or question.references, found.dataset or question.dataset
        return Question(found.id, found.text, references, dataset)


def question_table(given: "PathLike | Mapping[str, str] | Iterable[Question]", on_problem: OnProblem) -> QuestionTable:
    """The table in a file, or of ids and texts, or of questions."""
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        return QuestionTable.of((row for _, row in _rows([path], on_problem)), str(path))
    if isinstance(given, Mapping):
        return QuestionTable.of(Question(str(name), text) for name, text in given.items())
    return QuestionTable.of(given)


def digest_of(questions: Iterable[Question]) -> str:
    """SHA-256 of everything that the questions say, in order."""
    whole = hashlib.sha256()
    for question in questions:
        whole.update(json.dumps(astuple(question)).encode() + b"\n")
    return whole.hexdigest()


def _rows(paths: Sequence[Path], on_problem: OnProblem) -> Iterator[tuple[str, Question]]:
    """Every question with its place, its id as it stands there or its text."""
    is_empty = True
    for name in (name for path in paths for name in find_files(path).names):
        for item in _text_records(name) if _is_plain_text(name) else iter_input(name):
            if isinstance(item, Problem):
                on_problem(item)
                continue
            for record in _by_name(item.value):
                if (found := _question(record, item.source, on_problem)) is not None:
                    is_empty = False
                    yield item.source, found
    if is_empty:
        listed = ", ".join(map(str, paths))
        raise ReadError(f"{listed}: not one question; expected {_listed(TEXT_FIELDS)} in each object, or plain text")


def _by_name(record: Record) -> Iterator[Record]:
    """The record; or those of an object that is nothing but ids and questions."""
    if any(name in record for name in (*TEXT_FIELDS, *ID_FIELDS)) or not all(
        isinstance(text, str) and len(text.split(maxsplit=1)) > 1 for text in record.values()
    ):
        yield record
        return
    for name, text in record.items():
        yield {"id": name, "question": text}


def _question(record: Record, source: str, on_problem: OnProblem) -> Question | None:
    text = next((t for name in TEXT_FIELDS if isinstance(t := record.get(name), str) and t.strip()), None)
    if text is None:
        on_problem(Problem(source, f"no question: expected text in {_listed(TEXT_FIELDS)}; left out"))
        return None
    text = encodable(text.strip())
    dataset = record.get("dataset", record.get("data_source"))
    return Question(
        encodable(identity_of(record, ID_FIELDS) or normalize_text(text)),
        text,
        _references(record, source, on_problem),
        encodable(dataset) if isinstance(dataset, str) else None,
    )


def _free_id(wanted: str, text: str, texts: dict[str, str]) -> str | None:
    """The id itself or the next free one; None when this very question has one."""
    name, times = wanted, 1
    while (taken := texts.get(name)) is not None:
        if taken == text:
            return None
        times += 1
        name = f"{wanted}~{times}"
    texts[name] = text
    return name


def _references(record: Record, source: str, on_problem: OnProblem) -> tuple[str, ...]:
    references = references_of(record)
    given = next((record[name] for name in REFERENCE_FIELDS if record.get(name) not in (None, "", [])), None)
    if given is not None and not references:
        reason = f"its answers are {kind_of(given)} without text; the question is kept without references"
        on_problem(Problem(source, reason))
    return references


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:-1]) + f" or '{names[-1]}'"


# ---- plain text


def _is_plain_text(name: str) -> bool:
    """Whether the file begins like prose; JSON, tables with a header and binary files have readers of their own."""
    try:
        with _unpacked(name) as file:
            head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, EOFError, zlib.error):
        return False  # reported where the records are read
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3 or len(head) < _HEAD_BYTES // 2:
            return False
        text = head[: error.start].decode("utf-8")
    if not text or text[0] in "{[" or "\0" in text or text.startswith("PAR1"):
        return False
    first, _, following = head.partition(b"\n")
    header = header_of(first, following)
    return header is None or not any(name in (*TEXT_FIELDS, *ID_FIELDS) for name in header.names)


def _text_records(name: str) -> Iterator[RecordAt]:
    try:
        with _unpacked(name) as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
                if text.strip():
                    named = _NAMED_LINE.match(text)
                    record = {"id": named[1], "question": named[2]} if named else {"question": text}
                    yield RecordAt(record, f"{name}:{number}", len(line))
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(f"{name}: cannot be read to its end ({error}); fetch or compress the file again") from None


def _unpacked(name: str) -> IO[bytes]:
    if is_remote(name):
        with opened_remote(name) as stream:
            whole = stream.read()
        return io.BytesIO(gzip.decompress(whole) if whole.startswith(_GZIP_MAGIC) else whole)
    with open(name, "rb") as file:
        is_packed = file.read(2) == _GZIP_MAGIC
    return cast(IO[bytes], gzip.open(name, "rb")) if is_packed else open(name, "rb")
