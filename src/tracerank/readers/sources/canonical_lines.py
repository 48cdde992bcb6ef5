"""Canonical lines decoded straight into rollouts, which takes less time than parsing them and checking each field.

A line that is not exactly what ``write_pools`` writes is left to the full decoder, which says what is wrong with it.
"""

from typing import Any

import msgspec

from tracerank.answers.text_keys import trimmed
from tracerank.endpoints.chat import Usage, record_to_message
from tracerank.errors import TraceRankError
from tracerank.pools.canonical import SCHEMA, SCHEMA_NAME, normalised, record_to_view
from tracerank.pools.types import RETENTION_RULES, WEBQA, Question, Rollout, Search, maker_of
from tracerank.readers.base import Parsed, Problem, Record, RecordAt
from tracerank.readers.sources.json_lines import read_one

MAX_KNOWN_BYTES = 1 << 21
"""Of the searches that are remembered, so that those which rollouts share are one object."""

_OURS = f'{{"schema":"{SCHEMA_NAME}/'.encode()
_MAX_NUMBER = 2**53
_DUMPS = ("[", "{")
"""With which a text begins that may be a record itself (``readers/detect.py``)."""
_RECORD: Record = {"schema": SCHEMA}
"""What others see of a line that was decoded here."""
_made_parsed, _made_rollout = maker_of(Parsed), maker_of(Rollout)


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    schema: str
    question_id: str | int
    question: str = ""
    dataset: str | None = None
    references: tuple[str, ...] = ()
    sample_id: int | None = None
    answer: str | None = None
    label: float | None = None
    confidence: float | None = None
    setting: str = WEBQA
    searches: tuple[msgspec.Raw, ...] = ()
    views: tuple[dict[str, Any], ...] = ()
    problem: str | None = None
    source: str | None = None
    messages: tuple[dict[str, Any], ...] = ()
    usage: Usage | None = None
    agent: str | None = None


_decode = msgspec.json.Decoder(_Line).decode
_decode_search = msgspec.json.Decoder(Search).decode


class CanonicalLines:
    """The lines of a file one after the other; the last question and searches that came lately are shared."""

    def __init__(self) -> None:
        self._question = Question("", "")
        self._searches = _Searches()

    def read(self, line: bytes, source: str) -> RecordAt | Problem:
        """A line as a record, with its rollout if it is canonical."""
        if line.startswith(_OURS):
            try:
                parsed = self._parsed(_decode(line), source)
            except (msgspec.MsgspecError, UnicodeError, TraceRankError, RecursionError):
                parsed = None
            if parsed is not None:
                return RecordAt(_RECORD, source, len(line), parsed)
        return read_one(line, source)

    def _parsed(self, line: _Line, source: str) -> Parsed | None:
        if line.schema != SCHEMA or line.setting not in RETENTION_RULES or line.question_id == "":
            return None
        if line.sample_id is not None and abs(line.sample_id) > _MAX_NUMBER:
            return None
        for share in (line.label, line.confidence):
            if share is not None and not 0 <= share <= 1:
                return None
        for text in (line.question_id, line.question, line.dataset, line.answer, line.problem, line.source):
            if type(text) is str and text.startswith(_DUMPS):
                return None
        rollout = _made_rollout(
            line.sample_id or 0,
            None if line.answer is None else trimmed(line.answer),
            tuple(map(self._searches.__getitem__, map(bytes, line.searches))),
            line.label,
            line.confidence,
            line.setting,
            tuple(map(record_to_view, line.views)),
            line.problem,
            source if line.source is None else line.source,
            tuple(map(record_to_message, line.messages)),
            line.usage,
            line.agent or None,
        )
        return _made_parsed(self._question_of(line), rollout, line.sample_id is not None, "", "", "")

    def _question_of(self, line: _Line) -> Question:
        question = Question(str(line.question_id), line.question, line.references, line.dataset)
        if question != self._question:
            self._question = question
        return self._question


class _Searches(dict[bytes, Search]):
    """Searches that were met lately: rollouts of a question make the same ones."""

    def __init__(self) -> None:
        self._bytes = 0

    def __missing__(self, data: bytes) -> Search:
        search = normalised(_decode_search(data))
        self._bytes += len(data)
        if self._bytes > MAX_KNOWN_BYTES:
            self.clear()
            self._bytes = len(data)
        self[data] = search
        return search
