"""The inputs and outputs of spans: who asked what, what was said, and the events of messages in any spelling.

Tracers log whatever a function was given: a text, JSON in a text, a state with messages, a wrapper around it. Each
function takes anything, bounded in depth, and never raises. Messages are read by the walk that reads all transcripts.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tracerank.readers.assemble import dialogue_of
from tracerank.readers.events import Event, Returned, Said, UserTurn
from tracerank.readers.shapes import call_of, return_of
from tracerank.readers.sources.loose_json import NOT_JSON, load_json
from tracerank.readers.values import plain_text
from tracerank.readers.vocabulary import plain_fields
from tracerank.readers.walk import events_of

_MAX_DEPTH = 6
_ASKED_KEYS = (
    *("question", "query", "user_query", "input", "task", "prompt", "user_input", "user_message", "user_prompt"),
    *("text", "instruction", "message", "new_message", "content", "inputs", "kwargs", "args", "request", "state"),
    *("value", "data", "goal"),
)
_SAID_KEYS = (
    *("final_answer", "answer", "final_output", "output", "result", "response", "completion", "content", "text"),
    *("message", "return_values", "outputs", "generations", "kwargs", "value", "data", "final_result"),
)
_MESSAGE_KEYS = ("messages", "input_messages", "output_messages", "chat_history", "choices", "generations")
_MESSAGE_TYPES = frozenset(("human", "ai", "tool", "system"))


def asked_text(value: object) -> str | None:
    """What the user asked, in the input of an agent, a model or a retriever; None: nothing that could be it."""
    return _found(value, "user", _MAX_DEPTH)


def said_text(value: object) -> str | None:
    """What was said last, in the output of an agent or a model; None: nothing, or only tool calls."""
    return _found(value, "assistant", _MAX_DEPTH)


def stated_text(value: object) -> str | None:
    """An answer in fields of its own, as structured output gives it; None where it is something else."""
    plain = plain_value(value)
    if not isinstance(plain, Mapping) or not plain or _is_message(plain) or "tool_calls" in plain:
        return None
    if any(key in plain for key in _MESSAGE_KEYS):
        return None
    return orjson.dumps(plain, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def structured(value: object) -> object:
    """A tool's output without the wrappers that tracers put around it: LangChain's ToolMessage, ``output``."""
    for _ in range(4):
        value = plain_value(value)
        if not isinstance(value, Mapping):
            break
        inner = value.get("kwargs") if "lc" in value else value.get("output") if len(value) == 1 else None
        if inner is None and value.get("type") in ("tool", "ToolMessage"):
            inner = value.get("content", value.get("data"))
        if inner is None:
            break
        value = inner
    return value


def message_events(value: object, role: str = "user") -> list[Event]:
    """The events of the messages in a value; ``role`` is whose words a bare text is."""
    plain = plain_value(value)
    if isinstance(plain, Mapping):
        plain = next(
            (inner for key in _MESSAGE_KEYS if isinstance(inner := plain_value(plain.get(key)), list)), [plain]
        )
    if isinstance(plain, str):
        return [] if not plain.strip() else [UserTurn(plain) if role == "user" else Said(plain)]
    return events_of([_signed(item, role) for item in _flat(plain, 2)])


def plain_value(value: object) -> object:
    """JSON that was logged as text as what it says; any other text as it stands."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        decoded = load_json(value)
        return decoded if decoded is not NOT_JSON and isinstance(decoded, dict | list | str) else value
    return value


def _found(value: object, role: str, depth: int) -> str | None:
    plain = plain_value(value)
    if isinstance(plain, str):
        return plain if plain.strip() else None
    if depth == 0 or plain is None or isinstance(plain, bool):
        return None
    if isinstance(plain, list):
        if any(map(_is_message, _flat(plain, 2))):
            return _spoken(message_events(plain, role), role)
        return _found(plain[0], role, depth - 1) if len(plain) == 1 else None
    if not isinstance(plain, Mapping):
        return plain_text(plain)
    if _is_message(plain):
        return _spoken(message_events([plain], role), role)
    for key in _MESSAGE_KEYS:
        inner = plain_value(plain.get(key))
        if isinstance(inner, list) and (text := _spoken(message_events(inner, role), role)):
            return text
    keys = _ASKED_KEYS if role == "user" else _SAID_KEYS
    return next(filter(None, (_found(plain[key], role, depth - 1) for key in keys if key in plain)), None)


def _spoken(events: list[Event], role: str) -> str | None:
    """The first words of the user, or the last ones of the agent unless it still waits for a tool."""
    if role == "user":
        return next((event.text for event in events if isinstance(event, UserTurn) and event.text.strip()), None)
    if events and isinstance(events[-1], Returned):
        return None
    return dialogue_of(events).final or None


def _signed(item: object, role: str) -> object:
    """A message that does not name its speaker with the one whose messages these are."""
    if not isinstance(item, Mapping):
        return item
    inner = item.get("message", item.get("kwargs", item.get("data")))
    if isinstance(inner, Mapping) and ("content" in inner or "role" in inner or "kwargs" in inner):
        inner = inner["kwargs"] if isinstance(inner.get("kwargs"), Mapping) else inner
        item = {"type": item.get("type"), **inner}
    kind = item.get("role") or item.get("type")
    return item if isinstance(kind, str) else {**item, "role": role}


def _flat(value: object, depth: int) -> Iterator[object]:
    """The items of a list; LangChain logs a list of conversations."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, list) and depth:
            yield from _flat(item, depth - 1)
        else:
            yield item


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    if "lc" in value or isinstance(value.get("message"), Mapping) or value.get("type") in _MESSAGE_TYPES:
        return True
    has_parts = isinstance(value.get("parts"), list)  # Gemini's first messages name no role
    if has_parts or ("role" in value and "content" in value):
        return True
    fields: dict[str, Any] = plain_fields(value)
    return "type" in fields and (call_of(fields) is not None or return_of(fields) is not None)
