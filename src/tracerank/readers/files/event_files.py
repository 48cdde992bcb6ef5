"""Runs that a file keeps line by line: a message, a call or an event a line, or one call of a model a line.

Stands between the records of one file and the readers. A file whose every line is an event is one run, or one a
session where the lines name several; so are the updates of a graph's nodes. Calls of a model that go on with each
other, and states that only grow, are put together in ``model_calls.py``. What is none of these passes untouched, at the
price of one look.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from tracerank.readers.base import Record
from tracerank.readers.files.containers import events_record, is_event, is_later_event
from tracerank.readers.files.model_calls import ModelCalls
from tracerank.readers.files.record_fields import RECORD_KEY
from tracerank.readers.files.records import RecordAt
from tracerank.readers.files.streams import is_node_update, unwrapped_update

_SESSIONS = ("sessionId", "session_id", "thread_id", "conversation_id")
_APART = ("request", "kwargs", "response", "response_obj", "values")
"""Where calls of a model keep request and reply, and snapshots of a graph its state."""
_TASK_ROW = ("task", "agent", "status", "timestamp")


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
    """Whether bare messages ask several questions: it cannot be told where a run ends."""
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
