"""A user's own record around what an SDK dumped: ``{"question": …, "expected": …, "run": {…}}``, and its kin.

Finds the dump, whatever its field is called, also where it is kept as JSON, and puts what the record says about the
question beside it. Which format the dump is of, readers say.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.files.containers import as_record, shared_of, with_question
from tracerank.readers.files.loose_json import load_json
from tracerank.readers.files.model_calls import ModelCalls, is_call
from tracerank.readers.files.record_fields import explicit_answer, is_known_field
from tracerank.readers.files.records import RecordAt

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


def asks_itself(record: Record) -> bool:
    """Whether a record says outright what was asked; by shape it is then read as well with all that it holds."""
    shared = shared_of({name: value for name, value in record.items() if not isinstance(value, Mapping)})
    return shared is not None and bool(shared["question"])


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
        return as_record(value) or _last_call(value)
    if isinstance(value, Mapping) and any(isinstance(inner, list | Mapping) and inner for inner in value.values()):
        return value
    return None


def _last_call(values: list[Any]) -> Record | None:
    """Of calls of a model that go on with each other, the one that says all; None: they are something else."""
    if not values or not all(isinstance(value, Mapping) and is_call(value) for value in values):
        return None
    calls = ModelCalls()
    left = [item for value in values for item in calls.add(RecordAt(value, "", 0))]
    left += calls.rest()
    return left[0].value if len(left) == 1 else None
