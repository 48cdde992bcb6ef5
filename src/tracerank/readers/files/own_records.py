"""A user's own record around what an SDK dumped: ``{"question": …, "expected": …, "run": {…}}``, and its kin.

Finds the dump, whatever its field is called, also where it is kept as JSON, and puts what the record says about the
question beside it. Which format the dump is of, readers say.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.files.containers import as_record, shared_of, with_question
from tracerank.readers.files.loose_json import load_json
from tracerank.readers.files.record_fields import explicit_answer, is_known_field

_ABOUT = ("task", "example", "sample", "item", "instance", "row", "input", "inputs")
"""Objects that say what was asked."""
_BESIDE = frozenset(
    (*_ABOUT, "metadata", "meta", "usage", "config", "settings", "info", "extra_info", "scores", "tools")
)
_QUESTION_IDS = ("question_id", "qid", "query_id", "question_index", "task_id", "example_id")
_ITS_OWN = frozenset(("answer", "output", "response", "text", "prompt", "completion", "trajectory", "messages", "id"))
"""Fields that a dump may have as well, and means otherwise."""
_SHORTEST = 40
"""Of a text that may be a dump."""


def unwrapped(record: Record) -> dict[str, Any] | None:
    """The dump inside a record, with what was asked; None: the record is no wrapping, or it cannot be told of what."""
    about = _about(record)
    if about is None:
        return None
    dumps = [found for name, value in record.items() if name not in _BESIDE and (found := _dump(value)) is not None]
    if len(dumps) != 1:
        return None
    # Number, label and answer of the run may stand outside; what the dump says itself goes first.
    around = {name: value for name, value in record.items() if isinstance(value, str | int | float) and _is_kept(name)}
    if (answer := explicit_answer(record)) is not None:
        around["final_answer"] = answer
    return {**around, **with_question(about, dumps[0])}


def says_more(record: Record) -> bool:
    """Whether a record has words of its own under names that a dump has, too, so that it is best read as a whole."""
    if isinstance(record.get("trajectory"), Mapping):  # a prediction, whose answer stands beside it under any name
        return True
    return any(isinstance(value, str) and value.strip() and not value.startswith(("[", "{")) for value in _own(record))


def _own(record: Record) -> list[object]:
    return [record.get(name) for name in _ITS_OWN if name != "id"]


def _is_kept(name: str) -> bool:
    return is_known_field(name) and name not in _ITS_OWN


def _about(record: Record) -> dict[str, Any] | None:
    """What is said about the question, by the record or by an object in it; None: nobody asks anything."""
    for holder in (record, *(inner for name in _ABOUT if isinstance(inner := record.get(name), Mapping))):
        shared = shared_of(holder)
        if shared is not None and shared["question"]:
            if "id" in holder and not any(name in holder for name in _QUESTION_IDS):
                shared["id"] = shared.pop("question_id")  # it may be that of the run
            return shared
    return None


def _dump(value: object) -> Record | None:
    """What a value holds that is more than words and numbers, also as JSON."""
    if isinstance(value, str) and len(value) > _SHORTEST and value[0] in "[{":
        value = load_json(value)
    if isinstance(value, list):
        return as_record(value)
    if isinstance(value, Mapping) and any(isinstance(inner, list | Mapping) and inner for inner in value.values()):
        return value
    return None
