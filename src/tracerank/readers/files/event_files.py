"""Runs that a file keeps line by line: a message, a call or an event a line, or one call of a model a line.

Stands between the records of one file and the readers. A file whose every line is an event is one run, or one a
session where the lines name several; calls of a model that go on with each other are one run, of which the last call
says all. What is none of these passes untouched, at the price of one look a file.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracerank.readers.base import Record
from tracerank.readers.files.containers import events_record, is_event
from tracerank.readers.files.records import RecordAt

_SESSIONS = ("sessionId", "session_id", "thread_id", "conversation_id")


def runs_in(records: Iterable[RecordAt]) -> Iterator[RecordAt]:
    """The records of a file, those that are pieces of a run put together."""
    iterator = iter(records)
    first = next(iterator, None)
    if first is None:
        return
    if is_event(first.value):
        yield from _events(first, iterator)
        return
    chains = _Chains()
    yield from chains.add(first)
    for item in iterator:
        yield from chains.add(item)
    yield from chains.rest()


def _events(first: RecordAt, rest: Iterator[RecordAt]) -> Iterator[RecordAt]:
    held = [first]
    for item in rest:
        held.append(item)
        if not is_event(item.value):  # then these are records of some format after all
            yield from held
            yield from rest
            return
    runs: dict[str, list[RecordAt]] = {}
    session = ""
    for item in held:
        session = next((one for name in _SESSIONS if isinstance(one := item.value.get(name), str) and one), session)
        runs.setdefault(session, []).append(item)
    early = runs.pop("", []) if len(runs) > 1 else []
    for number, items in enumerate(runs.values()):
        items = [*early, *items] if number == 0 else items
        if len(items) == 1 or _asks_twice(items):
            yield from items
            continue
        record = events_record([item.value for item in items])
        yield RecordAt(record, items[0].source, sum(item.size for item in items))


def _asks_twice(items: list[RecordAt]) -> bool:
    """Whether bare messages ask several questions: it cannot be told where a run ends."""
    asked = [item.value.get("content") for item in items if item.value.get("role") == "user"]
    return len({text for text in asked if isinstance(text, str)}) > 1


@dataclass(slots=True)
class _Chains:
    """Calls of a model that wait for the call that goes on with them."""

    open: dict[int, RecordAt] = field(default_factory=dict)
    by_call: dict[str, int] = field(default_factory=dict)
    """Id of a tool call -> the chain that waits for its return."""
    count: int = 0

    def add(self, item: RecordAt) -> Iterator[RecordAt]:
        reply = reply_of(item.value)
        messages = item.value.get("messages")
        if reply is None or not isinstance(messages, list):
            yield item
            return
        earlier = {
            chain for one in messages for name in _call_ids(one) if (chain := self.by_call.get(name)) is not None
        }
        for chain in earlier:
            self.open.pop(chain, None)
        made = list(_call_ids(reply))
        if not made:
            yield item
            return
        self.count += 1
        self.open[self.count] = item
        self.by_call.update(dict.fromkeys(made, self.count))

    def rest(self) -> Iterator[RecordAt]:
        yield from self.open.values()


def reply_of(record: Record) -> Mapping[str, Any] | None:
    """The message with which a model replied, where a record keeps it in its response; None: it does not."""
    response = record.get("response")
    choices = response.get("choices") if isinstance(response, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return message if isinstance(message, Mapping) else None


def _call_ids(message: object) -> Iterator[str]:
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping) and isinstance(name := call.get("id"), str) and name:
            yield name
