"""The canonical file format: one rollout a line, every field of Question and Rollout, nothing else.

Holds the checks in both directions and the writing of files; reading files belongs to ``readers``.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple, NoReturn, TypeVar

import msgspec

from tracerank.answers.exact import normalize_excerpts, normalize_text
from tracerank.answers.text_keys import trimmed
from tracerank.endpoints.chat import Usage, message_to_record, record_to_message
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.pool import Pool
from tracerank.pools.types import RETENTION_RULES, WEBQA, Document, Evidence, Question, Rollout, Search, View
from tracerank.runs.atomic import write_lines

T = TypeVar("T")

SCHEMA_NAME = "tracerank-rollout"
SCHEMA_VERSION = 1
SCHEMA = f"{SCHEMA_NAME}/{SCHEMA_VERSION}"

_NAMES: Mapping[type, str] = {
    type(None): "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
_TYPES = {"bool": bool, "int": int, "float": float, "str": str, "array": list, "object": dict}
"""In the words of msgspec."""
_DEFAULTS: Mapping[type, list[tuple[str, object]]] = {
    kind: [(item.name, None if item.default is MISSING else item.default) for item in fields(kind)]
    for kind in (Document, Evidence, View, Usage)
}
"""Name and default of each field; one that has no default is left out of a line where it is None."""
_EXPECTED = re.compile(r"Expected `([a-z]+)(?: [^`]*)?`, got `[^`]*`(?: - at `\$\.?([^`]*)`)?")
_MISSING = re.compile(r"Object missing required field `([a-z_]+)`(?: - at `\$\.?([^`]*)`)?")


def kind_of(value: object) -> str:
    """What a JSON value is, in words for error messages."""
    return _NAMES.get(type(value), type(value).__name__)


class CanonicalRow(NamedTuple):
    """One line: a rollout and the question it belongs to."""

    question: Question
    rollout: Rollout
    is_numbered: bool
    """False: the line has no ``sample_id``; the rollout is numbered by its position in the file."""


class _Line(msgspec.Struct, gc=False):
    """What a line holds, but for what is checked by itself."""

    question: str = ""
    references: tuple[str, ...] = ()
    dataset: str | None = None
    sample_id: int | None = None
    answer: str | None = None
    setting: str = WEBQA
    searches: tuple[Search, ...] = ()
    views: tuple[Any, ...] = ()
    problem: str | None = None
    source: str | None = None
    messages: tuple[Any, ...] = ()
    usage: Usage | None = None
    agent: str | None = None


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
        "views": [_to_record(view) for view in rollout.views] or None,
        "problem": rollout.problem,
        "source": rollout.source,
        "messages": [message_to_record(message) for message in rollout.messages] or None,
        "usage": None if rollout.usage is None else _to_record(rollout.usage),
        "agent": rollout.agent,
    }
    return {name: value for name, value in record.items() if value is not None}


def _search_to_record(search: Search) -> dict[str, Any]:
    record: dict[str, Any] = {} if search.query is None else {"query": search.query}
    if search.event is not None:
        record["event"] = search.event
    record["evidence"] = evidence = [_to_record(occurrence) for occurrence in search.evidence]
    for written, occurrence in zip(evidence, search.evidence, strict=True):
        if written.pop("document", None) is not None:  # last, as ever: equal pools give equal bytes
            written["document"] = _to_record(occurrence.document)
    return record


def _to_record(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their default."""
    pairs = ((name, getattr(value, name), default) for name, default in _DEFAULTS[type(value)])
    return {name: given for name, given, default in pairs if given != default}


# ---- record -> rollout


def record_to_parsed(record: Mapping[str, Any], source: str | None = None) -> CanonicalRow:
    """The rollout on one line, each field checked; unknown fields are ignored. ``source`` is where the line stood."""
    _check_schema(record.get("schema", SCHEMA))
    line = _checked(record, _Line)
    if line.setting not in RETENTION_RULES:
        expected = f"expected one of {', '.join(RETENTION_RULES)}, got {line.setting!r}"
        raise MalformedRollout(f"field 'setting': {expected}")
    rollout = Rollout(
        line.sample_id or 0,
        None if line.answer is None else trimmed(line.answer),
        tuple(map(normalised, line.searches)),
        _share_of(record, "label"),
        _share_of(record, "confidence"),
        line.setting,
        tuple(record_to_view(item, f"views[{index}]") for index, item in enumerate(line.views)),
        line.problem,
        source if line.source is None else line.source,
        tuple(record_to_message(item) for item in line.messages if isinstance(item, dict)),
        line.usage,
        line.agent or None,
    )
    identity = record.get("question_id")
    if identity is None and line.question:
        identity = normalize_text(line.question)
    if type(identity) not in (str, int) or identity == "":
        _reject("question_id", "a nonempty string", identity)
    question = Question(str(identity), line.question, line.references, line.dataset)
    return CanonicalRow(question, rollout, line.sample_id is not None)


def normalised(search: Search) -> Search:
    """A search that was just made, with its texts normalised: equal content must be equal text."""
    for evidence in search.evidence:
        normalise = normalize_excerpts if evidence.tool == "find" else normalize_text
        if (text := normalise(evidence.text)) is not evidence.text:
            object.__setattr__(evidence, "text", text)  # nothing refers to it yet
    return search


def record_to_view(item: object, location: str = "") -> View:
    """The tool event of a browsing transcript that an object describes; ``location``: where it stands, for messages."""
    return _checked(item, View, location)


def _checked(item: object, kind: type[T], location: str = "") -> T:
    """The object that an item describes."""
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError:
        plain = _without_nulls(item)  # as people write what is unknown
    try:
        return msgspec.convert({"parent": None, "cursor": None, **plain} if kind is View else plain, kind)
    except msgspec.ValidationError as error:
        _explain(str(error), plain, location)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return list(map(_without_nulls, value)) if isinstance(value, list) else value


def _explain(message: str, item: Any, location: str) -> NoReturn:
    """Raise msgspec's complaint about an item in words."""
    if found := _MISSING.fullmatch(message):
        path = ".".join(filter(None, (location, found[2], found[1])))
        raise MalformedRollout(f"field '{path}': is missing")
    if (found := _EXPECTED.fullmatch(message)) is None:
        raise MalformedRollout(message)
    value = item
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", found[2] or ""):
        value = value[int(index)] if index else value[name]
    path = ".".join(filter(None, (location, found[2])))
    _reject(path, _NAMES[_TYPES[found[1]]], value)


def _share_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number between 0 and 1; true and false count as 1 and 0, NaN as unknown."""
    value = record.get(name)
    if value is None or (type(value) is float and value != value):
        return None
    if type(value) not in (bool, int, float) or not 0 <= value <= 1:
        _reject(name, "a number between 0 and 1", value)
    return float(value)


def _reject(field: str, expected: str, value: object) -> NoReturn:
    """Raise what says that the field is not what was expected."""
    shown = repr(value) if type(value) in (int, float, bool) or value == "" else kind_of(value)
    raise MalformedRollout(f"field '{field}': expected {expected}, got {shown}")


def _check_schema(schema: object) -> None:
    if schema == SCHEMA:
        return
    name, _, version = schema.partition("/") if isinstance(schema, str) else ("", "", "")
    major = version.partition(".")[0]
    if name != SCHEMA_NAME or not (major.isascii() and major.isdigit()):
        raise MalformedRollout(f"field 'schema': expected {SCHEMA!r}, got {schema!r}")
    if int(major) > SCHEMA_VERSION:
        # Not one bad rollout: nothing in such a file can be trusted to mean what we think.
        raise ReadError(f"written in format {schema}, this tracerank reads up to {SCHEMA}; upgrade tracerank")


# ---- files


def write_pools(path: str | os.PathLike[str], pools: Iterable[Pool]) -> None:
    """Write pools as canonical JSON Lines, compressed if the name ends with .gz; the file appears whole or not."""
    write_lines(path, (rollout_to_record(pool.question, one) for pool in pools for one in pool.rollouts))
