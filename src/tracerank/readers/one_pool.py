"""The rollouts of one question that are in memory, in any readable form, to one pool: requests, and ``tr.decide``.

A text is an answer. A record that no reader recognises but that has an answer is a rollout that did no search, whatever
the others are: here, unlike in a file, the caller says that each of them is a rollout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.errors import MalformedRollout, ReadError
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.readers import pools_of_records
from tracerank.readers.agent_names import agent_of
from tracerank.readers.base import Problem, Record, RecordAt
from tracerank.readers.detect import AUTO, READERS, detect
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.formats.walked import is_conversation
from tracerank.readers.sources.field_map import FieldMap, spelled, spelled_with

_CANONICAL = CanonicalReader()
_CHAT, _PLAIN = (READERS[name] for name in ("openai-chat", "plain"))
_NAME = "request"
_SHOWN = 3


def pool_of_rollouts(
    question: str | None,
    rollouts: Sequence[str | Record],
    question_id: str | None = None,
    reader: str = AUTO,
    fields: Mapping[str, str] | None = None,
) -> tuple[Pool, list[Problem]]:
    """The pool, and what could not be read as it stood; raises ReadError when there is no pool, or more than one."""
    problems: list[Problem] = []
    spelling = spelled(reader)
    mapped = FieldMap({**spelling.fields.paths, **(fields or {})})
    name = spelled_with(spelling.name, tools=spelling.tools or None, answer_field=spelling.answer_field or None)
    shared = {key: value for key, value in (("question", question), ("question_id", question_id)) if value}
    given = [{**shared, **({"answer": one} if isinstance(one, str) else one)} for one in rollouts]
    if mapped.paths:
        seen: set[str] = set()
        placed = (RecordAt(record, "", 0) for record in given)
        given = [dict(item.value) for item in mapped.through(placed, seen)]
        problems += mapped.unseen(seen, _NAME)
    records = [_complete(record, index) for index, record in enumerate(given)]
    # The usual case, for which no other reader need be asked.
    is_canonical = name == AUTO and all(map(_CANONICAL.recognises, records))
    pools = pools_of_records(records, _CANONICAL if is_canonical else name, problems.append, _NAME)
    if not pools:
        raise ReadError("no rollout could be read: " + "; ".join(map(str, problems[:_SHOWN])))
    if len(pools) > 1:
        ids = ", ".join(repr(pool.question.id) for pool in pools[:_SHOWN])
        raise ReadError(f"the rollouts belong to {len(pools)} questions ({ids}); send one question a request")
    return pools[0], problems


def _complete(record: dict[str, Any], index: int) -> Record:
    """The record, in the canonical form where it says nothing but an answer."""
    record.setdefault("question_id", _NAME)
    if _CANONICAL.recognises(record) or detect(record) is not None:
        return record
    if isinstance(record.get("answer"), str) and "final_answer" not in record:
        record.setdefault("searches", [])
        record.setdefault("sample_id", index)
        return record
    reader = _CHAT if is_conversation(record) else _PLAIN if _PLAIN.recognises(record) else None
    try:
        parsed = None if reader is None else reader.parse(record, f"{_NAME}:[{index}]")
    except MalformedRollout:
        return record  # reported where it is read
    if parsed is None:
        return record
    plain = rollout_to_record(parsed.question, replace(parsed.rollout, agent=agent_of(record)))
    return {"searches": [], **plain, "sample_id": parsed.rollout.sample_id if parsed.is_numbered else index}
