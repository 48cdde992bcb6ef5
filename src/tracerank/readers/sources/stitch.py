"""Records of a file that are pieces of one run: events line by line, calls of a model that go on, states that grow.

A file whose every line is an event is one run, or one a session where the lines name several; so are the updates of a
graph's nodes. That a call of a model goes on with another is known by the ids of tool calls, by the trace that both
name, by messages that begin with the other's, or by a text that does. Independent rollouts of a question differ in what
the agent said, so that none goes on with another. What is none of these passes untouched, at the price of one look.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracerank.readers.base import Record, RecordAt
from tracerank.readers.sources.lists import events_record, is_event, is_later_event, is_node_update, unwrapped_update
from tracerank.readers.sources.loose_json import load_json
from tracerank.readers.sources.record_fields import RECORD_KEY
from tracerank.readers.values import text_of

_SESSIONS = ("sessionId", "session_id", "thread_id", "conversation_id")

_APART = ("request", "kwargs", "response", "response_obj", "values")
"""Where calls of a model keep request and reply, and snapshots of a graph its state."""

_TASK_ROW = ("task", "agent", "status", "timestamp")

_TAG = re.compile(r"^<(/?)(\w{1,80})>$", re.M)

_TRACES = ("trace_id", "litellm_trace_id", "litellm_session_id", "session_id")

_MISSING = object()

_MAX_OPEN = 2000
"""Runs that are held: the oldest of more is taken to have ended."""

_EMPTY: tuple[object, ...] = (None, "", [], {})

_ASKING = ("request", "kwargs", "body", "input")

_REPLYING = ("response", "response_obj", "completion", "output", "reply")

_OF_REQUESTS = ("input", "previous_response_id")

_ITEM_CALLS = ("function_call", "custom_tool_call")

NEXT_TOOL = "next_tool_name"
"""What a DSPy agent says where it goes on; only its last call of the model does not."""

END_OF_INPUTS = "\n\nRespond with "
"""Begins what DSPy writes behind the inputs of a call."""


def runs_in(records: Iterable[RecordAt]) -> Iterator[RecordAt]:
    """The records of a file, those that are pieces of a run put together."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None:
        return
    if first.parsed is not None:  # a rollout of its own
        yield from _calls(first, iterator)
    elif is_event(first.value):
        yield from _events(first, iterator)
    elif (RECORD_KEY in first.value or len(first.value) == 1) and is_node_update(first.value):
        yield from _updates(first, iterator)
    elif all(name in first.value for name in _TASK_ROW):
        yield from _tasks(first, iterator)
    else:
        yield from _calls(first, iterator)


def _calls(first: RecordAt, rest: Iterator[RecordAt]) -> Iterator[RecordAt]:
    calls: ModelCalls | None = None
    item: RecordAt | None = first
    while item is not None:
        if _may_go_on(item.value):
            calls = calls or ModelCalls()
            yield from calls.add(item)
        else:
            if calls is not None:
                yield from calls.settled()  # nothing overtakes it
            yield item
        item = next(rest, None)
    if calls is not None:
        yield from calls.rest()


def _may_go_on(record: Record) -> bool:
    """Whether a record has what calls of a model and growing states have: the price that every record pays.

    What names its sample or its schema is a rollout of its own, also where another begins with the same messages.
    """
    if "schema" in record or "sample_id" in record:
        return False
    if isinstance(record.get("messages"), list) or any(name in record for name in _APART):
        return True
    is_reply = "question" not in record or record.get("object") == "response"
    return isinstance(record.get("output"), list) and is_reply


def _events(first: RecordAt, rest: Iterator[RecordAt]) -> Iterator[RecordAt]:
    held = [first]
    for item in rest:
        if _sums_up(item.value, held):
            held = []
            yield item
            continue
        held.append(item)
        if not is_later_event(item.value):  # then these are records of some format after all
            yield from held
            yield from rest
            return
    runs: dict[str, list[RecordAt]] = {}
    session = ""
    for item in held:
        session = next((one for name in _SESSIONS if isinstance(one := item.value.get(name), str) and one), session)
        runs.setdefault(session, []).append(item)
    early = runs.pop("", []) if len(runs) > 1 else []
    for number, (session, items) in enumerate(runs.items()):
        items = [*early, *items] if number == 0 else items
        if len(items) == 1 or _asks_twice(items):
            yield from items
            continue
        yield _joined(items, events_record([item.value for item in items]), session)


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


def _updates(first: RecordAt, rest: Iterator[RecordAt]) -> Iterator[RecordAt]:
    """What the nodes of a graph added one after the other: one run."""
    held = [first]
    for item in rest:
        held.append(item)
        if not is_node_update(item.value, is_first=False):
            yield from held
            yield from rest
            return
    parts = [_without_key(item.value) for item in held]
    yield _joined(held, events_record(parts), "")


def _without_key(record: Record) -> Record:
    if RECORD_KEY in record:
        return {name: value for name, value in record.items() if name != RECORD_KEY}
    return unwrapped_update(record)


def _joined(items: list[RecordAt], record: dict[str, object], session: str) -> RecordAt:
    whole = {**record, "session_id": session} if session else record
    return RecordAt(whole, items[0].source, sum(item.size for item in items))


def _tasks(first: RecordAt, rest: Iterator[RecordAt]) -> Iterator[RecordAt]:
    """The rows of a log of tasks that say how one ended; of those that only began, the ones that never did."""
    begun: dict[tuple[str, str], deque[RecordAt]] = {}
    item: RecordAt | None = first
    while item is not None:
        key = (str(item.value.get("task")), str(item.value.get("agent")))
        if item.value.get("status") == "started" and not item.value.get("output"):
            begun.setdefault(key, deque()).append(item)
        else:
            if begun.get(key):
                begun[key].popleft()
            yield item
        item = next(rest, None)
    for open_rows in begun.values():
        yield from open_rows


# ---- calls of a model


def reply_of(record: Record) -> Mapping[str, Any] | None:
    """The message with which a model replied, where a record keeps it in its response; None: it does not."""
    response = record.get("response")
    choices = response.get("choices") if isinstance(response, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return message if isinstance(message, Mapping) else None


def opened_call(record: Record) -> Record | None:
    """A call whose request and reply stand in objects of their own, or as JSON, with all that was said in one list.

    None: it is no such call, or no tool is in it: then it is a row with a question and an answer.
    """
    if isinstance(record.get("messages"), list):
        return None
    asked = next((one for name in _ASKING if isinstance(one := _decoded(record.get(name)), Mapping)), record)
    messages, reply = _decoded(asked.get("messages")), _reply(record)
    if not isinstance(messages, list) or reply is None:
        return None
    is_used = any(isinstance(one, Mapping) and (one.get("role") == "tool" or any(_call_ids(one))) for one in messages)
    if not is_used and not any(_call_ids(reply)):
        return None
    rest = {name: value for name, value in record.items() if name not in (*_ASKING, *_REPLYING, "messages")}
    return {**rest, "messages": [*messages, reply]}


def opened_response(record: Record) -> Record | None:
    """A call of the Responses API whose request and response stand in objects of their own, as one; None: none."""
    asked, replied = (
        next((one for name in names if isinstance(one := _decoded(record.get(name)), Mapping)), {})
        for names in (_ASKING, _REPLYING)
    )
    if asked.get("input") is None or not isinstance(replied.get("output"), list):
        return None
    rest = {name: value for name, value in record.items() if name not in (*_ASKING, *_REPLYING)}
    return {**rest, **replied, **{name: asked[name] for name in _OF_REQUESTS if asked.get(name) is not None}}


def is_call(record: Record) -> bool:
    """Whether a record is one call of a model, or a state."""
    return "messages" in record or opened_call(record) is not None


def _reply(record: Record) -> Mapping[str, Any] | None:
    for name in _REPLYING:
        replied = _decoded(record.get(name))
        if isinstance(replied, Mapping):
            message = reply_of({"response": replied})
            return replied if message is None and replied.get("role") == "assistant" else message
    return None


def _decoded(value: object) -> object:
    return load_json(value) if isinstance(value, str) and value[:1] in ("{", "[") else value


def state_in(record: Record) -> Record:
    """The state that a snapshot of a graph holds; any other record as it is."""
    values = record.get("values")
    return values if isinstance(values, Mapping) and "next" in record and "messages" not in record else record


@dataclass(slots=True)
class _Chain:
    """A run of which more may come."""

    item: RecordAt
    state: str = ""
    """What the model was given, as a text."""
    turns: int = 0
    """How many messages it was given."""


@dataclass(slots=True)
class ModelCalls:
    """Runs that wait for the record that goes on with them, in the order in which they began."""

    _open: dict[int, _Chain] = field(default_factory=dict)
    _by_id: dict[str, int] = field(default_factory=dict)
    """Id of a tool call or a response -> the run that waits for it."""
    _by_trace: dict[tuple[str, str], int] = field(default_factory=dict)
    """A trace and what was asked first -> its latest run."""
    _state: RecordAt | None = None
    """The latest state of a run that may grow."""
    _unfinished: int = 0
    """The latest response that ended in calls."""
    _count: int = 0

    def add(self, item: RecordAt) -> Iterator[RecordAt]:
        """The records that are complete now that this one came."""
        record = state_in(item.value)
        is_snapshot = record is not item.value
        record = opened_response(record) or record
        item = item if record is item.value else item._replace(value=record)
        if isinstance(record.get("outputs"), list) and "messages" in record:
            yield from self._told_as_text(item)
        elif (whole := opened_call(record)) is not None:
            yield from self._replied(item._replace(value=whole), whole["messages"][-1])
        elif (reply := reply_of(record)) is not None:
            yield from self._replied(item, reply)
        elif isinstance(record.get("output"), list):
            yield from self._responded(item)
        else:
            if is_snapshot and self._state is not None and goes_on(record, self._state.value):
                return  # an earlier state, of a history that begins with the latest
            if self._state is not None and not goes_on(self._state.value, record):
                yield self._state
            self._state = item
        while len(self._open) > _MAX_OPEN:
            yield self._open.pop(next(iter(self._open))).item

    def settled(self) -> Iterator[RecordAt]:
        """The state that no longer grows, because something else came."""
        if self._state is not None:
            yield self._state
            self._state = None

    def rest(self) -> Iterator[RecordAt]:
        """What is still open at the end of the file."""
        yield from self.settled()
        yield from (chain.item for chain in self._open.values())

    def _wait(self, chain: _Chain) -> int:
        self._count += 1
        self._open[self._count] = chain
        return self._count

    def _replied(self, item: RecordAt, reply: Mapping[str, Any]) -> Iterator[RecordAt]:
        """A call of a chat model: messages and the reply to them."""
        messages = item.value["messages"] if isinstance(item.value.get("messages"), list) else []
        named = (name for one in messages for name in _call_ids(one))
        earlier = {run for name in named if (run := self._by_id.get(name)) is not None}
        traces = [(trace, _first_words(messages)) for trace in _traces(item.value)]
        for trace in traces:
            run = self._by_trace.get(trace)
            # A trace may hold several runs: one that begins anew is given fewer messages.
            if run in self._open and run is not None and self._open[run].turns < len(messages):
                earlier.add(run)
        for run in earlier:
            self._open.pop(run, None)
        made = list(_call_ids(reply))
        if not made and not traces:
            yield item
            return
        run = self._wait(_Chain(item, turns=len(messages)))
        self._by_id.update(dict.fromkeys(made, run))
        self._by_trace.update(dict.fromkeys(traces, run))

    def _responded(self, item: RecordAt) -> Iterator[RecordAt]:
        """A response as a list of items: one that ends in calls is no run yet."""
        items = [one for one in item.value["output"] if isinstance(one, Mapping)]
        given = item.value.get("input")
        run = self._by_id.get(str(item.value.get("previous_response_id")))
        if isinstance(given, list):  # it is given all that was said before
            named = (str(one.get("call_id")) for one in given if isinstance(one, Mapping))
            for known in {self._by_id[name] for name in named if name in self._by_id}:
                self._open.pop(known, None)
        elif not given and (chain := self._open.pop(run or self._unfinished, None)) is not None:
            whole = {**item.value, "output": [*chain.item.value["output"], *item.value["output"]]}
            item = RecordAt(whole, chain.item.source, chain.item.size + item.size)
        made = [str(one.get("call_id")) for one in items if one.get("type") in _ITEM_CALLS]
        if not made or items[-1].get("type") not in _ITEM_CALLS:
            yield item
            return
        names = [*made, *(one for name in ("id", "response_id") if isinstance(one := item.value.get(name), str))]
        self._unfinished = self._wait(_Chain(item))
        self._by_id.update(dict.fromkeys(names, self._unfinished))

    def _told_as_text(self, item: RecordAt) -> Iterator[RecordAt]:
        """A call that gives the model in one text what has happened so far, as DSPy's do."""
        state = told_inputs(item.value)
        going = [run for run, chain in self._open.items() if chain.state and state.startswith(chain.state)]
        if going:
            self._open.pop(max(going, key=lambda run: len(self._open[run].state)))
        if NEXT_TOOL in said_output(item.value):
            self._wait(_Chain(item, state))
        else:
            yield item


def goes_on(old: Record, new: Record) -> bool:
    """Whether a record holds all that another one holds, and more."""
    if len(new) < len(old):
        return False
    is_grown = len(new) > len(old)
    for name, value in old.items():
        later = new.get(name, _MISSING)
        if later is _MISSING:
            return False
        if isinstance(value, list) and isinstance(later, list) and len(later) > len(value):
            if later[: len(value)] != value:
                return False
            is_grown = True
        elif later != value:
            if value not in _EMPTY:
                return False
            is_grown = True
    return is_grown


def told_inputs(record: Record) -> str:
    """What the last user message of a call says, without what DSPy writes behind it."""
    messages = record.get("messages")
    messages = messages if isinstance(messages, list) else []
    users = [one for one in messages if isinstance(one, Mapping) and one.get("role") == "user"]
    text = text_of(users[-1].get("content")) if users else ""
    return marked(text.rpartition(END_OF_INPUTS)[0]).rstrip() if END_OF_INPUTS in text else text


def marked(text: str) -> str:
    """Fields in tags, each on a line of its own, as fields below marks: the two ways in which DSPy writes them."""
    if not text.startswith("<"):
        return text
    return _TAG.sub(lambda tag: "" if tag[1] else f"[[ ## {tag[2]} ## ]]", text)


def said_output(record: Record) -> str:
    """What the model said in such a call."""
    outputs = record.get("outputs")
    first = outputs[0] if isinstance(outputs, list) and outputs else None
    text = first.get("text") if isinstance(first, Mapping) else first
    return text if isinstance(text, str) else ""


def _traces(record: Record) -> Iterator[str]:
    metadata = record.get("metadata")
    for holder in (record, metadata if isinstance(metadata, Mapping) else {}):
        yield from (one for name in _TRACES if isinstance(one := holder.get(name), str) and one)


def _first_words(messages: list[Any]) -> str:
    users = (one for one in messages if isinstance(one, Mapping) and one.get("role") == "user")
    return text_of(next(users, {}).get("content"))


def _call_ids(message: object) -> Iterator[str]:
    if not isinstance(message, Mapping):
        return
    calls, blocks = message.get("tool_calls"), message.get("content")
    used = (
        [one for one in blocks if isinstance(one, Mapping) and one.get("type") == "tool_use"]
        if isinstance(blocks, list)
        else []
    )
    for call in (*(calls if isinstance(calls, list) else ()), *used):
        if isinstance(call, Mapping) and isinstance(name := call.get("id"), str) and name:
            yield name
