"""Calls of a model that go on with each other, and states that grow: only the last one of a run says all.

That a call goes on with another is known by the ids of tool calls, by the trace that both name, by messages that begin
with the other's, or by a text that does. Independent rollouts of a question differ in what the agent said, so that none
goes on with another. What is none of these passes untouched, at the price of one look.
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tracerank.readers.base import Record, RecordAt
from tracerank.readers.sources.loose_json import decoded_value
from tracerank.readers.values import text_of

_REQUESTS = ("request", "kwargs", "body", "input")
_REPLIES = ("response", "response_obj", "completion", "output", "reply")
_APART = ("request", "kwargs", "response", "response_obj", "values")
"""Where calls of a model keep request and reply, and snapshots of a graph its state."""
_OF_REQUESTS = ("input", "previous_response_id")
_ITEM_CALLS = ("function_call", "custom_tool_call")
_TRACES = ("trace_id", "litellm_trace_id", "litellm_session_id", "session_id")
_EMPTY: tuple[object, ...] = (None, "", [], {})
_MISSING = object()
_MAX_OPEN = 2000
"""Runs that are held: the oldest of more is taken to have ended."""
_TAG = re.compile(r"^<(/?)(\w{1,80})>$", re.M)
NEXT_TOOL = "next_tool_name"
"""What a DSPy agent says where it goes on; only its last call of the model does not."""
_END_OF_INPUTS = "\n\nRespond with "
"""Begins what DSPy writes behind the inputs of a call."""


def run_calls(items: Iterable[RecordAt]) -> Iterator[RecordAt]:
    """The records of a file, of calls that go on with each other the last one."""
    calls = _ModelCalls()
    for item in items:
        if _may_go_on(item.value):
            yield from calls.add(item)
        else:
            yield from calls.settled()  # nothing overtakes it
            yield item
    yield from calls.rest()


def last_call(values: list[Any]) -> Record | None:
    """Of calls of a model that go on with each other, the one that says all; None: they are something else."""
    if not values or not all(isinstance(one, Mapping) and ("messages" in one or opened_call(one)) for one in values):
        return None
    calls = _ModelCalls()
    left = [item for value in values for item in calls.add(RecordAt(value, "", 0))]
    left += calls.rest()
    return left[0].value if len(left) == 1 else None


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
    asked, replied = _object_in(record, _REQUESTS), _object_in(record, _REPLIES)
    if replied is None or isinstance(record.get("messages"), list):
        return None
    around = {name: value for name, value in record.items() if name not in (*_REQUESTS, *_REPLIES, "messages")}
    if asked is not None and asked.get("input") is not None and isinstance(replied.get("output"), list):
        return {**around, **replied, **{name: asked[name] for name in _OF_REQUESTS if asked.get(name) is not None}}
    reply = reply_of({"response": replied}) or (replied if replied.get("role") == "assistant" else None)
    messages = decoded_value((asked or record).get("messages"))
    if reply is None or not isinstance(messages, list):
        return None
    said = [*messages, reply]
    is_used = any(isinstance(one, Mapping) and one.get("role") == "tool" for one in said) or any(_call_ids(said))
    return {**around, "messages": said} if is_used else None


def _object_in(record: Record, names: Iterable[str]) -> Mapping[str, Any] | None:
    """The first of the fields that holds an object, also as JSON."""
    return next((one for name in names if isinstance(one := decoded_value(record.get(name)), Mapping)), None)


def goes_on(old: Record, new: Record) -> bool:
    """Whether a record holds all that another one holds, and more."""
    is_grown = len(new) > len(old)
    for name, value in old.items():
        later = new.get(name, _MISSING)
        if isinstance(value, list) and isinstance(later, list) and len(later) > len(value):
            if later[: len(value)] != value:
                return False
            is_grown = True
        elif later != value:
            if later is _MISSING or value not in _EMPTY:
                return False
            is_grown = True
    return is_grown


class _Open(NamedTuple):
    """A run of which more may come."""

    item: RecordAt
    text: str
    """What the model was given, where that is one text."""


class _ModelCalls:
    """Runs that wait for the record that goes on with them, in the order in which they began."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._waiting: dict[Hashable, int] = {}  # id of a tool call or a response, or trace and first words -> its run
        self._state: RecordAt | None = None  # the latest of a run that may grow
        self._unfinished = 0  # the latest response that ended in calls
        self._count = 0

    def add(self, item: RecordAt) -> Iterator[RecordAt]:
        """The records that are complete now that this one came."""
        values = item.value.get("values")
        is_snapshot = isinstance(values, Mapping) and "next" in item.value and "messages" not in item.value
        state = values if is_snapshot and isinstance(values, Mapping) else item.value
        opened = opened_call(state)
        record = opened or state
        item = item._replace(value=record)
        if isinstance(record.get("outputs"), list) and "messages" in record:
            yield from self._given_text(item)
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

    def _wait(self, item: RecordAt, names: Iterable[Hashable] = (), text: str = "") -> int:
        self._count += 1
        self._open[self._count] = _Open(item, text)
        self._waiting.update(dict.fromkeys(names, self._count))
        return self._count

    def _end(self, names: Iterable[Hashable]) -> None:
        """The runs that wait for one of these are only the beginning of what came."""
        for name in names:
            self._open.pop(self._waiting.get(name, 0), None)

    def _replied(self, item: RecordAt, reply: Mapping[str, Any]) -> Iterator[RecordAt]:
        """A call of a chat model: messages and the reply to them."""
        messages = _messages(item.value)
        first = next((one for one in messages if isinstance(one, Mapping) and one.get("role") == "user"), {})
        traces = [(trace, text_of(first.get("content"))) for trace in _traces(item.value)]
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
            if record is not item.value:
                item = RecordAt(record, before.item.source, before.item.size + item.size)
        items = [one for one in record["output"] if isinstance(one, Mapping)]
        made = [str(one.get("call_id")) for one in items if one.get("type") in _ITEM_CALLS]
        if made and items[-1].get("type") in _ITEM_CALLS:
            ids = (one for name in ("id", "response_id") if isinstance(one := record.get(name), str))
            self._unfinished = self._wait(item, (*made, *ids))
        else:
            yield item

    def _given_text(self, item: RecordAt) -> Iterator[RecordAt]:
        """A call that gives the model in one text what has happened so far, as DSPy's do."""
        text = inputs_text(item.value)
        runs = [number for number, run in self._open.items() if run.text and text.startswith(run.text)]
        if runs:
            del self._open[max(runs, key=lambda number: len(self._open[number].text))]
        if NEXT_TOOL in output_text(item.value):
            self._wait(item, text=text)
        else:
            yield item


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


def _call_ids(messages: Iterable[object]) -> Iterator[str]:
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        for listed, is_mixed in (message.get("tool_calls"), False), (message.get("content"), True):
            for call in listed if isinstance(listed, list) else ():
                is_call = isinstance(call, Mapping) and (not is_mixed or call.get("type") == "tool_use")
                if is_call and isinstance(name := call.get("id"), str) and name:
                    yield name


# ---- calls of DSPy, whose inputs and outputs are fields of a text


def inputs_text(record: Record) -> str:
    """What the last user message of a call says, without what DSPy writes behind it."""
    users = [one for one in _messages(record) if isinstance(one, Mapping) and one.get("role") == "user"]
    text = text_of(users[-1].get("content")) if users else ""
    return marked(text.rpartition(_END_OF_INPUTS)[0]).rstrip() if _END_OF_INPUTS in text else text


def marked(text: str) -> str:
    """Fields in tags, each on a line of its own, as fields below marks: the two ways in which DSPy writes them."""
    if not text.startswith("<"):
        return text
    return _TAG.sub(lambda tag: "" if tag[1] else f"[[ ## {tag[2]} ## ]]", text)


def output_text(record: Record) -> str:
    """What the model said in such a call."""
    outputs = record.get("outputs")
    first = outputs[0] if isinstance(outputs, list) and outputs else None
    text = first.get("text") if isinstance(first, Mapping) else first
    return text if isinstance(text, str) else ""
