"""Records that hold a whole pool: a question, what is known about it, and a list of its rollouts in any format.

Takes them apart into a record a rollout, each with what the pool says about the question. Only asked about records that
no reader recognises as they are.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.readers.base import Record
from tracerank.readers.calls.record_fields import FINAL_FIELDS, question_of, sample_id_of
from tracerank.readers.files.containers import Part, as_record

_LIST_KEYS = (
    *("rollouts", "trajectories", "samples", "attempts", "runs", "traces", "episodes", "trials", "candidates"),
    *("conversations", "completions", "responses", "generations", "outputs", "predictions", "solutions", "results"),
)
_TRANSCRIPT_FIELDS = frozenset(
    (
        *("messages", "conversation", "conversations", "trajectory", "traj", "transcript", "trace", "history"),
        *("rollout", "steps", "searches", "response", "completion", "output", "text", "gen_text_store", "tool_events"),
    )
)
# Of a list under one of these names, what a reader would look for under "messages".
_SPELLED = ("trace", "history", "dialogue", "dialog", "chat", "log", "events")
_OF_THE_ROLLOUT = frozenset(("id", "uuid", "question_id", "qid", "query_id", "example_id", "task_id"))
"""Ids inside a rollout; the pool says which question it is."""
_DAMAGED: Mapping[str, Any] = {"messages": []}
"""Keeps the place of what is no transcript."""


def parts_of_pool(record: Record) -> list[Part] | None:
    """A record for each rollout of a pool in one record; None: the record is no such pool."""
    for key in _LIST_KEYS:
        listed = record.get(key)
        if isinstance(listed, list) and listed:
            rollouts = [_opened(item) for item in listed]
            about = {name: value for name, value in record.items() if name != key}
            shared = _shared(about) if any(rollouts) else None
            if shared is not None and all(_is_about(rollout, shared["question"]) for rollout in rollouts if rollout):
                parts = (_with(shared, rollout or _DAMAGED, place) for place, rollout in enumerate(rollouts))
                return [Part(f":{key}[{place}]", part) for place, part in enumerate(parts)]
    return None


def _is_about(rollout: Record, question: str) -> bool:
    """Whether a rollout has no question of its own: then the list is that of a whole data set."""
    own = question_of({name: value for name, value in rollout.items() if name not in _OF_THE_ROLLOUT})
    return own is None or not own.text or normalize_text(own.text) == normalize_text(question)


def _opened(item: object) -> dict[str, Any] | None:
    """An item of the list as a record; None: it is no transcript."""
    if isinstance(item, str):
        return {"response": item} if item.strip() else None
    if isinstance(item, list):
        whole = as_record(item)
        return None if whole is None else dict(whole)
    if not isinstance(item, Mapping):
        return None
    opened = dict(item)
    for name in _SPELLED:
        value = opened.get(name)
        if "messages" not in opened and isinstance(value, list) and (whole := as_record(value)) is not None:
            opened |= whole
    return None if _TRANSCRIPT_FIELDS.isdisjoint(opened) else opened


def _shared(about: Record) -> dict[str, Any] | None:
    """What all rollouts have in common; None: nobody asked anything."""
    question = question_of(about)
    if question is None or not question.text:
        return None
    shared: dict[str, Any] = {"question_id": question.id or normalize_text(question.text), "question": question.text}
    if question.references:
        shared["references"] = list(question.references)
    if question.dataset:
        shared["dataset"] = question.dataset
    return shared


def _with(shared: Mapping[str, Any], rollout: Mapping[str, Any], place: int) -> dict[str, Any]:
    """The rollout as a record of its own; inside a pool, its field ``answer`` is what the agent said."""
    own = {name: value for name, value in rollout.items() if name not in _OF_THE_ROLLOUT}
    if "answer" in own and "searches" not in own and not any(name in own for name in FINAL_FIELDS):
        own["final_answer"] = own.pop("answer")
    if sample_id_of(own) is None:
        own["sample_id"] = place
    if isinstance(own.get("response"), str) and len(own) == 2:
        # A bare text: tags in it are read by whoever knows them, else it is what the agent said.
        asked = {"role": "user", "content": shared["question"]}
        own["messages"] = [asked, {"role": "assistant", "content": own["response"]}]
    return {**own, **shared}
