"""Browser tool events of a transcript: what was called with which arguments, and what came back.

Reads harmony messages (recipient and order), OpenAI tool calls (ids) and typed event lists. What an event is worth,
that is where it hangs and which source it shows, is judged in ``browser/views.py`` and ``pools/documents.py``.
Real logs are dirty: a message or event that cannot be understood is passed over, never an error.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from tracerank.readers.values import cleaned, part_text, said_of, text_of, tool_of, whole_number

_OBSERVATION_KINDS = {"open": "open_observation", "find": "find_match"}
_NO_CLAIMS: Mapping[str, Any] = MappingProxyType({})
_CLAIMS = ("source_event_id", "source_cursor")
_ROLES = ("assistant", "tool", "user", "system", "developer")
_CHANNELS = ("analysis", "commentary", "final")
# int() refuses absurdly long numbers with an error of its own.
_CURSOR = re.compile(r"\s*\[(\d{1,18})\]")


class ToolEvent(NamedTuple):
    """One call of a browser tool and its return."""

    event: int
    tool: str
    """``search``, ``open`` or ``find``."""
    arguments: Mapping[str, Any]
    has_arguments: bool
    """False: the arguments could not be read; ``arguments`` is then empty."""
    called_at: int
    """Index of the calling message."""
    returned_at: int | None = None
    """Index of the returning message; None: nothing came back."""
    cursor: int | None = None
    """Number of the returned view; None: the call failed or printed none."""
    text: str = ""
    """As returned; lone surrogates have not been replaced yet."""
    observation: str | None = None
    """Evidence text that a typed event supplies ready-made; None: it is to be cut out of ``text``."""
    claims: Mapping[str, Any] = _NO_CLAIMS
    """Provenance that a typed event states about itself, to be checked."""


class _Call(NamedTuple):
    """A call as logged, waiting for its return."""

    event: int
    made_at: int
    id: str | None
    tool: str
    arguments: object


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a list of messages holds for us."""

    events: tuple[ToolEvent, ...]
    question: str | None
    """Text of the first user message."""
    answer: str | None
    """Text of the last final message; None: there is none."""


def call_names(message: Mapping[str, Any]) -> Iterator[str]:
    """Names of all tools that a message calls, as they were logged."""
    for name in (message.get("recipient"), *(function.get("name") for _, function in _functions(message))):
        if isinstance(name, str):
            yield name


def read_messages(messages: Sequence[object]) -> Conversation:
    """Tool events, first user text and final answer of harmony or OpenAI messages."""
    calls: list[_Call] = []
    returns: dict[int, tuple[int, object]] = {}
    by_id: dict[str, _Call] = {}
    unnamed: list[_Call] = []
    question: str | None = None
    final: dict[str, Any] | None = None
    last_plain: dict[str, Any] | None = None
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        role = message.get("role")
        if role not in _ROLES:
            role = cleaned(role)
        if role == "assistant":
            recipient = message.get("recipient")
            tool = None if recipient is None else tool_of(recipient)
            if tool is not None:
                # Without ids a return answers the message right before it; older calls stay unanswered.
                unnamed = [_Call(len(calls), index, None, tool, text_of(message.get("content")))]
                calls += unnamed
            elif message.get("tool_calls"):
                nameless = []
                for called, function in _functions(message):
                    if (tool := tool_of(function.get("name"))) is None:
                        continue
                    call = _Call(len(calls), index, _id(called.get("id")), tool, function.get("arguments"))
                    calls.append(call)
                    if call.id is None:
                        nameless.append(call)
                    else:
                        by_id[call.id] = call
                unnamed = nameless or unnamed
            else:
                channel = message.get("channel")
                channel = channel if channel in _CHANNELS else cleaned(channel)
                if channel == "final":
                    final = message
                elif not channel and (recipient is None or cleaned(recipient) in ("", "all")):
                    last_plain = message
        elif role == "tool":
            answered = _answered(message, by_id, unnamed)
            if answered is not None:
                returns[answered.event] = index, message.get("content")
        elif role == "user" and not question:
            question = text_of(message.get("content"))
    answering = final or last_plain
    answer = None if answering is None else said_of(answering.get("content"))
    return Conversation(tuple([_event(call, returns.get(call.event)) for call in calls]), question, answer)


def read_typed_events(entries: Sequence[object]) -> tuple[ToolEvent, ...]:
    """Typed tool events in the order of their ids; of two with one id the first counts."""
    events: dict[int, ToolEvent] = {}
    for entry in entries:
        event = _typed_event(entry) if isinstance(entry, dict) else None
        if event is not None:
            events.setdefault(event.event, event)
    return tuple(events[number] for number in sorted(events))


def _result_text(text: str) -> str:
    # Some loggers encode a returned string as JSON once more.
    if text[:1] == '"' and text[-1:] == '"':
        decoded = _json(text)
        return decoded if isinstance(decoded, str) else text
    return text


def _json(text: str) -> object:
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(text)  # accepts more: lone surrogates, NaN
    except (ValueError, RecursionError):
        return None


def read_arguments(value: object) -> tuple[Mapping[str, Any], bool]:
    """The arguments of a call, and whether they could be read."""
    if isinstance(value, str):
        value = _json(value)
        if isinstance(value, str):  # encoded twice
            value = _json(value)
    return (value, True) if isinstance(value, dict) else ({}, False)


def _functions(message: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            yield call, function if isinstance(function, dict) else call


def _id(value: Any) -> str | None:
    if value is None or (type(value) is str and value[:1].isalpha()):
        return value
    number = whole_number(value)
    return str(number) if number is not None else value or None if isinstance(value, str) else None


def _answered(message: Mapping[str, Any], by_id: dict[str, _Call], unnamed: list[_Call]) -> _Call | None:
    """The waiting call that a tool message answers, no longer waiting; None: it answers none of ours."""
    name = message.get("name")
    if (call_id := _id(message.get("tool_call_id"))) is not None:
        call = by_id.get(call_id)
        return by_id.pop(call_id) if call is not None and (not name or tool_of(name) == call.tool) else None
    for index, call in enumerate(unnamed):
        if not name or tool_of(name) == call.tool:
            return unnamed.pop(index)
    return None


def _event(call: _Call, returned: tuple[int, object] | None) -> ToolEvent:
    arguments, has_arguments = read_arguments(call.arguments)
    if returned is None:
        return ToolEvent(call.event, call.tool, arguments, has_arguments, call.made_at)
    index, content = returned
    text = _result_text(text_of(content))
    found = _CURSOR.match(text)
    cursor = int(found[1]) if found else None
    return ToolEvent(call.event, call.tool, arguments, has_arguments, call.made_at, index, cursor, text)


def _typed_event(entry: Mapping[str, Any]) -> ToolEvent | None:
    event, called_at = whole_number(entry.get("event_id")), whole_number(entry.get("message_index"))
    tool = tool_of(entry.get("tool_type"))
    if event is None or called_at is None or tool is None:
        return None
    arguments, has_arguments = read_arguments(entry.get("arguments"))
    parts = entry.get("observation_parts")
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else None
    observation = None
    if parts is not None:
        wanted = _OBSERVATION_KINDS.get(tool)
        shown = (part_text(part) for part in parts if part.get("kind") == wanted)
        observation = "\n\n".join(filter(None, shown))
    result = entry.get("result")
    arguments_valid = entry.get("arguments_valid")
    return ToolEvent(
        event,
        tool,
        arguments,
        has_arguments if arguments_valid is None else bool(arguments_valid),
        called_at,
        whole_number(entry.get("result_message_index")),
        whole_number(entry.get("result_cursor")),
        text_of(result) if result is not None else "\n\n".join(map(part_text, parts or ())),
        observation,
        {claim: entry[claim] for claim in _CLAIMS if claim in entry},
    )
