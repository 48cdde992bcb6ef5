"""Lines of browser logs of which only what somebody reads is decoded: the rest stays JSON.

Most of such a line are lists of results, of which no reader wants more than their number, and pages that other rollouts
were shown, too. A line is taken like this only where it is as plain as can be: harmony messages of one part each, with
the fields of a record that was read before. Of any other this module says so, and the careful way is gone.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import orjson

from tracerank.readers.base import Record
from tracerank.readers.browser.events import (
    Conversation,
    LateMessages,
    ToolEvent,
    cursor_of,
    read_arguments,
    result_text,
)
from tracerank.readers.files.records import Problem, ReadLine, RecordAt, read_one
from tracerank.readers.values import TOOLS, cleaned, decoded_text, tool_of

_MESSAGES = "messages"
_FIELDS = frozenset(
    (
        *(_MESSAGES, "qid", "question_id", "id", "question", "query", "answer", "correct", "pass_rate", "dataset"),
        *("sample_id", "traj_idx", "seed", "candidate_answer", "final_answer", "reference_answer", "golden_answers"),
        *("latency_s", "error", "attempts", "status", "chunk_idx", "num_chunks"),
    )
)
"""Of records that nobody but the reader of browser logs asks for their messages."""
_SAMPLE = "sample_id"
"""Without it, records whose messages go on with each other's may be one run: ``files/model_calls.py``."""
_JSON_STARTS = ("[", "{")
_PATIENCE = 4
"""Lines that may be refused in vain."""
# What ``cursor_of`` finds, followed by one blank and then by what is no white space and certainly there.
_CURSOR = re.compile(rb'"\[([0-9]{1,18})\] (?=(?:[!#-\[\]-~\xc3-\xdf\xe4-\xe9]|\\u(?:00[c-f]|0[1-9a-f][0-9a-f]|201)))')
_NO_TEXT = b"null"


class _Part(msgspec.Struct, gc=False):
    """The only part of a message's content."""

    text: msgspec.Raw = msgspec.Raw(_NO_TEXT)


class _Message(msgspec.Struct, gc=False):
    """A harmony message; anything else that a field may hold is refused."""

    role: Literal["assistant", "tool", "user", "system", "developer"]
    content: tuple[_Part]
    recipient: str | None = None
    channel: Literal["analysis", "commentary", "final"] | None = None
    name: str | None = None
    tool_calls: None = None
    tool_call_id: None = None


class UnreadMessages(LateMessages):
    """The messages of one record, their texts still JSON."""

    __slots__ = ("_messages",)

    def __init__(self, messages: list[_Message]) -> None:
        self._messages = messages

    def conversation(self) -> Conversation:
        calls: list[ToolEvent] = []
        call: _Call | None = None
        question = final = last_plain = None
        for index, message in enumerate(self._messages):
            role = message.role
            if role == "assistant":
                recipient = message.recipient
                if recipient is not None and (tool := TOOLS.get(recipient) or tool_of(recipient)) is not None:
                    if call is not None:
                        calls.append(ToolEvent(len(calls), *call))
                    call = (tool, *_arguments(message), index)
                elif message.channel == "final":
                    final = message
                elif message.channel is None and (recipient is None or cleaned(recipient) in ("", "all")):
                    last_plain = message
            elif role == "tool":
                name = message.name
                if call is not None and (not name or (TOOLS.get(name) or tool_of(name)) == call[0]):
                    calls.append(_event(len(calls), call, index, message.content[0].text))
                    call = None
            elif role == "user" and not question:
                question = _text(message)
        if call is not None:
            calls.append(ToolEvent(len(calls), *call))
        answering = final or last_plain
        return Conversation(tuple(calls), question, None if answering is None else _text(answering))


def _text(message: _Message) -> str:
    return decoded_text(bytes(message.content[0].text))


def _arguments(message: _Message) -> tuple[Mapping[str, Any], bool]:
    """What ``read_arguments`` finds in the text of a call, quick for the common case: an object of JSON."""
    try:
        text = orjson.loads(bytes(message.content[0].text))
        value = orjson.loads(text)
    except ValueError:
        value = None
    return (value, True) if type(value) is dict else read_arguments(_text(message))


_Call = tuple[str, Mapping[str, Any], bool, int]
"""Tool, arguments, whether they could be read, and index of a call that waits for its return."""


def _event(number: int, call: _Call, index: int, unread: msgspec.Raw) -> ToolEvent:
    """A call with what the message at ``index`` returned, of which only the cursor is read where that is plain."""
    tool, arguments, are_read, called_at = call
    found = _CURSOR.match(unread)
    if found is None:
        text = result_text(decoded_text(bytes(unread)))
        return ToolEvent(number, tool, arguments, are_read, called_at, index, cursor_of(text), text)
    shown = b"" if tool == "search" else bytes(memoryview(unread)[found.end() :])
    return ToolEvent(number, tool, arguments, are_read, called_at, index, int(found[1]), shown)


def unread_lines(record: Record) -> ReadLine | None:
    """How lines with the fields of this record may be read; None: as any other."""
    return _UnreadLines(tuple(record)).read if _SAMPLE in record and _FIELDS.issuperset(record) else None


class _UnreadLines:
    """Reads lines with the same fields; those that are not plain are read as others are."""

    def __init__(self, fields: tuple[str, ...]) -> None:
        self._fields = frozenset(fields)
        self._others = tuple(name for name in fields if name != _MESSAGES)
        kinds = [(name, msgspec.Raw) for name in self._others]
        line = msgspec.defstruct("Line", [*kinds, (_MESSAGES, list[_Message])], forbid_unknown_fields=True)
        self._decode = msgspec.json.Decoder(line).decode
        self._left = _PATIENCE

    def read(self, line: bytes, source: str) -> RecordAt | Problem:
        """The line as a record."""
        if not self._left:
            return read_one(line, source)
        try:
            found = self._record(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            found = None
        if found is not None:
            return RecordAt(found, source, len(line))
        item = read_one(line, source)
        # After one with other fields, or none at all, the format is asked for again, of records as they are.
        is_alike = isinstance(item, RecordAt) and item.value.keys() == self._fields
        self._left = self._left - 1 if is_alike else 0
        return item

    def _record(self, line: bytes) -> dict[str, Any] | None:
        decoded: Any = self._decode(line)
        record = {name: orjson.loads(bytes(getattr(decoded, name))) for name in self._others}
        # Such a text may be a dump, around which the record is only a wrapping.
        if any(type(value) is str and value.startswith(_JSON_STARTS) for value in record.values()):
            return None
        messages = decoded.messages
        if not _calls_a_browser(messages):
            return None
        record[_MESSAGES] = UnreadMessages(messages)
        return record


def _calls_a_browser(messages: list[_Message]) -> bool:
    for message in messages:
        recipient = message.recipient
        if recipient is not None and tool_of(recipient) and "browser" in recipient.lower():
            return True
    return False
