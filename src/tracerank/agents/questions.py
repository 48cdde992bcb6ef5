"""Files of questions to sample: JSON Lines, JSON, Parquet or plain text with one question a line, also gzip.

A line that holds no question is reported with its place and left out; only a file that cannot be used at all raises.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import IO, cast

from tracerank.answers.exact import normalize_text
from tracerank.errors import ReadError
from tracerank.pools.canonical import kind_of
from tracerank.pools.types import Question
from tracerank.readers.base import Record
from tracerank.readers.files.inputs import find_files, iter_input
from tracerank.readers.files.record_fields import references_of
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.formats.webqa import identity_of
from tracerank.readers.values import encodable

TEXT_FIELDS = ("question", "query", "text", "prompt")
ID_FIELDS = ("id", "question_id", "qid", "_id")
REFERENCE_FIELDS = ("answers", "references", "golden_answers", "answer")
_GZIP_MAGIC = b"\x1f\x8b"
_HEAD_BYTES = 4096

OnProblem = Callable[[Problem], None]


def read_questions(paths: Sequence[Path], on_problem: OnProblem = lambda problem: None) -> list[Question]:
    """The questions of the files in order, with distinct ids.

    A question that comes again under its id is left out. An id that comes again with another text gets the next free
    one, ``7~2``, because ids often restart in every file.
    """
    names = [name for path in paths for name in find_files(path).names]
    reader = _QuestionReader(on_problem)
    questions = [question for name in names for question in reader.read(name)]
    if not questions:
        listed = ", ".join(map(str, paths))
        raise ReadError(f"{listed}: not one question; expected {_listed(TEXT_FIELDS)} in each object, or plain text")
    return questions


def digest_of(questions: Iterable[Question]) -> str:
    """SHA-256 of everything that the questions say, in order."""
    whole = hashlib.sha256()
    for question in questions:
        whole.update(json.dumps(astuple(question)).encode() + b"\n")
    return whole.hexdigest()


class _QuestionReader:
    """Knows which ids are taken, over all files."""

    def __init__(self, on_problem: OnProblem) -> None:
        self._on_problem = on_problem
        self._texts: dict[str, str] = {}

    def read(self, name: str) -> Iterator[Question]:
        for item in _text_records(name) if _is_plain_text(name) else iter_input(name):
            if isinstance(item, Problem):
                self._on_problem(item)
            elif (found := self._question(item)) is not None:
                yield found

    def _question(self, item: RecordAt) -> Question | None:
        record = item.value
        text = next((t for name in TEXT_FIELDS if isinstance(t := record.get(name), str) and t.strip()), None)
        if text is None:
            self._on_problem(Problem(item.source, f"no question: expected text in {_listed(TEXT_FIELDS)}; left out"))
            return None
        text = encodable(text.strip())
        wanted = encodable(identity_of(record, ID_FIELDS) or normalize_text(text))
        free = self._free_id(wanted, text)
        if free is None:
            self._on_problem(Problem(item.source, f"question {wanted!r} stands here again; left out"))
            return None
        if free != wanted:
            self._on_problem(Problem(item.source, f"id {wanted!r} has another question already; it became {free!r}"))
        dataset = record.get("dataset", record.get("data_source"))
        question = Question(free, text, dataset=encodable(dataset) if isinstance(dataset, str) else None)
        return replace(question, references=self._references(record, item.source))

    def _free_id(self, wanted: str, text: str) -> str | None:
        """The id itself or the next free one; None when this very question has one."""
        name, times = wanted, 1
        while (taken := self._texts.get(name)) is not None:
            if taken == text:
                return None
            times += 1
            name = f"{wanted}~{times}"
        self._texts[name] = text
        return name

    def _references(self, record: Record, source: str) -> tuple[str, ...]:
        references = references_of(record)
        given = next((record[name] for name in REFERENCE_FIELDS if record.get(name) not in (None, "", [])), None)
        if given is not None and not references:
            reason = f"its answers are {kind_of(given)} without text; the question is kept without references"
            self._on_problem(Problem(source, reason))
        return references


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:-1]) + f" or '{names[-1]}'"


# ---- plain text


def _is_plain_text(name: str) -> bool:
    """Whether the file begins like prose; what begins like JSON, or is binary, is for the readers of records."""
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
    return bool(text) and text[0] not in "{[" and "\0" not in text and not text.startswith("PAR1")


def _text_records(name: str) -> Iterator[RecordAt]:
    try:
        with _unpacked(name) as file:
            for number, line in enumerate(file, start=1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
                if text.strip():
                    yield RecordAt({"question": text.strip()}, f"{name}:{number}", len(line))
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(f"{name}: cannot be read to its end ({error}); fetch or compress the file again") from None


def _unpacked(name: str) -> IO[bytes]:
    with open(name, "rb") as file:
        is_packed = file.read(2) == _GZIP_MAGIC
    return cast(IO[bytes], gzip.open(name, "rb")) if is_packed else open(name, "rb")
