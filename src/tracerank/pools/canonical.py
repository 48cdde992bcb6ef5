"""The canonical file format: one rollout a line, every field of Question and Rollout, nothing else.

Holds the shape and its checks in both directions and the writing of files; reading files belongs to ``readers``.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple, NoReturn, TypeVar, get_args, get_type_hints

from tracerank.answers.exact import normalize_excerpts, normalize_text
from tracerank.answers.text_keys import trimmed
from tracerank.endpoints.chat import Usage, message_to_record, record_to_message
from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.pool import Pool
from tracerank.pools.types import RETENTION_RULES, WEBQA, Document, Evidence, Question, Rollout, Search, View, maker_of
from tracerank.runs.atomic import write_lines

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class Field:
    """What one field must be."""

    name: str
    kind: type
    default: object = None
    """Omitted when it has this value; a field without it must be present."""
    is_required: bool = False


class Shape:
    """The fields of one kind of object, and what is looked up for each of thousands of them."""

    def __init__(self, *fields: Field, parts: tuple[Field, ...] = ()) -> None:
        """``parts`` hold objects of their own, which the caller reads and writes."""
        self.fields = fields
        self.read = (*fields, *parts)
        self.kinds = {field.name: field.kind for field in self.read}
        self.required = tuple(field.name for field in fields if field.is_required)
        self.names = tuple(field.name for field in fields)
        self.defaults = tuple(field.default for field in fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def is_plain(self, item: dict[str, Any]) -> bool:
        """Whether an object has nothing but its fields, each of its kind, and none that must be there is missing."""
        kinds = self.kinds
        for name, value in item.items():
            if type(value) is not kinds.get(name):
                return False
        for name in self.required:  # noqa: SIM110  # this is asked about every text of every file: no generator
            if name not in item:
                return False
        return True

    def in_order(self, values: Mapping[str, Any]) -> Iterator[Any]:
        """A value for each field."""
        return map(values.get, self.names, self.defaults)


class Misfit(MalformedRollout):
    """A field that is not what it should be; the reader of the object around it adds the place."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"field '{place}': {reason}")
        self.place = place
        self.reason = reason

    def inside(self, name: str) -> "Misfit":
        return Misfit(f"{name}.{self.place}" if self.place else name, self.reason)


def each(values: Mapping[str, Any], name: str, read: Callable[[object], T]) -> tuple[T, ...]:
    """The items of a list; what is wrong in one of them is told with its place."""
    found: list[T] = []
    try:
        for item in values.get(name, ()):
            found.append(read(item))
    except Misfit as error:
        raise error.inside(f"{name}[{len(found)}]") from None
    return tuple(found)


def part(record: Mapping[str, Any], name: str, shape: Shape) -> Mapping[str, Any]:
    """The fields of an object inside another."""
    try:
        return values_of(record[name], shape)
    except Misfit as error:
        raise error.inside(name) from None


def values_of(item: object, shape: Shape) -> Mapping[str, Any]:
    """The fields that the object has, which is all of it where nothing else stands there."""
    if not isinstance(item, dict):
        reject_field("", "an object", item)
    if shape.is_plain(item):
        return item
    kinds = shape.kinds
    values: dict[str, Any] = {}
    is_doubtful = False
    for name, value in item.items():
        kind = kinds.get(name)
        if type(value) is kind:
            values[name] = value
        elif kind is not None:
            is_doubtful = True
    if is_doubtful or not all(map(values.__contains__, shape.required)):
        for field in shape.read:
            if field.name not in values and (field.is_required or item.get(field.name) is not None):
                reject_field(field.name, _NAMES[field.kind], item.get(field.name))
    return values


def share_of(record: Mapping[str, Any], name: str) -> float | None:
    """A number between 0 and 1; true and false count as 1 and 0, NaN as unknown."""
    value = record.get(name)
    if value is None or (type(value) is float and value != value):
        return None
    if type(value) not in (bool, int, float) or not 0 <= value <= 1:
        reject_field(name, "a number between 0 and 1", value)
    return float(value)


def reject_field(field: str, expected: str, value: object) -> NoReturn:
    """Raise what says that the field is not what was expected."""
    shown = repr(value) if type(value) in (int, float, bool) or value == "" else kind_of(value)
    raise Misfit(field, f"expected {expected}, got {shown}")


SCHEMA_NAME = "tracerank-rollout"
SCHEMA_VERSION = 1
SCHEMA = f"{SCHEMA_NAME}/{SCHEMA_VERSION}"

_made_document, _made_evidence, _made_rollout = maker_of(Document), maker_of(Evidence), maker_of(Rollout)
_made_search, _made_view = maker_of(Search), maker_of(View)


class CanonicalRow(NamedTuple):
    """One line: a rollout and the question it belongs to."""

    question: Question
    rollout: Rollout
    is_numbered: bool
    """False: the line has no ``sample_id``; the rollout is numbered by its place in the file."""


def _shape_of(kind: type, part: str | None = None) -> Shape:
    """The fields of a dataclass; ``part``: the one that holds an object of its own."""
    hints = get_type_hints(kind)
    found = []
    for item in fields(kind):
        kinds = get_args(hints[item.name]) or (hints[item.name],)
        default = None if item.default is MISSING else item.default
        required = item.default is MISSING and type(None) not in kinds
        if item.name != part:
            found.append(Field(item.name, kinds[0], default, required))
    return Shape(*found, parts=() if part is None else (Field(part, dict),))


DOCUMENT, VIEW, USAGE = _shape_of(Document), _shape_of(View), _shape_of(Usage)
EVIDENCE = _shape_of(Evidence, part="document")
SEARCH = Shape(Field("query", str), Field("event", int), Field("evidence", list))
_ROLLOUT = Shape(
    Field("question", str),
    Field("references", list),
    Field("dataset", str),
    Field("sample_id", int),
    Field("answer", str),
    Field("setting", str),
    Field("searches", list),
    Field("views", list),
    Field("problem", str),
    Field("source", str),
    Field("messages", list),
    Field("agent", str),
)


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
        "views": [_to_record(view, VIEW) for view in rollout.views] or None,
        "problem": rollout.problem,
        "source": rollout.source,
        "messages": [message_to_record(message) for message in rollout.messages] or None,
        "usage": None if rollout.usage is None else _to_record(rollout.usage, USAGE),
        "agent": rollout.agent,
    }
    return {name: value for name, value in record.items() if value is not None}


def _search_to_record(search: Search) -> dict[str, Any]:
    record: dict[str, Any] = {} if search.query is None else {"query": search.query}
    if search.event is not None:
        record["event"] = search.event
    evidence = []
    for occurrence in search.evidence:
        evidence.append(_to_record(occurrence, EVIDENCE))
        if occurrence.document is not None:
            evidence[-1]["document"] = _to_record(occurrence.document, DOCUMENT)
    record["evidence"] = evidence
    return record


def _to_record(value: object, shape: Shape) -> dict[str, Any]:
    pairs = ((field, getattr(value, field.name)) for field in shape)
    return {field.name: given for field, given in pairs if field.is_required or given != field.default}


# ---- record -> rollout


def record_to_parsed(record: Mapping[str, Any], source: str | None = None) -> CanonicalRow:
    """The rollout on one line, each field checked; unknown fields are ignored. ``source`` is where the line stood."""
    _check_schema(record.get("schema", SCHEMA))
    values = values_of(record, _ROLLOUT)
    rollout = _rollout(record, values, source)
    return CanonicalRow(_question(record.get("question_id"), values), rollout, "sample_id" in values)


def record_to_rollout(record: Mapping[str, Any]) -> Rollout:
    """What a line says about the rollout alone."""
    return _rollout(record, values_of(record, _ROLLOUT), None)


def _rollout(record: Mapping[str, Any], values: Mapping[str, Any], source: str | None) -> Rollout:
    known = values.get
    answer = known("answer")
    setting = known("setting") or WEBQA
    if setting not in RETENTION_RULES:
        raise Misfit("setting", f"expected one of {', '.join(RETENTION_RULES)}, got {setting!r}")
    return _made_rollout(
        known("sample_id", 0),
        None if answer is None else trimmed(answer),
        each(values, "searches", _search) if "searches" in values else (),
        share_of(record, "label") if "label" in record else None,
        share_of(record, "confidence") if "confidence" in record else None,
        setting,
        each(values, "views", record_to_view) if "views" in values else (),
        known("problem"),
        known("source", source),
        tuple(record_to_message(item) for item in values["messages"] if isinstance(item, dict))
        if "messages" in values
        else (),
        None if record.get("usage") is None else Usage(**part(record, "usage", USAGE)),
        known("agent") or None,
    )


def _question(identity: object, values: Mapping[str, Any]) -> Question:
    text = values.get("question", "")
    if identity is None and text:
        identity = normalize_text(text)
    if type(identity) not in (str, int) or identity == "":
        reject_field("question_id", "a nonempty string", identity)
    references = values.get("references", ())
    for index, reference in enumerate(references):
        if type(reference) is not str:
            reject_field(f"references[{index}]", "a string", reference)
    return Question(str(identity), text, tuple(references), values.get("dataset"))


def _check_schema(schema: object) -> None:
    if schema == SCHEMA:
        return
    name, _, version = schema.partition("/") if isinstance(schema, str) else ("", "", "")
    major = version.partition(".")[0]
    if name != SCHEMA_NAME or not (major.isascii() and major.isdigit()):
        raise Misfit("schema", f"expected {SCHEMA!r}, got {schema!r}")
    if int(major) > SCHEMA_VERSION:
        # Not one bad rollout: nothing in such a file can be trusted to mean what we think.
        raise ReadError(f"written in format {schema}, this tracerank reads up to {SCHEMA}; upgrade tracerank")


def _search(item: object) -> Search:
    values = values_of(item, SEARCH)
    return _made_search(values.get("query"), each(values, "evidence", _evidence), values.get("event"))


def _evidence(item: object) -> Evidence:
    return evidence_of(values_of(item, EVIDENCE))


def evidence_of(values: Mapping[str, Any]) -> Evidence:
    """The occurrence that these fields, which were checked, describe."""
    known = values.get
    # Hand-written files hold raw text; equal content must be equal text.
    normalised = normalize_excerpts if known("tool") == "find" else normalize_text
    return _made_evidence(
        normalised(values["text"]),
        known("title"),
        known("url"),
        known("rank"),
        known("tool", "search"),
        _made_document(*DOCUMENT.in_order(part(values, "document", DOCUMENT))) if "document" in values else None,
        known("event"),
        known("status"),
    )


def record_to_view(item: object) -> View:
    """The tool event of a browsing transcript that an object describes."""
    return _made_view(*VIEW.in_order(values_of(item, VIEW)))


# ---- files


def write_pools(path: str | os.PathLike[str], pools: Iterable[Pool]) -> None:
    """Write pools as canonical JSON Lines, gzip-compressed when the name ends with .gz; all of the file or none."""
    write_lines(path, (rollout_to_record(pool.question, one) for pool in pools for one in pool.rollouts))
