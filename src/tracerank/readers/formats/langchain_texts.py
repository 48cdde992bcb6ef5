"""Transcripts saved as text: LangChain's buffer strings and printed messages, back to messages.

``get_buffer_string`` writes ``Human: …``, ``AI: …[{'name': …}]``, ``Tool: …``, ``str`` the fields of a message. Other
logs with ``User:``, ``Assistant:`` before turns are read the same way. A page may hold such a label, too, so as many
returns are expected as there were calls, and what stays open is reported.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tracerank.readers.base import Record
from tracerank.readers.sources.loose_json import load_literal
from tracerank.readers.sources.printed_objects import TYPE, load_printed

_NOT_TRANSCRIPTS = frozenset(("question", "query", "prompt", "input", "task", "problem", "expected", "system_prompt"))
_MIN_LENGTH = 20
_MAX_TURNS = 4000
_MAX_TRIES, _MAX_LISTS = 8, 500
"""Places in one turn where its calls may begin; turns of a text that are tried."""
_MAX_TURN = 50_000
_KINDS = {
    **dict.fromkeys(("human", "user"), "human"),
    **dict.fromkeys(("ai", "assistant"), "ai"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("system", "developer", "chat"), "system"),
}
_LABEL = re.compile(r"^(Human|User|AI|Assistant|Tool|Function|System|Developer):(?:[ \t]|$)", re.M)
_BEGINS = re.compile(r"\s*(?:System|Developer|Human|User): ")
_AMBIGUOUS = "roles are read from labels in the text, which a page may hold as well, here and elsewhere"


class Told(NamedTuple):
    """The messages of a text."""

    field: str
    """Where it stood."""
    messages: list[dict[str, Any]]
    doubt: str
    strays: int
    """Returns that no call asked for."""


class _Turn(NamedTuple):
    kind: str
    text: str
    calls: tuple[dict[str, Any], ...] = ()


def told_in(record: Record) -> Told | None:
    """The transcript that a field keeps as text; None: none does."""
    for field, value in record.items():
        if field in _NOT_TRANSCRIPTS:
            continue
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            if (printed := _printed(value)) is not None:
                return Told(field, printed, "", 0)
        elif isinstance(value, str) and len(value) > _MIN_LENGTH:
            if "Message(" in value and value[0] in "[{" and (printed := _printed_list(value)) is not None:
                return Told(field, printed, "", 0)
            if _BEGINS.match(value) and (turns := _turns(value)):
                messages, strays = _paired(turns)
                return Told(field, messages, _AMBIGUOUS, strays)
    return None


# ---- messages as Python prints them


def _printed_list(text: str) -> list[dict[str, Any]] | None:
    """``[HumanMessage(content=…), …]``, alone or in the state that holds it."""
    value = load_printed(text)
    if isinstance(value, Mapping):
        value = value.get("messages")
    return _typed(value) if isinstance(value, list) else None


def _printed(texts: list[str]) -> list[dict[str, Any]] | None:
    """A text a message: its fields, or the message with its class."""
    if not any("content=" in text[:60] for text in texts[:4]):
        return None
    return _typed([load_printed(text if "Message(" in text[:40] else f"Message({text})") for text in texts])


def _typed(values: list[Any]) -> list[dict[str, Any]] | None:
    """Fields of messages with their kinds; those of which none is said go by what only such messages have."""
    if not values or not all(isinstance(one, Mapping) and "content" in one for one in values):
        return None
    messages = [{**one, TYPE: _kind(one)} for one in values]
    asking = [index for index, one in enumerate(messages) if one[TYPE] == "human"]
    first = next((index for index, one in enumerate(messages) if one[TYPE] == "ai"), None)
    if first is None:
        return None
    for index in asking[:-1]:  # of several before the agent speaks, the last one asks
        if values[index].get(TYPE) == "Message" and index + 1 in asking and index + 1 < first:
            messages[index][TYPE] = "system"
    return messages


def _kind(fields: Mapping[str, Any]) -> str:
    name = str(fields.get(TYPE)).removesuffix("Chunk").removesuffix("Message").lower()
    if name in _KINDS:
        return _KINDS[name]
    if "tool_call_id" in fields:
        return "tool"
    return "ai" if any(key in fields for key in ("tool_calls", "invalid_tool_calls", "usage_metadata")) else "human"


# ---- turns of a text


def _turns(text: str) -> list[_Turn]:
    found = list(_behind_labels(text))
    kinds = [turn.kind for turn in found]
    return found if "ai" in kinds and "human" in kinds and len(found) < _MAX_TURNS else []


def _behind_labels(text: str) -> Iterator[_Turn]:
    """A turn a label; once calls were made, as many returns are awaited and nothing else is believed before."""
    kind, start, awaited, tries = "", 0, 0, 0
    calls: tuple[dict[str, Any], ...] = ()
    for mark in _LABEL.finditer(text):
        following = _KINDS[mark[1].lower()]
        body = text[start : mark.start()].rstrip("\n")
        if kind == "ai" and not calls and body.endswith("]") and tries < _MAX_LISTS:
            calls, tries = _printed_calls(body), tries + 1
        if kind and not _may_follow(kind, following, len(calls) if kind == "ai" else awaited):
            continue
        if kind:
            yield _turn(kind, body, calls)
        awaited = len(calls) if kind == "ai" else awaited
        awaited = max(awaited - 1, 0) if following == "tool" else 0
        kind, start, calls = following, mark.end(), ()
    if kind:
        body = text[start:].strip("\n")
        yield _turn(kind, body, _printed_calls(body) if kind == "ai" else ())


def _may_follow(kind: str, following: str, awaited: int) -> bool:
    """``awaited``: returns that are still to come."""
    if awaited:
        return following == "tool"
    # After the last return the agent goes on.
    return following != "tool" if kind == "tool" else True


def _turn(kind: str, body: str, calls: tuple[dict[str, Any], ...]) -> _Turn:
    if calls:
        body = body[: body.rindex(_opening(calls))] if _opening(calls) in body else body
    return _Turn(kind, body.strip(), calls)


def _opening(calls: tuple[dict[str, Any], ...]) -> str:
    return f"[{{'name': {calls[0].get('name')!r}"


def _printed_calls(body: str) -> tuple[dict[str, Any], ...]:
    """The calls that Python printed behind the words of a turn."""
    at = -1 if len(body) <= _MAX_TURN else len(body) - _MAX_TURN
    for _ in range(_MAX_TRIES):
        at = body.find("[{'", at + 1)
        if at < 0:
            return ()
        found = load_literal(body[at:])
        if isinstance(found, list) and all(isinstance(one, dict) and isinstance(one.get("name"), str) for one in found):
            return tuple(found)
    return ()


# ---- calls and their returns


def _paired(turns: list[_Turn]) -> tuple[list[dict[str, Any]], int]:
    """The turns as messages; a return belongs to the first open call."""
    messages: list[dict[str, Any]] = []
    waiting: deque[str] = deque()
    strays = 0
    for number, turn in enumerate(turns):
        if turn.kind == "ai":
            calls = [
                {**call, "id": str(call.get("id") or f"{number}.{index}")} for index, call in enumerate(turn.calls)
            ]
            waiting = deque(call["id"] for call in calls)
            messages.append({"type": "ai", "content": turn.text, "tool_calls": calls})
        elif turn.kind == "tool":
            strays += not waiting
            if waiting:
                messages.append({"type": "tool", "content": turn.text, "tool_call_id": waiting.popleft()})
        elif turn.kind:
            messages.append({"type": turn.kind, "content": turn.text})
    return messages, strays
