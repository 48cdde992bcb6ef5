"""Lists and lines that are one transcript: chat messages, an agent's steps, the events of a run, what a graph streams.

Looks at the outermost shape of the items; what they say is for the readers. A file whose every line is an event is one
run, or one a session where the lines name several. Where shapes leave a doubt, a list is one of records.

A reader parses one record into one rollout. A format whose rollouts come in pieces, such as spans of a trace, also
satisfies ``Joiner``: its pieces may be interleaved and stand in several files, and a rollout stays open until a window
of other records has passed.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Protocol, runtime_checkable

from tracerank.errors import ReadError
from tracerank.readers.base import Record, RecordAt
from tracerank.readers.runs.model_calls import run_calls
from tracerank.readers.runs.pools import digest_of
from tracerank.readers.shapes import constructed
from tracerank.readers.sources.record_fields import RECORD_FIELDS, RECORD_KEY
from tracerank.readers.vocabulary import word_set

_SESSIONS = ("sessionId", "session_id", "thread_id", "conversation_id")
_TASK_ROW = ("task", "agent", "status", "timestamp")
_STEP_FIELDS = frozenset(("step_number", "task", "plan", "system_prompt"))
_ROLES = frozenset(("system", "developer", "user", "human", "assistant", "gpt", "tool", "function", "observation"))
_KIND_FIELDS = ("type", "role", "kind", "event", "author", "subtype", "qualified_name")
_AGENT = "current_agent_name"
_WITHOUT_KIND = (_AGENT, "tool_kwargs", "parent_tool_use_id", "triggers", "interrupts")
"""Fields of events of LlamaIndex, the Claude Agent SDK and LangGraph, of which a plain dump does not say its kind."""
_EVENT_FIELDS = word_set(
    "content message payload item data parts output arguments text subtype blocks call_id operation input thread_id",
    "sessionId session_id uuid usage tool_calls tool_name attachment delta response result tool_id event",
    "qualified_name kwargs raw_item",
).union(_WITHOUT_KIND)
_NO_EVENT = (RECORD_FIELDS - {"steps", "query"}) | word_set(
    "trace_id traceId span_id spanId run_type custom_id schema answer object golden_answers sample_id references",
    "prediction label resourceSpans attributes observationId",
)
"""A span, a line of a batch or a rollout may say its kind, too."""
ITEM_KINDS = frozenset(("function_call", "function_call_output", "web_search_call", "file_search_call", "mcp_call"))
_CHUNK = "AIMessageChunk"
_MESSAGE_KINDS = frozenset(("human", "ai", "tool", "system", _CHUNK, "function", "constructor"))
_STREAM_MODES = ("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints")
_OF_AGENT = frozenset(("ai", "assistant", "tool", "function", "AIMessage", _CHUNK, "ToolMessage"))


def runs_in(records: Iterable[RecordAt]) -> Iterator[RecordAt]:
    """The records of a file, those that are pieces of a run put together."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None:
        return
    items, record = chain((first,), iterator), first.value
    if first.parsed is not None:  # a rollout of its own
        yield from run_calls(items)
    elif is_event(record):
        yield from _sessions(items, is_later_event)
    elif (RECORD_KEY in record or len(record) == 1) and is_node_update(record):
        yield from _sessions(items, partial(is_node_update, is_first=False), unwrapped_update)
    elif all(name in record for name in _TASK_ROW):
        yield from _tasks(items)
    else:
        yield from run_calls(items)


def _sessions(
    items: Iterator[RecordAt], is_piece: Callable[[Record], bool], opened: Callable[[Record], Record] | None = None
) -> Iterator[RecordAt]:
    """The runs of a file of events or of updates, one a session; all records as they are if others are among them."""
    held: list[RecordAt] = []
    for item in items:
        if _sums_up(item.value, held):
            held = []
            yield item
            continue
        held.append(item)
        if not is_piece(item.value):
            yield from held
            yield from items
            return
    runs: dict[str, list[RecordAt]] = {}
    session = ""
    for item in held:
        session = next((one for name in _SESSIONS if isinstance(one := item.value.get(name), str) and one), session)
        runs.setdefault(session, []).append(item if opened is None else item._replace(value=opened(item.value)))
    early = runs.pop("", []) if len(runs) > 1 else []
    for session, later in runs.items():
        pieces, early = [*early, *later], []
        if len(pieces) == 1 or _asks_twice(pieces):
            yield from pieces
        else:
            whole = events_record([item.value for item in pieces])
            whole |= {"session_id": session} if session else {}
            yield RecordAt(whole, pieces[0].source, sum(item.size for item in pieces))


def _sums_up(record: Record, events: list[RecordAt]) -> bool:
    """Whether a record lists all events before it once more, with which a stream may end."""
    listed = record.get("messages")
    if not isinstance(listed, list) or not events or len(listed) < len(events):
        return False
    return bool(listed[0] == events[0].value and listed[len(events) - 1] == events[-1].value)


def _asks_twice(items: list[RecordAt]) -> bool:
    """Whether bare messages ask several questions: where a run ends is not known."""
    asked = [item.value.get("content") for item in items if item.value.get("role") == "user"]
    return len({text for text in asked if isinstance(text, str)}) > 1


def _tasks(items: Iterable[RecordAt]) -> Iterator[RecordAt]:
    """The rows of a log of tasks that say how one ended; of those that only began, the ones that never did."""
    begun: dict[tuple[str, str], deque[RecordAt]] = {}
    for item in items:
        key = (str(item.value.get("task")), str(item.value.get("agent")))
        if item.value.get("status") == "started" and not item.value.get("output"):
            begun.setdefault(key, deque()).append(item)
        else:
            if begun.get(key):
                begun[key].popleft()
            yield item
    for open_rows in begun.values():
        yield from open_rows


# ---- lists


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
    return events_record(values) if is_event(values[0]) and all(map(is_later_event, values)) else None


def events_record(values: list[Any]) -> dict[str, Any]:
    """The events of one run as a record, under the name that the reader of such a list looks for."""
    values = _whole_messages(map(_opened_event, values))
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
    return (_says_kind(value) and not _EVENT_FIELDS.isdisjoint(value)) or _begins_run(value)


def is_later_event(value: object) -> bool:
    """Whether an object is an event among events: there a kind alone will do, such as ``turn.started``."""
    if not isinstance(value, Mapping) or not _NO_EVENT.isdisjoint(value):
        return False
    return _says_kind(value) or any(name in value for name in _WITHOUT_KIND) or _begins_run(value)


def _says_kind(value: Record) -> bool:
    return any(isinstance(value.get(name), str) for name in _KIND_FIELDS)


def _begins_run(value: Record) -> bool:
    """Whether an object that does not say its kind is the first event of a run: what was asked, a message, a step."""
    if "triggers" in value or (_AGENT in value and isinstance(value.get("input"), list)):
        return True
    if value.get("type") == "start" and len(value) <= 2:
        return True
    message = value.get("message")
    is_message = isinstance(message, Mapping) and "content" in message and str(message.get("role")) in _ROLES
    return is_message or ("stepNumber" in value and isinstance(value.get("content"), list))


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
    if RECORD_KEY in value:
        return {name: inner for name, inner in value.items() if name != RECORD_KEY}
    inner = next(iter(value.values()), None)
    return dict(inner) if isinstance(inner, Mapping) else {"data": inner}


def streamed_part(values: list[Any]) -> dict[str, Any] | None:
    """An item of a stream as an event: ``[mode, data]``, ``[path, mode, data]``, or a message with what is known of it.

    None: the list is something else.
    """
    *before, last = values or [None]
    if not 1 <= len(before) <= 2:
        return None
    if before[-1] in _STREAM_MODES and all(map(_is_path, before[:-1])):
        data = last[0] if isinstance(last, list) and last and isinstance(last[0], Mapping) else last
        return {"type": before[-1], "data": data}
    if len(before) == 2 or not isinstance(last, Mapping):
        return None
    if isinstance(before[0], Mapping) and "langgraph_step" in last:
        return {"type": "messages", "data": before[0]}
    is_update = _is_path(before[0]) and all(isinstance(one, Mapping) for one in last.values())
    return {"type": "updates", "data": last} if is_update else None


def streamed_messages(value: Any) -> Any:
    """The whole messages of a list that is such a stream; anything else as it is."""
    if not isinstance(value, list) or not value or not isinstance(value[0], list):
        return value
    parts = [part for one in value if isinstance(one, list) and (part := streamed_part(one)) is not None]
    return _whole_messages(parts) if len(parts) == len(value) else value


def _is_path(value: object) -> bool:
    """Whether a value is the path of a subgraph: names, of which there may be none."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _opened_event(event: Record) -> dict[str, Any]:
    """An event of a graph's stream, in which the names of nodes and what is known about a message say nothing."""
    kind, data = event.get("type"), event.get("data")
    if kind == "updates" and isinstance(data, Mapping):
        return {**event, "data": [inner for inner in data.values() if isinstance(inner, Mapping)]}
    if isinstance(kind, str) and "." in kind and isinstance(data, Mapping):
        return {**data, "type": kind.rpartition(".")[2]}  # an event by its class, as ag2 logs it
    if kind == "messages" and isinstance(data, list) and data and isinstance(data[0], Mapping):
        return {**event, "data": data[0]}
    return dict(event)


def _whole_messages(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with the pieces of each streamed message put together, where its first piece stands."""
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


# ---- rollouts whose reader joins them of several records


class ScatteredRollout(ReadError):
    """Pieces of a rollout that was already given out: reading on would lose them, wherever they were found."""


class Piece(NamedTuple):
    """What one record says about one rollout."""

    key: str
    """Pieces with the same key belong to one rollout."""
    value: Any


@runtime_checkable
class Joiner(Protocol):
    """A reader whose rollouts come in several records."""

    name: str

    def pieces(self, record: Record) -> Sequence[Piece]:
        """What the record says about one or more rollouts; empty: it is of another format. Cheap, never raises."""
        ...

    def join(self, values: Sequence[Any]) -> Record:
        """One record of all the pieces of a rollout, which the reader's ``parse`` takes."""
        ...


@dataclass(slots=True)
class _Open:
    """A rollout that may still receive pieces."""

    source: str
    """Where its first piece stood."""
    start: int
    """Bytes read before it began."""
    own: int = 0
    """Bytes of its own pieces."""
    values: list[Any] = field(default_factory=list)


class Joining:
    """The open rollouts of some files, and a digest of each closed one."""

    def __init__(self, joiner: Joiner | None, window_bytes: int | None) -> None:
        self._joiner = joiner
        self._window = window_bytes
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._closed: set[int] = set()
        self._bytes = 0

    @property
    def is_waiting(self) -> bool:
        """Whether there are rollouts that have not been given out."""
        return bool(self._open)

    def through(self, items: Iterable[RecordAt]) -> Iterator[RecordAt]:
        """The records of a file, those in pieces as soon as their rollout is closed."""
        for item in items:
            self._bytes += item.size
            pieces = self._joiner.pieces(item.value) if self._joiner is not None and item.parsed is None else ()
            for piece in pieces:
                self._add(piece, item, item.size // len(pieces))
            if not pieces:
                yield item
            while self._has_passed():
                yield self._close()

    def rest(self) -> Iterator[RecordAt]:
        """What is still open after the last file, in order of first appearance."""
        while self._open:
            yield self._close()

    def _add(self, piece: Piece, item: RecordAt, size: int) -> None:
        rollout = self._open.get(piece.key)
        if rollout is None:
            if self._joiner is not None and digest_of(piece.key) in self._closed:
                raise ScatteredRollout(
                    f"{item.source}: {self._joiner.name} trace {piece.key!r} goes on after it was closed: over "
                    f"{self._window:,} bytes of other records stood in between; sort the file by trace or use "
                    "tr.read_pools(FILE), which holds everything in memory"
                )
            rollout = self._open[piece.key] = _Open(item.source, self._bytes - item.size)
        rollout.values.append(piece.value)
        rollout.own += size

    def _has_passed(self) -> bool:
        if self._window is None or not self._open:
            return False
        oldest = next(iter(self._open.values()))
        return self._bytes - oldest.start - oldest.own > self._window

    def _close(self) -> RecordAt:
        assert self._joiner is not None
        key, rollout = self._open.popitem(last=False)
        if self._window is not None:
            self._closed.add(digest_of(key))
        return RecordAt(self._joiner.join(rollout.values), rollout.source, rollout.own)
