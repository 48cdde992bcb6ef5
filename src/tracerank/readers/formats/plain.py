"""Questions with answers and nothing else: rows ``{question, answer}``, logs ``{request, response}``.

Tried only where no other reader knows a record or another of its file: a failed run of a known format has a question
and a reference, too, and its reference must not become its answer. Such rollouts show no evidence and follow the
browsing rule, which lets every answer vote.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tracerank.answers.text_keys import trimmed
from tracerank.pools.types import BROWSING, Question, Rollout
from tracerank.readers.assemble import Dialogue, parsed_dialogue, stated_answer
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.runs.containers import parts_of_pool
from tracerank.readers.sources.field_map import proposed_map
from tracerank.readers.sources.record_fields import (
    ANSWER_TEXTS,
    REQUESTS,
    decoded,
    explicit_answer,
    label_of,
    label_value,
    question_of,
    references_of,
    sample_id_of,
    stated_references,
)
from tracerank.readers.values import encodable, plain_text, said_of, text_of
from tracerank.readers.walk import read_chat

_ANSWER, _FINAL = "answer", "final_answer"
_TRANSCRIPTS = (
    *("messages", "conversation", "conversations", "trajectory", "traj", "transcript", "trace", "history", "rollout"),
    *("steps", "searches", "tool_events", "log", "events", "scratchpad", "queries_used", "spans"),
    "intermediate_steps",
)


class PlainReader:
    """One rollout a row: what was asked and what was answered."""

    name = "plain"

    def recognises(self, record: Record) -> bool:
        """By a question and an answer in texts, and nothing beside them that may be a transcript."""
        if not isinstance(record, Mapping) or any(map(_may_be_transcript, record, record.values())):
            return False
        return _question(record) is not None and _has_answer(record) and parts_of_pool(record) is None

    def parse(self, record: Record, source: str) -> Parsed:
        """The row as a rollout without searches; an answer stands as it is, in a longer text it is looked for."""
        plain = decoded(record, *REQUESTS, *ANSWER_TEXTS)
        question, sample_id = _question(plain), sample_id_of(plain)
        if question is None:
            reject(f"no question found; {_way_out(plain)}")
        if not _has_answer(plain):
            reject(_no_answer(record), question, sample_id)
        stated = explicit_answer(plain)
        said = None if stated is not None else _said(plain)
        if said is not None:
            question = Question(question.id, question.text, references_of(plain), question.dataset)
            fields = {name: value for name, value in plain.items() if name not in (_ANSWER, _FINAL)}
            parsed = parsed_dialogue(fields, source, said, question=question, sample_id=sample_id)
            confidence = _confidence(plain, parsed.rollout.confidence)
            rollout = replace(parsed.rollout, setting=BROWSING, confidence=confidence)
            return Parsed(question, rollout, parsed.is_numbered)
        structured = (stated_answer(plain.get(name)) for name in (_FINAL, _ANSWER))
        answer = stated if stated is not None else next(filter(None, structured), None)
        rollout = Rollout(
            sample_id or 0,
            encodable(trimmed(answer)) or None if answer is not None else None,
            label=label_of(plain),
            confidence=_confidence(plain, None),
            setting=BROWSING,
            source=source,
        )
        return Parsed(question, rollout, sample_id is not None)


def _may_be_transcript(name: str, value: object) -> bool:
    """Whether a field may say what the agent did: then its format is unknown, and 'answer' may be the reference."""
    is_listed = isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value)
    return bool(value) and (name in _TRANSCRIPTS or (is_listed and name != "prompt"))


def _question(record: Record) -> Question | None:
    """The question; beside an answer in a field of its own only fields that say so hold references."""
    asked = next(filter(None, (_asked(record.get(name)) for name in REQUESTS)), None)
    found = question_of(record, asked or text_of(record.get("prompt")))
    if found is None or not found.text:
        return None
    is_own = plain_text(record.get(_FINAL)) is None
    return replace(found, references=stated_references(record) if is_own else references_of(_unanswered(record)))


def _unanswered(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != _FINAL}


def _asked(request: object) -> str | None:
    """What a request asks: its text, or what the user says in a call to a model."""
    if isinstance(request, Mapping):
        body = request.get("body", request)
        given = body.get("messages", body.get("input")) if isinstance(body, Mapping) else None
        if isinstance(given, list):
            return read_chat(given).asked
        names = ("prompt", "input", "query", "question") if isinstance(body, Mapping) else ()
        return next((text for name in names if (text := text_of(body.get(name)))), None)
    return request if isinstance(request, str) and request.strip() else None


def _has_answer(record: Record) -> bool:
    names = (_FINAL, _ANSWER, *ANSWER_TEXTS)
    return any(plain_text(record.get(name)) is not None or isinstance(record.get(name), Mapping) for name in names)


def _said(record: Record) -> Dialogue | None:
    """The exchange of a request and a response, or a text in which the agent answers; None: there is only an answer."""
    for name in ANSWER_TEXTS:
        value = record.get(name)
        text = plain_text(value)
        if text is not None:
            return Dialogue(final=text)
        if isinstance(value, Mapping) and (message := _message(value)) is not None:
            request = next((one for key in REQUESTS if isinstance(one := record.get(key), Mapping)), {})
            body = request.get("body", request)
            asked = body.get("messages") if isinstance(body, Mapping) else None
            return read_chat([*(asked if isinstance(asked, list) else ()), message])
    return None


def _message(response: Mapping[str, Any]) -> dict[str, Any] | None:
    """The assistant's message in a model's response; None: there is none."""
    body = response.get("body", response)
    body = body if isinstance(body, Mapping) else response
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        body = choices[0]
    inner = body.get("message", body)
    if isinstance(inner, Mapping):
        for name in ("content", "output_text", "text", "answer", "response"):
            if text := said_of(inner.get(name)):
                return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": inner} if isinstance(inner, str) else None


def _confidence(record: Record, stated: float | None) -> float | None:
    value = record.get("confidence")
    try:
        share = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except ValueError:
        share = label_value(value)
    return share if share is not None and 0 <= share <= 1 else stated


def _no_answer(record: Record) -> str:
    is_empty = any(name in record for name in (_FINAL, _ANSWER, *ANSWER_TEXTS))
    return "empty answer" if is_empty else f"no answer found; {_way_out(record)}"


def _way_out(record: Record) -> str:
    names = ", ".join(map(str, record)) or "no fields"
    fitting = str(proposed_map(record))
    return f"the record has {names[:200]}" + (f"; try --map {fitting}" if fitting else "")
