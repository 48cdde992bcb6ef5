"""What a graph of nodes streams while it runs, as LangGraph does: updates of nodes, modes, messages in pieces.

Turns each item into an event in which only the messages are left. Whether a file is such a stream at all is settled in
``containers.py`` and ``event_files.py``.
"""

from collections.abc import Mapping
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.files.record_fields import RECORD_KEY

_STREAM_MODES = frozenset(("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"))
_OF_AGENT = frozenset(("ai", "assistant", "tool", "function", "AIMessage", "AIMessageChunk", "ToolMessage"))
_CHUNK = "AIMessageChunk"


def is_node_update(value: Record, *, is_first: bool = True) -> bool:
    """Whether an object is what one node of a graph added to its state; the first such is a message of the agent."""
    key = value.get(RECORD_KEY)
    inner = value if key is not None else next(iter(value.values())) if len(value) == 1 else {}
    if not is_first:
        return key is not None or (len(value) == 1 and (inner is None or isinstance(inner, Mapping | list)))
    messages = inner.get("messages") if isinstance(inner, Mapping) else None
    return isinstance(messages, list) and bool(messages) and _is_of_agent(messages[0])


def _is_of_agent(message: object) -> bool:
    """Whether a message is not of the user or the system, with which every conversation begins."""
    if not isinstance(message, Mapping):
        return False
    kind = message.get("type", message.get("role"))
    if kind == "constructor" and isinstance(name := message.get("id"), list) and name:
        kind = name[-1]
    return kind in _OF_AGENT


def unwrapped_update(value: Record) -> dict[str, Any]:
    """What a node added, without the name of the node."""
    inner = next(iter(value.values()), None)
    return dict(inner) if isinstance(inner, Mapping) else {"data": inner}


def streamed_part(values: list[Any]) -> dict[str, Any] | None:
    """An item of a stream with several modes, ``[mode, data]`` or ``[place, mode, data]``, or a message with what is
    known about it, as an event; None: the list is something else."""
    *before, last = values or [None]
    if not 1 <= len(before) <= 2:
        return None
    if isinstance(before[-1], str) and before[-1] in _STREAM_MODES and all(map(_is_place, before[:-1])):
        data = last[0] if isinstance(last, list) and last and isinstance(last[0], Mapping) else last
        return {"type": before[-1], "data": data}
    if len(before) == 1 and isinstance(last, Mapping):
        if isinstance(before[0], Mapping) and "langgraph_step" in last:
            return {"type": "messages", "data": before[0]}
        if (
            isinstance(before[0], list)
            and _is_place(before[0])
            and all(isinstance(one, Mapping) for one in last.values())
        ):
            return {"type": "updates", "data": last}
    return None


def _is_place(value: object) -> bool:
    """Whether a value is the place of a subgraph: names, of which there may be none."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def opened_event(event: Record) -> dict[str, Any]:
    """An event of a graph's stream, in which the names of nodes and what is known about a message say nothing."""
    kind, data = event.get("type"), event.get("data")
    if kind == "updates" and isinstance(data, Mapping):
        return {**event, "data": [inner for inner in data.values() if isinstance(inner, Mapping)]}
    if kind == "messages" and isinstance(data, list) and data and isinstance(data[0], Mapping):
        return {**event, "data": data[0]}
    return dict(event)


def whole_messages(values: list[Any]) -> list[Any]:
    """The events with the pieces of each streamed message put together, at the place of its first piece."""
    whole: dict[str, dict[str, Any]] = {}
    kept: list[Any] = []
    for value in values:
        data: Any = value.get("data") if isinstance(value, Mapping) else None
        data = data if isinstance(data, Mapping) else value
        name = data.get("id") if isinstance(data, Mapping) and data.get("type") == _CHUNK else None
        if not isinstance(name, str):
            kept.append(value)
        elif name not in whole:
            whole[name] = {"type": "ai", "id": name, "content": data.get("content"), "tool_calls": _pieces(data)}
            kept.append(whole[name])
        else:
            message = whole[name]
            message["content"] = _appended(message["content"], data.get("content"))
            for piece in _pieces(data):
                _append_call(message["tool_calls"], piece)
    return kept


def _pieces(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = message.get("tool_call_chunks") or message.get("tool_calls")
    return [dict(one) for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _append_call(calls: list[dict[str, Any]], piece: dict[str, Any]) -> None:
    """Arguments come in pieces of text; only the first has a name and an id."""
    if piece.get("id") or not calls:
        calls.append(piece)
        return
    same = [one for one in calls if one.get("index") == piece.get("index")]
    call = (same or calls)[-1]
    call["args"] = _appended(call.get("args"), piece.get("args"))


def _appended(before: object, more: object) -> Any:
    """Two pieces of text, or of lists of parts."""
    if isinstance(before, str) and isinstance(more, str):
        return before + more
    listed = ([{"text": one}] if isinstance(one, str) and one else one for one in (before, more))
    return [part for one in listed if isinstance(one, list) for part in one]
