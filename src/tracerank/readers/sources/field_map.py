"""Fields under other names: ``question=prompt,answer=data.reply`` read into the names that the readers know.

Also which map would fit a record that no reader recognises. Knows no transcript format; a field that a record
does not have is left out there, and one that no record has is reported.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tracerank.errors import UsageError, did_you_mean
from tracerank.readers.base import PathLike, Problem, Record, RecordAt
from tracerank.readers.runs.containers import parts_of, parts_of_pool
from tracerank.readers.sources.record_fields import is_known_field

_AUTO = "auto"
_BETWEEN, _TOOLS, _ANSWER_FIELD, _QUESTIONS = "?", " --tools ", " --answer-field ", " --questions "
"""Begin the parts of a value that says how something was read, in this order."""
_ANSWER, _EXPLICIT_ANSWER = "answer", "final_answer"
# Formats of which 'answer' is the agent's own field.
_OWN_ANSWER = ("searches", "steps")
_MAX_DEPTH = 3
_FIELD, _MAX_SEEN = "field ", 1000
"""Begins the name of a field among what was seen, which is kept for hints."""
_MISSING = object()


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Our names and where a record keeps what they mean."""

    paths: Mapping[str, str] = field(default_factory=dict)
    """Our name to a field, or to a path of fields and places in lists with dots between them."""

    @classmethod
    def of(cls, text: str) -> "FieldMap":
        """The map that ``ours=theirs,…`` spells."""
        paths: dict[str, str] = {}
        for pair in text.split(","):
            ours, equals, theirs = (part.strip() for part in pair.partition("="))
            if not (ours and equals and theirs):
                raise UsageError(f"--map {text!r}: expected OUR=THEIR names with commas between, question=prompt,…")
            if ours in paths:
                raise UsageError(f"--map {text!r}: {ours!r} is mapped twice")
            paths[ours] = theirs
        return cls(paths)

    def __str__(self) -> str:
        return ",".join(f"{ours}={theirs}" for ours, theirs in self.paths.items())

    def applied(self, record: Record, seen: set[str]) -> Record:
        """The record with the mapped fields under our names; ``seen`` learns which ones were there."""
        found: dict[str, Any] = {}
        for ours, path in self.paths.items():
            value = _at(record, path)
            if value is not _MISSING:
                seen.add(ours)
                found[ours] = value
            elif ours not in seen and len(seen) < _MAX_SEEN:
                seen.update(f"{_FIELD}{name}" for name in record)
        if not found:
            return record
        if isinstance(references := found.get("references"), str | int | float):
            found["references"] = [str(references)]
        if _ANSWER in found and not any(name in record for name in _OWN_ANSWER):
            # Beside other transcripts 'answer' is the reference.
            found[_EXPLICIT_ANSWER] = found.pop(_ANSWER)
        return {**record, **found}

    def through(self, items: Iterable[RecordAt], seen: set[str]) -> Iterator[RecordAt]:
        """The records with the mapped fields under our names, also those of the rollouts inside; containers opened."""
        for item in items:
            record = {name: self._inside(value, seen) for name, value in self.applied(item.value, seen).items()}
            parts = parts_of(record)
            if parts is None or parts_of_pool(record) is not None:
                yield RecordAt(record, item.source, item.size)
            else:
                size = item.size // len(parts)
                yield from (RecordAt(p.value, item.source + p.place, size) for p in parts if isinstance(p.value, dict))

    def _inside(self, value: Any, seen: set[str]) -> Any:
        if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            return [self.applied(item, seen) if isinstance(item, Mapping) else item for item in value]
        return value

    def unseen(self, seen: set[str], source: str) -> Iterator[Problem]:
        """What was mapped and never met."""
        for ours, path in self.paths.items():
            if ours in seen:
                continue
            fields = {name.removeprefix(_FIELD) for name in seen if name.startswith(_FIELD)}
            near = f"; did you mean --map {path}={ours}?" if ours in fields and is_known_field(path) else ""
            yield Problem(source, f"--map {ours}={path}: no record has {path!r}{near or did_you_mean(path, fields)}")


class Spelled(NamedTuple):
    """What one value says about how something was read: ``auto?answer=reply --questions asked.jsonl``."""

    name: str
    fields: FieldMap
    tools: str
    answer_field: str
    questions: str


def spelled(reader: str) -> Spelled:
    """The parts of such a value."""
    rest, _, questions = reader.partition(_QUESTIONS)
    rest, _, answer_field = rest.partition(_ANSWER_FIELD)
    rest, _, tools = rest.partition(_TOOLS)
    name, between, fields = rest.partition(_BETWEEN)
    return Spelled(name or _AUTO, FieldMap.of(fields) if between else FieldMap(), tools, answer_field, questions)


def spelled_with(
    reader: str,
    fields: str | None = None,
    tools: str | None = None,
    answer_field: str | None = None,
    questions: PathLike | None = None,
) -> str:
    """The value that says all this."""
    whole = reader if fields is None else f"{reader}{_BETWEEN}{FieldMap.of(fields)}"
    parts = ((_TOOLS, tools), (_ANSWER_FIELD, answer_field), (_QUESTIONS, questions and os.fspath(questions)))
    return whole + "".join(f"{mark}{value}" for mark, value in parts if value is not None)


def _at(record: Record, path: str) -> Any:
    if path in record:
        return record[path]
    value: Any = record
    for step in path.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.lstrip("-").isdigit() and len(step) < 9:
            try:
                value = value[int(step)]
            except IndexError:
                return _MISSING
        else:
            return _MISSING
    return value


# ---- which map would fit

_LIKE_QUESTION = re.compile(
    r"quest|prompt|query|problem|ask|instruct|input|topic|title|subject|goal|^(?:q|user)$", re.I
)
_LIKE_ID = re.compile(r"(?:.*[_.-])?(?:id|index|idx|key|seed|number)", re.I)
_LIKE_REFERENCE = re.compile(r"gold|truth|expect|target|refer|correct|label|solution|ideal|\bgt\b", re.I)
_LIKE_ANSWER = re.compile(
    r"answer|respon|repl|output|complet|predict|generat|result|final|sample|candidate|attempt|said|text|content|hyp"
    r"|^(?:a|ans|bot|agent|assistant|model)$",
    re.I,
)
_DECISION = frozenset(("scores", "dropped"))
"""Fields that only decisions have."""


def is_decision(record: Record) -> bool:
    """Whether a record is what ``tracerank select`` writes rather than a rollout."""
    return "question_id" in record and record.keys() >= _DECISION


def proposed_map(record: Record) -> FieldMap:
    """The map that would make a question and answers of a record, as far as its names and values say."""
    leaves = list(_leaves(record, ""))
    found = {name: name for name in ("question", "answer", "answers", "references") if record.get(name) is not None}
    for name, like, fits in (
        ("question", _LIKE_QUESTION, _may_ask),
        ("references", _LIKE_REFERENCE, _is_text),
        ("answers", _LIKE_ANSWER, _are_texts),
        ("answer", _LIKE_ANSWER, _is_text),
    ):
        if name in found or (name.startswith("answer") and not found.keys().isdisjoint(("answer", "answers"))):
            continue
        named = (
            path for path, value in leaves if path not in found.values() and like.search(_last(path)) and fits(value)
        )
        if path := next(named, None):
            found[name] = path
    left = [(path, value) for path, value in leaves if path not in found.values()]
    if "question" not in found:
        asking = (path for path, value in left if isinstance(value, str) and value.rstrip().endswith("?"))
        if path := next(asking, None):
            found["question"] = path
    texts = [path for path, value in left if path not in found.values() and _is_words(value)]
    if "question" in found and found.keys().isdisjoint(("answer", "answers")) and len(texts) == 1:
        found["answer"] = texts[0]
    order = ("question", "answer", "answers", "references")
    return FieldMap({name: found[name] for name in order if found.get(name, name) != name})


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _leaves(record: Record, prefix: str, depth: int = _MAX_DEPTH) -> Iterator[tuple[str, Any]]:
    """The fields of a record, its own before those of objects inside."""
    inner: list[tuple[str, Mapping[str, Any]]] = []
    for name, value in record.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            inner.append((path, value))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            # Rollouts of a pool: the names of their fields are looked up in each.
            yield from ((each, one) for each, one in _leaves(value[0], "", 0) if _LIKE_ANSWER.search(each))
        elif not _LIKE_ID.fullmatch(str(name)):
            yield path, value
    for path, value in inner if depth else ():
        yield from _leaves(value, f"{path}.", depth - 1)


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip() != ""


def _is_words(value: object) -> bool:
    return isinstance(value, str) and any(map(str.isalpha, value))


def _may_ask(value: object) -> bool:
    return isinstance(value, str) and len(value.split(maxsplit=1)) > 1


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))
