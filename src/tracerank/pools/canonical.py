"""The canonical file format: one rollout a line, every field of Question and Rollout, nothing else.

Holds the shape and its checks in both directions and the writing of files; reading files belongs to ``readers``.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from tracerank.answers.exact import normalize_excerpts, normalize_text
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.messages import Usage, message_to_record, record_to_message
from tracerank.pools.pool import Pool
from tracerank.pools.types import RETENTION_RULES, WEBQA, Document, Evidence, Question, Rollout, Search, View
from tracerank.pools.whole_files import write_lines

SCHEMA_NAME = "tracerank-rollout"
SCHEMA_VERSION = 1
SCHEMA = f"{SCHEMA_NAME}/{SCHEMA_VERSION}"


@dataclass(frozen=True, slots=True)
class CanonicalRow:
    """One line: a rollout and the question it belongs to."""

    question: Question
    rollout: Rollout
    is_numbered: bool
    """False: the line has no ``sample_id``; the rollout is numbered by its place in the file."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    types: tuple[type, ...]
    default: object = None
    """Omitted when it has this value; a field without it must be present."""
    is_required: bool = False


_STRING, _INTEGER, _BOOLEAN = (str,), (int,), (bool,)
_DOCUMENT = (_Field("key", _STRING, is_required=True), _Field("verified", _BOOLEAN, True), _Field("url", _STRING))
_EVIDENCE = (
    _Field("text", _STRING, is_required=True),
    _Field("title", _STRING),
    _Field("url", _STRING),
    _Field("rank", _INTEGER),
    _Field("tool", _STRING, "search"),
    _Field("event", _INTEGER),
    _Field("status", _STRING),
)
_VIEW = (
    _Field("event", _INTEGER, is_required=True),
    _Field("tool", _STRING, is_required=True),
    _Field("parent", _INTEGER),
    _Field("cursor", _INTEGER),
    _Field("is_valid", _BOOLEAN, is_required=True),
    _Field("continues", _BOOLEAN, False),
    _Field("requested", _STRING),
    _Field("kind", _STRING, "unknown"),
    _Field("url", _STRING),
    _Field("displayed", _STRING),
    _Field("url_field_agrees", _BOOLEAN, False),
    _Field("header", _STRING, "missing_returned_header"),
    _Field("number", _STRING),
    _Field("fallback", _STRING, ""),
)
_USAGE = (
    _Field("prompt_tokens", _INTEGER, is_required=True),
    _Field("completion_tokens", _INTEGER, is_required=True),
    _Field("calls", _INTEGER, 1),
)
_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def kind_of(value: object) -> str:
    """What a JSON value is, in words for error messages."""
    return _NAMES.get(type(value), type(value).__name__)


# ---- rollout -> record


def rollout_to_record(question: Question, rollout: Rollout) -> dict[str, Any]:
    """The line for one rollout; fields that are None or at their default are left out."""
    record = {
        "schema": SCHEMA,
        "question_id": question.id,
        "question": question.text,
        "dataset": question.dataset,
        "references": list(question.references) or None,
        "sample_id": rollout.sample_id,
        "answer": rollout.answer,
        "label": rollout.label,
        "confidence": rollout.confidence,
        "setting": rollout.setting,
        "searches": [_search_to_record(search) for search in rollout.searches] or None,
        "views": [_to_record(view, _VIEW) for view in rollout.views] or None,
        "problem": rollout.problem,
        "source": rollout.source,
        "messages": [message_to_record(message) for message in rollout.messages] or None,
        "usage": None if rollout.usage is None else _to_record(rollout.usage, _USAGE),
    }
    return {name: value for name, value in record.items() if value is not None}


def _search_to_record(search: Search) -> dict[str, Any]:
    record: dict[str, Any] = {} if search.query is None else {"query": search.query}
    if search.event is not None:
        record["event"] = search.event
    evidence = []
    for occurrence in search.evidence:
        evidence.append(_to_record(occurrence, _EVIDENCE))
        if occurrence.document is not None:
            evidence[-1]["document"] = _to_record(occurrence.document, _DOCUMENT)
    record["evidence"] = evidence
    return record


def _to_record(value: object, fields: tuple[_Field, ...]) -> dict[str, Any]:
    pairs = ((field, getattr(value, field.name)) for field in fields)
    return {field.name: given for field, given in pairs if field.is_required or given != field.default}


# ---- record -> rollout


def record_to_parsed(record: Mapping[str, Any]) -> CanonicalRow:
    """The rollout on one line, each field checked; unknown fields are ignored."""
    question = _question(record)
    sample_id = _get(record, "sample_id", _INTEGER)
    answer = _get(record, "answer", _STRING)
    setting = _get(record, "setting", _STRING) or WEBQA
    if setting not in RETENTION_RULES:
        raise MalformedRollout(f"field 'setting': expected one of {', '.join(RETENTION_RULES)}, got {setting!r}")
    rollout = Rollout(
        sample_id or 0,
        None if answer is None else answer.strip(),
        tuple(_search(item, f"searches[{index}]") for index, item in enumerate(_list(record, "searches"))),
        _share(record, "label"),
        _share(record, "confidence"),
        setting,
        tuple(
            View(**{"parent": None, "cursor": None, **_values(item, _VIEW, f"views[{index}]")})
            for index, item in enumerate(_list(record, "views"))
        ),
        _get(record, "problem", _STRING),
        _get(record, "source", _STRING),
        tuple(record_to_message(item) for item in _list(record, "messages") if isinstance(item, dict)),
        None if record.get("usage") is None else Usage(**_values(record["usage"], _USAGE, "usage")),
    )
    return CanonicalRow(question, rollout, sample_id is not None)


def _question(record: Mapping[str, Any]) -> Question:
    _check_schema(record.get("schema", SCHEMA))
    text = _get(record, "question", _STRING)
    identity = record.get("question_id")
    if identity is None and text:
        identity = normalize_text(text)
    if type(identity) not in (str, int) or identity == "":
        _wrong("question_id", "a nonempty string", identity)
    references = _list(record, "references")
    for index, reference in enumerate(references):
        if type(reference) is not str:
            _wrong(f"references[{index}]", "a string", reference)
    return Question(str(identity), text or "", tuple(references), _get(record, "dataset", _STRING))


def _check_schema(schema: object) -> None:
    name, _, version = schema.partition("/") if isinstance(schema, str) else ("", "", "")
    major = version.partition(".")[0]
    if name != SCHEMA_NAME or not (major.isascii() and major.isdigit()):
        raise MalformedRollout(f"field 'schema': expected {SCHEMA!r}, got {schema!r}")
    if int(major) > SCHEMA_VERSION:
        # Not one bad rollout: nothing in such a file can be trusted to mean what we think.
        raise ReadError(f"written in format {schema}, this tracerank reads up to {SCHEMA}; upgrade tracerank")


def _search(item: object, where: str) -> Search:
    record = _object(item, where)
    evidence = tuple(
        _evidence(_object(found, f"{where}.evidence[{index}]"), f"{where}.evidence[{index}]")
        for index, found in enumerate(_list(record, "evidence", where))
    )
    return Search(_get(record, "query", _STRING, where), evidence, _get(record, "event", _INTEGER, where))


def _evidence(record: Mapping[str, Any], where: str) -> Evidence:
    values = _values(record, _EVIDENCE, where)
    # Hand-written files hold raw text; equal content must be equal text.
    values["text"] = (normalize_excerpts if values.get("tool") == "find" else normalize_text)(values["text"])
    document = record.get("document")
    if document is not None:
        values["document"] = Document(**_values(document, _DOCUMENT, f"{where}.document"))
    return Evidence(**values)


def _values(item: object, fields: tuple[_Field, ...], where: str) -> dict[str, Any]:
    record = _object(item, where)
    values: dict[str, Any] = {}
    for field in fields:
        value = record.get(field.name)
        if type(value) in field.types:
            values[field.name] = value
        elif value is not None or field.is_required:
            _wrong(f"{where}.{field.name}", _NAMES[field.types[0]], value)
    return values


def _get(record: Mapping[str, Any], name: str, types: tuple[type, ...], where: str = "") -> Any:
    value = record.get(name)
    if value is not None and type(value) not in types:
        _wrong(f"{where}.{name}" if where else name, _NAMES[types[0]], value)
    return value


def _list(record: Mapping[str, Any], name: str, where: str = "") -> list[Any]:
    return _get(record, name, (list,), where) or []


def _object(item: object, where: str) -> Mapping[str, Any]:
    return item if isinstance(item, dict) else _wrong(where, "an object", item)


def _share(record: Mapping[str, Any], name: str) -> float | None:
    """A number between 0 and 1; true and false count as 1 and 0, NaN as unknown."""
    value = record.get(name)
    if value is None or (type(value) is float and value != value):
        return None
    if type(value) not in (bool, int, float) or not 0 <= value <= 1:
        _wrong(name, "a number between 0 and 1", value)
    return float(value)


def _wrong(field: str, expected: str, value: object) -> NoReturn:
    shown = repr(value) if type(value) in (int, float, bool) or value == "" else kind_of(value)
    raise MalformedRollout(f"field '{field}': expected {expected}, got {shown}")


# ---- files


def write_pools(path: str | os.PathLike[str], pools: Iterable[Pool]) -> None:
    """Write pools as canonical JSON Lines, gzip-compressed when the name ends with .gz; all of the file or none."""
    write_lines(path, (rollout_to_record(pool.question, one) for pool in pools for one in pool.rollouts))
