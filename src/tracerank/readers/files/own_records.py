"""A user's own record around what an SDK dumped: ``{"question": …, "expected": …, "run": {…}}``, and its kin.

Finds the dump, whatever its field is called, also where it is kept as JSON, and puts what the record says about the
question beside it. Which format the dump is of, readers say.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

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


class Dump(NamedTuple):
    """What a record wraps."""

    record: Record
    """A list of messages or events is one under the name that readers look for."""
    is_listed: bool
    """It stood there as a list."""
    is_text: bool
    """It stood there as JSON."""

    @property
    def is_whole(self) -> bool:
        """It says all that a record has to, so that nothing around it is needed to read it by shape."""
        return self.is_listed or asks_itself(self.record)


def dump_in(record: Record) -> Dump | None:
    """The dump that a record wraps; None: there is none, or there are several."""
    dumps = [found for name, value in record.items() if name not in _BESIDE and (found := _dump(value)) is not None]
    return dumps[0] if len(dumps) == 1 else None


def unwrapped(record: Record, dump: Dump) -> dict[str, Any] | None:
    """The dump as a record with what is said about its question around it; None: nobody asks anything."""
    about = _about(record)
    if about is None:
        return None
    # Number, label and answer of the run may stand outside; what the dump says itself goes first.
    around = {name: value for name, value in record.items() if isinstance(value, str | int | float) and _is_kept(name)}
    if (answer := explicit_answer(record)) is not None:
        around["final_answer"] = answer
    return {**around, **with_question(about, dump.record)}


def asks_itself(record: Record) -> bool:
    """Whether a record says outright what was asked."""
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


def _dump(value: object) -> Dump | None:
    """What a value holds that is more than words and numbers."""
    is_text = isinstance(value, str) and len(value) > _SHORTEST and value[0] in "[{"
    if isinstance(value, str) and is_text:
        value = load_json(value)
    if isinstance(value, list):
        listed = as_record(value) or _last_call(value)
        return None if listed is None else Dump(listed, is_listed=True, is_text=is_text)
    if isinstance(value, Mapping) and any(isinstance(inner, list | Mapping) and inner for inner in value.values()):
        return Dump(value, is_listed=False, is_text=is_text)
    return None


def _last_call(values: list[Any]) -> Record | None:
    """Of calls of a model that go on with each other, the one that says all; None: they are something else."""
    if not values or not all(isinstance(value, Mapping) and is_call(value) for value in values):
        return None
    calls = ModelCalls()
    left = [item for value in values for item in calls.add(RecordAt(value, "", 0))]
    left += calls.rest()
    return left[0].value if len(left) == 1 else None
