"""Records of a file that are pieces of one run: events line by line, calls of a model that go on, states that grow.

A file whose every line is an event is one run, or one a session where the lines name several; so are the updates of a
graph's nodes. That a call of a model goes on with another is known by the ids of tool calls, by the trace that both
name, by messages that begin with the other's, or by a text that does. Independent rollouts of a question differ in what
the agent said, so that none goes on with another. What is none of these passes untouched, at the price of one look.
"""

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

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
    items, record = chain((first,), iterator), first.value
    if first.parsed is not None:  # a rollout of its own
        yield from _calls(items)
    elif is_event(record):
        yield from _pieces(items, is_later_event)
    elif (RECORD_KEY in record or len(record) == 1) and is_node_update(record):
        yield from _pieces(items, partial(is_node_update, is_first=False), _without_key)
    elif all(name in record for name in _TASK_ROW):
        yield from _tasks(items)
    else:
        yield from _calls(items)


def _calls(items: Iterable[RecordAt]) -> Iterator[RecordAt]:
    calls = ModelCalls()
    for item in items:
        if _may_go_on(item.value):
            yield from calls.add(item)
        else:
            yield from calls.settled()  # nothing overtakes it
            yield item
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


def _pieces(
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


def _without_key(record: Record) -> Record:
    if RECORD_KEY in record:
        return {name: value for name, value in record.items() if name != RECORD_KEY}
    return unwrapped_update(record)


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


# ---- calls of a model


def reply_of(record: Record) -> Mapping[str, Any] | None:
    """The message with which a model replied, where a record keeps it in its response; None: it does not."""
    response = record.get("response")
    choices = response.get("choices") if isinstance(response, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return message if isinstance(message, Mapping) else None


def opened_call(record: Record) -> Record | None:
    """A call whose request and reply stand in objects of their own, or as JSON, as one record.

    Of chat messages it is one list of all that was said. None: it is no such call, or no tool is in it: then it is a
    row with a question and an answer.
    """
    asked, replied = _object_in(record, _ASKING), _object_in(record, _REPLYING)
    if replied is None or isinstance(record.get("messages"), list):
        return None
    around = {name: value for name, value in record.items() if name not in (*_ASKING, *_REPLYING, "messages")}
    if asked is not None and asked.get("input") is not None and isinstance(replied.get("output"), list):
        return {**around, **replied, **{name: asked[name] for name in _OF_REQUESTS if asked.get(name) is not None}}
    reply = reply_of({"response": replied}) or (replied if replied.get("role") == "assistant" else None)
    messages = _decoded((asked or record).get("messages"))
    if reply is None or not isinstance(messages, list):
        return None
    said = [*messages, reply]
    is_used = any(isinstance(one, Mapping) and one.get("role") == "tool" for one in said) or any(_call_ids(said))
    return {**around, "messages": said} if is_used else None


def _object_in(record: Record, names: Iterable[str]) -> Mapping[str, Any] | None:
    """The first of the fields that holds an object, also as JSON."""
    return next((one for name in names if isinstance(one := _decoded(record.get(name)), Mapping)), None)


def _decoded(value: object) -> object:
    return load_json(value) if isinstance(value, str) and value[:1] in ("{", "[") else value


def is_call(record: Record) -> bool:
    """Whether a record is one call of a model, or a state."""
    return "messages" in record or opened_call(record) is not None


def state_in(record: Record) -> Record:
    """The state that a snapshot of a graph holds; any other record as it is."""
    values = record.get("values")
    return values if isinstance(values, Mapping) and "next" in record and "messages" not in record else record


class _Open(NamedTuple):
    """A run of which more may come."""

    item: RecordAt
    state: str
    """What the model was given, where that is one text."""


class ModelCalls:
    """Runs that wait for the record that goes on with them, in the order in which they began."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._waiting: dict[Hashable, int] = {}  # id of a tool call or a response, or trace and first words -> its run
        self._state: RecordAt | None = None  # the latest of a run that may grow
        self._unfinished = 0  # the latest response that ended in calls
        self._count = 0

    def add(self, item: RecordAt) -> Iterator[RecordAt]:
        """The records that are complete now that this one came."""
        state = state_in(item.value)
        opened = opened_call(state)
        record = opened or state
        is_snapshot = state is not item.value
        item = item._replace(value=record)
        if isinstance(record.get("outputs"), list) and "messages" in record:
            yield from self._told_as_text(item)
        elif (reply := reply_of(record)) is not None:
            yield from self._replied(item, reply)
        elif isinstance(record.get("output"), list):
            yield from self._responded(item)
        elif opened is not None:
            yield from self._replied(item, record["messages"][-1])
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
        yield from (run.item for run in self._open.values())

    def _wait(self, item: RecordAt, names: Iterable[Hashable] = (), state: str = "") -> int:
        self._count += 1
        self._open[self._count] = _Open(item, state)
        self._waiting.update(dict.fromkeys(names, self._count))
        return self._count

    def _end(self, names: Iterable[Hashable]) -> None:
        """The runs that wait for one of these are only the beginning of what came."""
        for name in names:
            self._open.pop(self._waiting.get(name, 0), None)

    def _replied(self, item: RecordAt, reply: Mapping[str, Any]) -> Iterator[RecordAt]:
        """A call of a chat model: messages and the reply to them."""
        messages = _messages(item.value)
        traces = [(trace, _first_words(messages)) for trace in _traces(item.value)]
        # A trace may hold several runs: one that begins anew is given fewer messages.
        runs = ((trace, self._open.get(self._waiting.get(trace, 0))) for trace in traces)
        grown = [trace for trace, run in runs if run is not None and len(_messages(run.item.value)) < len(messages)]
        self._end((*_call_ids(messages), *grown))
        names = [*_call_ids([reply]), *traces]
        if names:
            self._wait(item, names)
        else:
            yield item

    def _responded(self, item: RecordAt) -> Iterator[RecordAt]:
        """A response as a list of items: one that ends in calls is no run yet."""
        record, given = item.value, item.value.get("input")
        run = self._waiting.get(str(record.get("previous_response_id")), 0 if given else self._unfinished)
        before = self._open.pop(run, None) if isinstance(given, list) or not given else None
        if isinstance(given, list):  # it is given all that was said before, or what was not: the returns of its calls
            self._end(str(one.get("call_id")) for one in given if isinstance(one, Mapping))
        if before is not None:
            earlier = before.item.value
            if not given:
                record = {**record, "output": [*earlier["output"], *record["output"]]}
            elif not all(one in given for one in earlier["output"]):
                record = {**record, "input": [*_listed(earlier.get("input")), *earlier["output"], *given]}
        if record is not item.value and before is not None:
            item = RecordAt(record, before.item.source, before.item.size + item.size)
        items = [one for one in record["output"] if isinstance(one, Mapping)]
        made = [str(one.get("call_id")) for one in items if one.get("type") in _ITEM_CALLS]
        if made and items[-1].get("type") in _ITEM_CALLS:
            ids = (one for name in ("id", "response_id") if isinstance(one := record.get(name), str))
            self._unfinished = self._wait(item, (*made, *ids))
        else:
            yield item

    def _told_as_text(self, item: RecordAt) -> Iterator[RecordAt]:
        """A call that gives the model in one text what has happened so far, as DSPy's do."""
        state = told_inputs(item.value)
        going = [number for number, run in self._open.items() if run.state and state.startswith(run.state)]
        if going:
            del self._open[max(going, key=lambda number: len(self._open[number].state))]
        if NEXT_TOOL in said_output(item.value):
            self._wait(item, state=state)
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
    messages = _messages(record)
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


def _messages(record: Record) -> list[Any]:
    messages = record.get("messages")
    return messages if isinstance(messages, list) else []


def _traces(record: Record) -> Iterator[str]:
    metadata = record.get("metadata")
    for holder in (record, metadata if isinstance(metadata, Mapping) else {}):
        yield from (one for name in _TRACES if isinstance(one := holder.get(name), str) and one)


def _listed(given: object) -> list[Any]:
    """The input of a response as a list of items."""
    return given if isinstance(given, list) else [{"role": "user", "content": given}] if given else []


def _first_words(messages: list[Any]) -> str:
    users = (one for one in messages if isinstance(one, Mapping) and one.get("role") == "user")
    return text_of(next(users, {}).get("content"))


def _call_ids(messages: Iterable[object]) -> Iterator[str]:
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        for listed, kinds in (message.get("tool_calls"), None), (message.get("content"), ("tool_use",)):
            for call in listed if isinstance(listed, list) else ():
                is_call = isinstance(call, Mapping) and (kinds is None or call.get("type") in kinds)
                if is_call and isinstance(name := call.get("id"), str) and name:
                    yield name
