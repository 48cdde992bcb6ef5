"""Lines of browser logs of which only what somebody reads is decoded: the rest stays JSON.

Most of such a line are lists of results, of which no reader wants more than their number, and pages that other rollouts
were shown, too. A line is taken like this where it has only fields that nobody but the reader of browser logs asks for,
and calls the browser in one of three ways: harmony messages of one part each; messages with other contents or with
OpenAI's tool calls; typed events. Of any other this module says so, and the careful way is gone.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, Literal, TypeVar

import msgspec
import orjson

from tracerank.readers.base import LateList, Record
from tracerank.readers.browser.events import (
    Conversation,
    LateMessages,
    ToolEvent,
    read_arguments,
    read_messages,
    read_typed_events,
    unread_view,
)
from tracerank.readers.files.records import Problem, ReadLine, RecordAt, read_one
from tracerank.readers.values import TOOLS, cleaned, decoded_text, tool_of

_MESSAGES, _EVENTS = "messages", "tool_events"
_OTHERS = (
    *("qid", "question_id", "id", "question", "query", "answer", "correct", "pass_rate", "dataset"),
    *("sample_id", "traj_idx", "seed", "candidate_answer", "final_answer", "reference_answer", "golden_answers"),
    *("latency_s", "error", "attempts", "status", "chunk_idx", "num_chunks"),
)
_FIELDS = frozenset((_MESSAGES, _EVENTS, *_OTHERS))
"""Of records that nobody but the reader of browser logs asks for their messages."""
_SAMPLE = "sample_id"
"""Without it, a record may be dropped because the next one goes on with it: ``files/model_calls.py``."""
_JSON_STARTS = ("[", "{")
_PATIENCE = 4
"""Lines in a row that may be refused in vain."""
_NOTHING = msgspec.Raw(b"null")
_ABSENT = msgspec.Raw(b"")
_QUOTE, _BRACKET = b'"['

# What formats that are asked earlier look for in the words of agents and users, and how JSON may hide it.
_OTHER_WORDS = ("<search>", "Calling tools:", "Error executing tool '")
_OTHER_SIGNS = (b"<", b"Calling tools:", b"Error executing tool '", b"\\u00")

_SPEAKERS = ("assistant", "user")
_THINKING = ("analysis", "commentary")

Role = Literal["assistant", "tool", "user", "system", "developer"]
Channel = Literal["analysis", "commentary", "final"]


class _Part(msgspec.Struct, gc=False):
    """A part of a message's content."""

    text: msgspec.Raw = _NOTHING
    content: msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct, gc=False):
    """A harmony message; anything else that a field may hold is refused."""

    role: Role
    content: tuple[_Part]
    recipient: str | None = None
    channel: Channel | None = None
    name: str | None = None
    tool_calls: None = None
    tool_call_id: None = None


class _Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: msgspec.Raw = _NOTHING


class _ToolCall(msgspec.Struct, gc=False):
    function: _Function
    id: str | int | None = None


class _AnyMessage(msgspec.Struct, gc=False, kw_only=True):
    """A message that may list its calls."""

    role: Role
    recipient: str | None = None
    channel: Channel | None = None
    name: str | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | int | None = None


class _PartedMessage(_AnyMessage, gc=False, kw_only=True):
    """Its content is any number of parts."""

    content: list[_Part]


class _LooseMessage(_AnyMessage, gc=False, kw_only=True):
    """Its content may be a text, parts or nothing."""

    content: msgspec.Raw


class _TypedEvent(msgspec.Struct, gc=False):
    """A typed event that says no more of itself than what was called and what came back."""

    event_id: int
    message_index: int
    tool_type: str
    arguments: msgspec.Raw = _NOTHING
    result: msgspec.Raw = _NOTHING
    result_cursor: int | None = None
    result_message_index: int | None = None
    arguments_valid: msgspec.UnsetType = msgspec.UNSET
    observation_parts: msgspec.UnsetType = msgspec.UNSET
    source_event_id: msgspec.UnsetType = msgspec.UNSET
    source_cursor: msgspec.UnsetType = msgspec.UNSET


_PARTS = msgspec.json.Decoder(list[_Part])
_Item = TypeVar("_Item")


class _UnreadList(LateMessages, Generic[_Item]):
    """The messages or events of one line."""

    __slots__ = ("_items", "_line")
    field = _MESSAGES

    def __init__(self, items: list[_Item], line: bytes) -> None:
        self._items = items
        self._line = line

    def may_begin(self, later: LateList) -> bool:
        if not isinstance(later, _UnreadList) or type(later) is not type(self):
            return True
        return len(self._items) <= len(later._items) and all(map(self._may_equal, self._items, later._items))

    def plain(self) -> list[Any]:
        read = read_one(self._line, "")
        listed: list[Any] = read.value[self.field] if isinstance(read, RecordAt) else []
        return listed

    def calls_a_browser(self) -> bool:
        """Whether the careful way would know the format by this list."""
        raise NotImplementedError

    def words(self) -> Iterable[bytes]:
        """The JSON of what agents and users say."""
        raise NotImplementedError

    @staticmethod
    def _may_equal(one: _Item, other: _Item) -> bool:
        raise NotImplementedError


class UnreadMessages(_UnreadList[_Message]):
    """Harmony messages of one part each, their texts still JSON."""

    __slots__ = ()

    def conversation(self) -> Conversation:
        calls: list[ToolEvent] = []
        call: _Call | None = None
        question = final = last_plain = None
        for index, message in enumerate(self._items):
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
                    tool, arguments, are_read, called_at = call
                    cursor, text = unread_view(tool, message.content[0].text)
                    calls.append(ToolEvent(len(calls), tool, arguments, are_read, called_at, index, cursor, text))
                    call = None
            elif role == "user" and not question:
                question = _text(message)
        if call is not None:
            calls.append(ToolEvent(len(calls), *call))
        answering = final or last_plain
        return Conversation(tuple(calls), question, None if answering is None else _text(answering))

    def calls_a_browser(self) -> bool:
        return any(_is_browser(message.recipient) for message in self._items)

    def words(self) -> Iterable[bytes]:
        return [bytes(message.content[0].text) for message in self._items if message.role in _SPEAKERS]

    @staticmethod
    def _may_equal(one: _Message, other: _Message) -> bool:
        return (
            one.role == other.role
            and one.recipient == other.recipient
            and one.channel == other.channel
            and one.name == other.name
            and _may_say_the_same(one.content[0].text, other.content[0].text)
        )


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


class _LooseMessages(_UnreadList[tuple[str, msgspec.Raw]]):
    """Messages of other shapes; all but what tools returned is decoded at once, for the line to be refused in time."""

    __slots__ = ("_calls_a_browser", "_read")

    def __init__(self, messages: list[_PartedMessage | _LooseMessage], line: bytes) -> None:
        texts = list(map(_only_text, messages))
        super().__init__([(message.role, text) for message, text in zip(messages, texts, strict=True)], line)
        self._read = list(map(_as_message, messages, texts))
        self._calls_a_browser = any(map(_names_a_browser, messages))

    def conversation(self) -> Conversation:
        return read_messages(self._read)

    def calls_a_browser(self) -> bool:
        return self._calls_a_browser

    def words(self) -> Iterable[bytes]:
        return [bytes(text) for role, text in self._items if role in _SPEAKERS]

    @staticmethod
    def _may_equal(one: tuple[str, msgspec.Raw], other: tuple[str, msgspec.Raw]) -> bool:
        return one[0] == other[0] and _may_say_the_same(one[1], other[1])


def _names_a_browser(message: _AnyMessage) -> bool:
    calls = message.tool_calls
    named = calls is not None and any(_is_browser(call.function.name) for call in calls)
    return named or _is_browser(message.recipient)


def _only_text(message: _PartedMessage | _LooseMessage) -> msgspec.Raw:
    """The JSON of a message's text, or null."""
    content = message.content
    if isinstance(content, list):
        return _joined(content, message)
    first = memoryview(content)[0]
    if first == _BRACKET:
        return _joined(_PARTS.decode(content), message)
    if first != _QUOTE and bytes(content) != b"null":
        raise ValueError("a content of another kind")
    return content


def _joined(parts: list[_Part], message: _AnyMessage) -> msgspec.Raw:
    """The JSON of what ``said_of`` or ``text_of`` makes of parts."""
    if len(parts) == 1:
        only = parts[0].text
        return only if memoryview(only)[0] == _QUOTE else _NOTHING
    speaks = message.role == "assistant" and tool_of(message.recipient) is None
    texts = [text if isinstance(text := orjson.loads(bytes(part.text)), str) else "" for part in parts]
    return msgspec.Raw(orjson.dumps(("" if speaks else "\n").join(texts)))


def _as_message(message: _AnyMessage, text: msgspec.Raw) -> dict[str, Any]:
    """What ``read_messages`` wants to know of a message with this text."""
    role = message.role
    if role == "tool":
        unread = memoryview(text)
        return {"role": role, "content": unread, "name": message.name, "tool_call_id": message.tool_call_id}
    if role == "user":
        return {"role": role, "content": orjson.loads(bytes(text))}
    if role != "assistant":
        return {"role": role}
    recipient, channel = message.recipient, message.channel
    if message.tool_calls:
        calls = [
            {"id": call.id, "name": call.function.name, "arguments": orjson.loads(bytes(call.function.arguments))}
            for call in message.tool_calls
        ]
        content = None if recipient is None else orjson.loads(bytes(text))
        return {"role": role, "content": content, "recipient": recipient, "channel": channel, "tool_calls": calls}
    if recipient is None and channel in _THINKING:
        return {"role": role, "channel": channel}
    content = orjson.loads(bytes(text))
    return {"role": role, "content": content, "recipient": recipient, "channel": channel}


class _TypedEvents(_UnreadList[_TypedEvent]):
    """Typed events; their results are still JSON."""

    __slots__ = ("_read",)
    field = _EVENTS

    def __init__(self, items: list[_TypedEvent], line: bytes) -> None:
        super().__init__(items, line)
        self._read = list(map(_as_event, items))

    def conversation(self) -> Conversation:
        return Conversation(read_typed_events(self._read), question=None, answer=None)

    def calls_a_browser(self) -> bool:
        return any(tool_of(event.tool_type) for event in self._items)

    def words(self) -> Iterable[bytes]:
        return ()

    @staticmethod
    def _may_equal(one: _TypedEvent, other: _TypedEvent) -> bool:
        return one.event_id == other.event_id and one.tool_type == other.tool_type


def _as_event(event: _TypedEvent) -> dict[str, Any]:
    result: memoryview | None = memoryview(event.result)
    if result is not None and result[0] != _QUOTE:
        if bytes(result) != b"null":
            raise ValueError("a result of another kind")
        result = None
    return {
        "event_id": event.event_id,
        "message_index": event.message_index,
        "tool_type": event.tool_type,
        "arguments": orjson.loads(bytes(event.arguments)),
        "result": result,
        "result_cursor": event.result_cursor,
        "result_message_index": event.result_message_index,
    }


def _is_browser(name: str | None) -> bool:
    return name is not None and tool_of(name) is not None and "browser" in name.lower()


def _may_say_the_same(one: msgspec.Raw, other: msgspec.Raw) -> bool:
    first, second = bytes(one), bytes(other)
    if first == second:
        return True
    try:
        return bool(orjson.loads(first) == orjson.loads(second))
    except ValueError:  # read otherwise where all is decoded
        return True


def _are_of_others(words: Iterable[bytes]) -> bool:
    """Whether a format that is asked earlier may claim a conversation because of what is said in it."""
    said = b",".join(words)  # one search instead of one a message
    for sign in _OTHER_SIGNS:
        if sign in said:
            texts = orjson.loads(b"[%b]" % said)
            return any(word in text for text in texts if isinstance(text, str) for word in _OTHER_WORDS)
    return False


def unread_lines(record: Record) -> ReadLine | None:
    """How lines like that of this record may be read; None: as any other."""
    return _UnreadLines().read if _FIELDS.issuperset(record) else None


def _line_of(field: str, kind: Any) -> Any:
    """What decodes lines with a list of this kind, beside any of the fields that we know."""
    others = [(name, msgspec.Raw, _ABSENT) for name in _OTHERS]
    return msgspec.json.Decoder(msgspec.defstruct("Line", [(field, list[kind]), *others], forbid_unknown_fields=True))


_KINDS: tuple[tuple[Any, type[_UnreadList[Any]]], ...] = (
    (_line_of(_MESSAGES, _Message), UnreadMessages),
    (_line_of(_MESSAGES, _PartedMessage), _LooseMessages),
    (_line_of(_MESSAGES, _LooseMessage), _LooseMessages),
    (_line_of(_EVENTS, _TypedEvent), _TypedEvents),
)


class _UnreadLines:
    """Reads lines with fields that we know; those of other shapes are read as others are."""

    def __init__(self) -> None:
        self._kinds = list(_KINDS)
        self._left = _PATIENCE
        self._known: frozenset[str] | None = None
        """Fields of the line before, if that was taken: then ``detect.py`` asks no other format about the next."""

    def read(self, line: bytes, source: str) -> RecordAt | Problem:
        """The line as a record."""
        if not self._left:
            return read_one(line, source)
        record = self._record(line)
        if record is None:
            self._left -= 1
            self._known = None
            return read_one(line, source)
        self._left = _PATIENCE
        self._known = frozenset(record)
        return RecordAt(record, source, len(line))

    def _record(self, line: bytes) -> dict[str, Any] | None:
        for place, (decoder, kind) in enumerate(self._kinds):
            try:
                decoded: Any = decoder.decode(line)
            except msgspec.ValidationError:
                continue
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return None
            if place:  # most lines of a file are of one kind
                self._kinds.insert(0, self._kinds.pop(place))
            try:
                return self._taken(decoded, kind, line)
            except (msgspec.MsgspecError, ValueError, RecursionError, orjson.JSONEncodeError):
                return None
        return None

    def _taken(self, decoded: Any, kind: type[_UnreadList[Any]], line: bytes) -> dict[str, Any] | None:
        record: dict[str, Any] = {}
        for name in _OTHERS:
            unread = getattr(decoded, name)
            if unread is not _ABSENT:
                record[name] = orjson.loads(bytes(unread))
        # Such a text may be a dump, around which the record is only a wrapping.
        if any(type(value) is str and value.startswith(_JSON_STARTS) for value in record.values()):
            return None
        listed = kind(getattr(decoded, kind.field), line)
        record[kind.field] = listed  # the last one, for what costs most to be compared last
        if not listed.calls_a_browser():
            return None
        is_known = record.keys() == self._known and _SAMPLE in record
        return record if is_known or not _are_of_others(listed.words()) else None
