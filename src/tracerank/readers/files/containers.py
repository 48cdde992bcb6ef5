"""Objects and lists around the records: results under a key, records by id, and one transcript saved as a bare list.

Looks at the outermost shape only and knows no transcript format. Where it leaves a doubt, nothing is taken apart.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracerank.readers.base import Record

RECORD_KEY = "record_key"
"""Field under which a record keeps the key that it had in an object of records."""

_LIST_KEYS = (
    *("per_item", "per_question", "results", "samples", "data", "rollouts", "records", "trajectories", "items"),
    *("examples", "runs", "rows", "predictions", "outputs"),
)
# What rollouts of the known formats are about: an object with one of these is a record itself.
_RECORD_FIELDS = frozenset(
    (
        *("question", "query", "messages", "conversation", "conversations", "traj", "trajectory", "transcript"),
        *("rollout", "question_id", "qid", "query_id", "prediction", "searches", "steps", "tool_events"),
        *("gen_text_store", "main_agent_message_history"),
    )
)
# Also the settings of a whole run, so that they say something about the records inside only.
_INNER_FIELDS = _RECORD_FIELDS | {"task_id", "prompt", "problem", "response", "completion"}
_STEP_FIELDS = frozenset(("step_number", "task", "plan", "system_prompt"))
_ROLES = frozenset(("system", "developer", "user", "human", "assistant", "gpt", "tool", "function", "observation"))


class Part(NamedTuple):
    """A value inside a container."""

    place: str
    """Where it stands, to be put behind the place of the container."""
    value: Any
    """A record, or what stands in its place."""


def parts_of(record: Record) -> list[Part] | None:
    """The records inside an object that is no record itself; None: it is one, or nothing is known about it."""
    if not _RECORD_FIELDS.isdisjoint(record):
        return None
    for key in _LIST_KEYS:
        inner = record.get(key)
        if isinstance(inner, list) and _are_records(inner):
            return [Part(f":{key}[{index}]", value) for index, value in enumerate(inner)]
    values = list(record.values())
    if len(values) and all(isinstance(value, Mapping) for value in values):
        return list(_keyed(record)) if _are_records(values) else None
    if len(values) and all(isinstance(value, list) and _are_records(value) for value in values):
        return list(_keyed_lists(record))
    return None


def records_in(values: list[Any]) -> list[Any]:
    """The records of a JSON array; a single one where the array is itself a transcript."""
    whole = as_record(values)
    return values if whole is None else [whole]


def as_record(values: list[Any]) -> Record | None:
    """A list that is one transcript, chat messages or an agent's steps, as a record; None: it is a list of records."""
    if not values or not all(isinstance(value, Mapping) for value in values):
        return None
    if all(value.get("role", value.get("from")) in _ROLES for value in values):
        return {"messages": values}
    if any("step_number" in value for value in values) and not any(_STEP_FIELDS.isdisjoint(v) for v in values):
        return {"steps": values}
    return None


def _keyed(record: Record) -> Iterator[Part]:
    for key, value in record.items():
        yield Part(f":[{key}]", {RECORD_KEY: key, **value} if isinstance(value, Mapping) else value)


def _keyed_lists(record: Record) -> Iterator[Part]:
    """Several records under one key: what they share is the question."""
    for key, values in record.items():
        for index, value in enumerate(values):
            whole = {"question_id": key, **value} if isinstance(value, Mapping) else value
            yield Part(f":[{key}][{index}]", whole)


def _are_records(values: list[Any]) -> bool:
    """Whether most of the values say what a rollout is about; a few may be damaged."""
    good = sum(isinstance(value, Mapping) and not _INNER_FIELDS.isdisjoint(value) for value in values)
    return 2 * good > len(values)
