"""Lists that are one transcript: chat messages, an agent's steps, the events of a run, what a graph streams.

Looks at the outermost shape of the items; what they say is for the readers. Where it leaves a doubt, a list is one of
records.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.shapes import constructed
from tracerank.readers.sources.record_fields import RECORD_FIELDS, RECORD_KEY
from tracerank.readers.vocabulary import word_set

_STEP_FIELDS = frozenset(("step_number", "task", "plan", "system_prompt"))

_ROLES = frozenset(("system", "developer", "user", "human", "assistant", "gpt", "tool", "function", "observation"))

_KIND_FIELDS = ("type", "role", "kind", "event", "author", "subtype", "qualified_name")

_AGENT = "current_agent_name"

_SELF_TOLD = (_AGENT, "tool_kwargs", "parent_tool_use_id", "triggers", "interrupts")
"""Fields of events of LlamaIndex, the Claude Agent SDK and LangGraph, of which a plain dump does not say its kind."""

_EVENT_FIELDS = word_set(
    "content message payload item data parts output arguments text subtype blocks call_id operation input thread_id",
    "sessionId session_id uuid usage tool_calls tool_name attachment delta response result tool_id event",
    "qualified_name kwargs raw_item",
).union(_SELF_TOLD)

_NO_EVENT = (RECORD_FIELDS - {"steps", "query"}) | word_set(
    "trace_id traceId span_id spanId run_type custom_id schema answer object golden_answers sample_id references",
    "prediction label resourceSpans attributes observationId",
)
"""A span, a line of a batch or a rollout may say its kind, too."""

ITEM_KINDS = frozenset(("function_call", "function_call_output", "web_search_call", "file_search_call", "mcp_call"))

_MESSAGE_KINDS = frozenset(("human", "ai", "tool", "system", "AIMessageChunk", "function", "constructor"))

_STREAM_MODES = ("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints")

_OF_AGENT = frozenset(("ai", "assistant", "tool", "function", "AIMessage", "AIMessageChunk", "ToolMessage"))

_CHUNK = "AIMessageChunk"


def as_record(values: list[Any]) -> Record | None:
    """A list that is one transcript, chat messages or an agent's steps, as a record; None: it is a list of records."""
    if (streamed := streamed_part(values)) is not None:
        return streamed
    if not values or not all(isinstance(value, Mapping) for value in values):
        parts = [streamed_part(value) if isinstance(value, list) else None for value in values]
        return events_record(parts) if parts and all(part is not None for part in parts) else None
    if all(str(value.get("role", value.get("from"))) in _ROLES for value in values):
        return {"messages": values}
    if any("step_number" in value for value in values) and not any(_STEP_FIELDS.isdisjoint(v) for v in values):
        return {"steps": values}
    if all(is_node_update(value, is_first=False) for value in values):
        return events_record([unwrapped_update(value) for value in values]) if is_node_update(values[0]) else None
    if is_event(values[0]) and all(map(is_later_event, values)):
        return events_record(values)
    return None


def events_record(values: list[Any]) -> dict[str, Any]:
    """The events of one run as a record, under the name that the reader of such a list looks for."""
    values = whole_messages(map(opened_event, values))
    if all(isinstance(value.get("messages"), list) and len(value) == 1 for value in values):
        return {"messages": [message for value in values for message in value["messages"]]}
    kinds = {value.get("type") for value in values if isinstance(value.get("type"), str)}
    if kinds & ITEM_KINDS:
        return {"response_items": values}
    return {"messages" if kinds and kinds <= _MESSAGE_KINDS else "events": values}


def is_event(value: object) -> bool:
    """Whether an object is a message, a call or a return rather than a record: it says its kind, and of whom it is."""
    if not isinstance(value, Mapping) or not _NO_EVENT.isdisjoint(value):
        return False
    return (_tells_kind(value) and not _EVENT_FIELDS.isdisjoint(value)) or _begins_untold(value)


def _tells_kind(value: Record) -> bool:
    return any(isinstance(value.get(name), str) for name in _KIND_FIELDS)


def _begins_untold(value: Mapping[str, Any]) -> bool:
    """Whether an object that does not say its kind is the first event of a run: what was asked, a message, a step."""
    if "triggers" in value or (_AGENT in value and isinstance(value.get("input"), list)):
        return True
    if value.get("type") == "start" and len(value) <= 2:
        return True
    message = value.get("message")
    is_message = isinstance(message, Mapping) and "content" in message and str(message.get("role")) in _ROLES
    return is_message or ("stepNumber" in value and isinstance(value.get("content"), list))


def is_later_event(value: object) -> bool:
    """Whether an object is an event among events: there a kind alone will do, such as ``turn.started``."""
    if not isinstance(value, Mapping) or not _NO_EVENT.isdisjoint(value):
        return False
    return _tells_kind(value) or any(name in value for name in _SELF_TOLD) or _begins_untold(value)


# ---- what a graph of nodes streams, as LangGraph does


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
    if before[-1] in _STREAM_MODES and all(map(_is_place, before[:-1])):
        data = last[0] if isinstance(last, list) and last and isinstance(last[0], Mapping) else last
        return {"type": before[-1], "data": data}
    if len(before) == 2 or not isinstance(last, Mapping):
        return None
    if isinstance(before[0], Mapping) and "langgraph_step" in last:
        return {"type": "messages", "data": before[0]}
    is_update = _is_place(before[0]) and all(isinstance(one, Mapping) for one in last.values())
    return {"type": "updates", "data": last} if is_update else None


def streamed_messages(values: Sequence[Any]) -> Sequence[Any]:
    """The whole messages of a list that is such a stream; any other list as it is."""
    if not values or not isinstance(values[0], list):
        return values
    parts = [streamed_part(one) if isinstance(one, list) else None for one in values]
    return whole_messages(part for part in parts if part is not None) if None not in parts else values


def _is_place(value: object) -> bool:
    """Whether a value is the place of a subgraph: names, of which there may be none."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def opened_event(event: Record) -> dict[str, Any]:
    """An event of a graph's stream, in which the names of nodes and what is known about a message say nothing."""
    kind, data = event.get("type"), event.get("data")
    if kind == "updates" and isinstance(data, Mapping):
        return {**event, "data": [inner for inner in data.values() if isinstance(inner, Mapping)]}
    if isinstance(kind, str) and "." in kind and isinstance(data, Mapping):
        return {**data, "type": kind.rpartition(".")[2]}  # an event by its class, as ag2 logs it
    if kind == "messages" and isinstance(data, list) and data and isinstance(data[0], Mapping):
        return {**event, "data": data[0]}
    return dict(event)


def whole_messages(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with the pieces of each streamed message put together, at the place of its first piece."""
    whole: dict[str, dict[str, Any]] = {}
    kept: list[dict[str, Any]] = []
    for event in events:
        piece = constructed(data if isinstance(data := event.get("data"), Mapping) else event)
        name = piece.get("id")
        if piece.get("type") != _CHUNK or not isinstance(name, str):
            kept.append(event)
            continue
        if name not in whole:
            whole[name] = {"type": "ai", "id": name, "content": "", "tool_calls": []}
            kept.append(whole[name])
        message, calls = whole[name], piece.get("tool_call_chunks") or piece.get("tool_calls")
        message["content"] = _appended(message["content"], piece.get("content"))
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                _append_call(message["tool_calls"], call)
    return kept


def _append_call(calls: list[dict[str, Any]], piece: Mapping[str, Any]) -> None:
    """Arguments come in pieces of text; only the first has a name and an id."""
    if piece.get("id") or not calls:
        calls.append(dict(piece))
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
