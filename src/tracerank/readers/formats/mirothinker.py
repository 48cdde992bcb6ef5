"""Task logs of MiroThinker and MiroFlow: one attempt a file, calls as ``<use_mcp_tool>`` in the agent's text.

Searches of sub-agents stand where the main agent sent them out; what they report back is an agent's text, not
evidence. ``final_judge_result`` is the judge's and becomes the label.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracerank.pools.types import BROWSING, Question
from tracerank.readers.assemble import Dialogue, parsed_dialogue
from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.text_calls import written_calls
from tracerank.readers.sources.record_fields import label_value, question_of, sample_id_of
from tracerank.readers.tools import TOOL_NAMES, ToolCall
from tracerank.readers.values import cleaned, said_of, text_of
from tracerank.readers.walk import read_chat

_HISTORY, _SESSIONS = "main_agent_message_history", "sub_agent_message_history_sessions"
_NAMES = TOOL_NAMES.extended(search=("google_search", "sogou_search"), other=("search_and_browse",))
_ATTEMPT = re.compile(r"(.+?)[-_]attempt[-_](\d{1,6})(?:[-_].*)?\Z", re.S)
_INPUT_KEYS = ("task_description", "task_question", "question", "query", "task")
_EARLIER_ATTEMPTS = "=== Previous Attempts Analysis ==="
_MESSAGE_ID = re.compile(r"\[msg_[^\]\n]{1,80}\]\s*")
# What stands in the place of a return: the tool failed, or the log was shortened.
_NO_RETURN = re.compile(
    r"Tool call to [^\n]{1,200} failed\. Error:|Tool result is omitted|Tool call to [^\n]{1,200} but produced no"
)
_SPACE = re.compile(r"\s*")
_NO_BOX = "content found in the final answer"


class MiroThinkerReader:
    """One rollout a task log."""

    name = "mirothinker"

    def recognises(self, record: Record) -> bool:
        """By the history of its main agent."""
        return isinstance(record, Mapping) and _HISTORY in record

    def parse(self, record: Record, source: str) -> Parsed:
        """The main agent's history as a rollout of a browsing agent."""
        task_id, attempt = _attempt(record)
        messages = _history(record.get(_HISTORY))
        question = _question(record, task_id, messages or [])
        if messages is None:
            reject(f"field '{_HISTORY}': expected messages", question, attempt)
        if question is None:
            reject("no question: expected 'task_id', 'input' or a user message with text")
        calls, said = _read(messages, _sessions(record))
        # The field is read here, with its notes about missing boxes.
        fields = {key: value for key, value in record.items() if key != "final_boxed_answer"}
        dialogue = Dialogue(calls, final=_final(record, said))
        verdict = record.get("final_judge_result")
        label = 0.0 if verdict == "NOT_ATTEMPTED" else label_value(verdict)
        parsed = parsed_dialogue(
            fields, source, dialogue, names=_NAMES, question=question, sample_id=attempt, label=label
        )
        return replace(parsed, rollout=replace(parsed.rollout, setting=BROWSING))


def _attempt(record: Record) -> tuple[str, int | None]:
    """The id of the task and the number of the attempt, which the log writes as one."""
    stated = record.get("task_id")
    whole = stated.strip() if isinstance(stated, str) else str(stated) if isinstance(stated, int) else ""
    found = _ATTEMPT.match(whole)
    return (found[1], int(found[2])) if found else (whole, sample_id_of(record))


def _history(value: object) -> list[Any] | None:
    if isinstance(value, Mapping):
        value = value.get("message_history")
    return value if isinstance(value, list) else None


def _sessions(record: Record) -> Iterator[list[Any]]:
    """The histories of the sub-agents in the order in which they were sent out."""
    sessions = record.get(_SESSIONS)
    for session in sessions.values() if isinstance(sessions, Mapping) else ():
        history = _history(session)
        if history is not None:
            yield history


def _question(record: Record, task_id: str, messages: list[Any]) -> Question | None:
    given = record.get("input")
    if isinstance(given, Mapping):
        given = next((text for key in _INPUT_KEYS if isinstance(text := given.get(key), str) and text.strip()), None)
    if not isinstance(given, str) or not given.strip():
        users = (m for m in messages if isinstance(m, Mapping) and cleaned(m.get("role")) == "user")
        given = _MESSAGE_ID.sub("", text_of(next(users, {}).get("content")), count=1)
    # A retry is told what went wrong before; the question stays the same.
    text = given.partition(_EARLIER_ATTEMPTS)[0].strip()
    return question_of({**record, "question": text, "task_id": task_id, "input": None})


def _read(messages: list[Any], sessions: Iterator[list[Any]]) -> tuple[tuple[ToolCall, ...], str | None]:
    """The calls of the agent and of those that it sent out, and its last words."""
    if any(isinstance(message, Mapping) and message.get("tool_calls") for message in messages):
        native = read_chat(messages)
        return (*native.calls, *_rest(sessions)), native.final
    calls: list[ToolCall] = []
    waiting: list[int] = []
    said: str | None = None
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        is_agent = cleaned(message.get("role")) == "assistant"
        text = (said_of if is_agent else text_of)(message.get("content"))
        if is_agent:
            made = written_calls(text)
            for call in made:
                if call.name == "search_and_browse" and (session := next(sessions, None)) is not None:
                    calls += _read(session, iter(()))[0]
            waiting = list(range(len(calls), len(calls) + len(made)))
            calls += made
            said = text if not made else None
        elif waiting:
            for place, output in zip(waiting, _returns(text, len(waiting)), strict=False):
                calls[place] = replace(calls[place], output=output, is_error=_NO_RETURN.match(output) is not None)
            waiting = []
    return (*calls, *_rest(sessions)), said


def _rest(sessions: Iterator[list[Any]]) -> Iterator[ToolCall]:
    for session in sessions:
        yield from _read(session, iter(()))[0]


def _returns(text: str, count: int) -> list[str]:
    """What a message returns to so many calls: JSON values behind each other; empty when they cannot be told apart."""
    text = _MESSAGE_ID.sub("", text, count=1) if text.startswith("[msg_") else text
    if count == 1:
        return [text.strip()]
    parts = _json_values(text.strip())
    return parts if len(parts) == count else []


def _json_values(text: str) -> list[str]:
    """The texts of JSON values that follow each other; empty when anything else stands between them."""
    decoder = json.JSONDecoder()
    parts: list[str] = []
    at = 0
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        parts.append(text[at:end])
        at = _SPACE.match(text, end).end()  # type: ignore[union-attr]
    return parts


def _final(record: Record, said: str | None) -> str | None:
    boxed = record.get("final_boxed_answer")
    if isinstance(boxed, str) and boxed.strip() and _NO_BOX not in boxed:
        return boxed
    return said if said and "\\boxed" in said else None
