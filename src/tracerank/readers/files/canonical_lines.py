"""Canonical lines by their bytes: what the rollouts of a pool share is parsed once, not once for each of them.

They share their question, many searches and most texts, and a line as ``write_pools`` writes it shows by its bytes
where one of these ends. So it is cut there, and only pieces that were not met lately are parsed. A line that is laid
out otherwise, or has anything in it that is not as it should be, is left to whoever parses all of it and says what is
wrong.

A cut cannot mislead: each piece must be a JSON object when it stands alone. In front of a cut inside a string a quote
would be open, in front of one at another depth a bracket.
"""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import orjson

from tracerank.errors import TraceRankError
from tracerank.pools.canonical import (
    EVIDENCE,
    SCHEMA,
    SCHEMA_NAME,
    SEARCH,
    Shape,
    evidence_of,
    record_to_parsed,
    record_to_rollout,
)
from tracerank.pools.types import Evidence, Question, Rollout, Search, maker_of
from tracerank.readers.base import Parsed, Record
from tracerank.readers.files.records import Problem, RecordAt, read_one

KNOWN_PIECES = 512
"""Pieces of each kind that are remembered."""
KNOWN_BYTES = 8192
"""Longest that is."""

_OURS = f'{{"schema":"{SCHEMA_NAME}/'.encode()
_NUMBER = b',"sample_id":'
_SEARCHES, _QUERY, _NEXT_QUERY = b',"searches":[{"query":"', b'{"query":"', b']},{"query":"'
_BEHIND_SEARCHES, _AT_THE_END = b']}],"', b"]}]}"
_EVIDENCE, _TEXT, _NEXT_TEXT = b'"evidence":[', b'{"text":"', b'},{"text":"'
_COMMA = b',"'
_MOST_DIGITS = 15
"""Of a sample id; a longer one may be none."""

_OF_QUESTION = frozenset(("schema", "question_id", "question", "dataset", "references"))
_OF_ROLLOUT = frozenset(
    ("answer", "label", "confidence", "setting", "views", "problem", "source", "messages", "usage", "agent")
)
_FLAT = frozenset((str, bool, type(None)))
"""What a document is made of."""
_DUMPS = ("[", "{")
"""With which a text begins that may be a record itself (``readers/detect.py``)."""

_RECORD: Record = MappingProxyType({"schema": SCHEMA})
"""What those who look at records see of a line that was taken apart."""

T = TypeVar("T")
_made_parsed, _made_rollout, _made_search = maker_of(Parsed), maker_of(Rollout), maker_of(Search)


class _Unlike(Exception):
    """A piece that is not what ``write_pools`` writes."""


class CanonicalLines:
    """The lines of a file one after the other, and the pieces met in those before."""

    def __init__(self) -> None:
        self._start = b"\n"  # no line starts with it
        self._question = Question("", "")
        self._numbers = _Pieces(_number)
        self._said = _Pieces(_rollout)
        self._evidence = _Pieces(_evidence)
        self._searches = _Pieces(partial(_search, self._evidence))

    def read(self, line: bytes, source: str) -> RecordAt | Problem:
        """A line as a record, with its rollout if it is one of those."""
        if line.startswith(_OURS):
            try:
                return RecordAt(_RECORD, source, len(line), self._parsed(line.rstrip(), source))
            except (_Unlike, orjson.JSONDecodeError, TraceRankError):
                pass
        return read_one(line, source)

    def _parsed(self, line: bytes, source: str) -> Parsed:
        start = self._start
        if not line.startswith(start):
            start = self._begin(line)
        at = line.find(_SEARCHES, len(start))
        behind = b""
        searches: tuple[Search, ...] = ()
        if at >= 0:
            if line.endswith(_AT_THE_END):
                listed = line[at + len(_SEARCHES) : -len(_AT_THE_END)]
            else:
                listed, _, behind = line[at + len(_SEARCHES) :].rpartition(_BEHIND_SEARCHES)
                if not behind:
                    raise _Unlike
            searches = tuple(map(self._searches.__getitem__, listed.split(_NEXT_QUERY)))
        elif not line.endswith(b"}"):
            raise _Unlike
        number, comma, said = line[len(start) : at].partition(_COMMA)
        if comma and not said:
            raise _Unlike
        one = self._said[said]
        if behind:
            more = _plain(b'{"' + behind, _OF_ROLLOUT)
            if len(more) == 1 and one.source is None and type(named := more.get("source")) is str:
                source = named
            else:
                one = record_to_rollout({**_said(said), **more})
        rollout = _made_rollout(
            self._numbers[number],
            one.answer,
            searches,
            one.label,
            one.confidence,
            one.setting,
            one.views,
            one.problem,
            source if one.source is None else one.source,
            one.messages,
            one.usage,
            one.agent,
        )
        return _made_parsed(self._question, rollout, True, "", "", "")

    def _begin(self, line: bytes) -> bytes:
        head, found, _ = line.partition(_NUMBER)
        if not found:
            raise _Unlike
        self._question = _question(head)
        self._start = head + found
        return self._start


class _Pieces(dict[bytes, T]):
    """Pieces that were met lately, with what each is; one that was not is parsed when it is asked for."""

    def __init__(self, parse: Callable[[bytes], T]) -> None:
        self._parse = parse

    def __missing__(self, piece: bytes) -> T:
        made = self._parse(piece)
        if len(piece) <= KNOWN_BYTES:
            if len(self) >= KNOWN_PIECES:
                self.clear()
            self[piece] = made
        return made


def _number(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _MOST_DIGITS or (digits[:1] == b"0" != digits):
        raise _Unlike
    return int(digits)


def _rollout(said: bytes) -> Rollout:
    return record_to_rollout(_said(said))


def _search(known: _Pieces[Evidence], piece: bytes) -> Search:
    start, found, listed = piece.partition(_EVIDENCE)
    if not found:
        raise _Unlike
    values = _checked(_QUERY + start + _EVIDENCE + b"]}", SEARCH)
    evidence: tuple[Evidence, ...] = ()
    if listed:
        if not (listed.startswith(_TEXT) and listed.endswith(b"}")):
            raise _Unlike
        evidence = tuple(map(known.__getitem__, listed[len(_TEXT) : -1].split(_NEXT_TEXT)))
    return _made_search(values.get("query"), evidence, values.get("event"))


def _evidence(piece: bytes) -> Evidence:
    values = _checked(_TEXT + piece + b"}", EVIDENCE)
    if "document" in values and not _FLAT.issuperset(map(type, values["document"].values())):
        raise _Unlike
    return evidence_of(values)


def _question(head: bytes) -> Question:
    return record_to_parsed(_plain(head + b"}", _OF_QUESTION)).question


def _said(piece: bytes) -> dict[str, Any]:
    return _plain(b'{"' + piece + b"}", _OF_ROLLOUT) if piece else {}


def _plain(data: bytes, names: frozenset[str]) -> dict[str, Any]:
    """The object, if it has no other fields than these and no text in it may be a dump."""
    record: dict[str, Any] = orjson.loads(data)
    if not names.issuperset(record):
        raise _Unlike
    for value in record.values():
        if type(value) is str and value.startswith(_DUMPS):
            raise _Unlike
    return record


def _checked(data: bytes, shape: Shape) -> dict[str, Any]:
    """The fields of an object, if each is known and what it should be."""
    record: dict[str, Any] = orjson.loads(data)
    if not shape.is_plain(record):
        raise _Unlike
    return record
