"""OpenAI chat messages with tool calls: current and legacy spelling, parallel calls, AggAgent's rows.

Reads messages only; the fields around them are read in ``chat_records.py``. Reasoning is not evidence and is ignored.
gpt-oss browser transcripts have a reader of their own, which knows cursors.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracerank.readers.base import Parsed, Record, reject
from tracerank.readers.calls.record_fields import Dialogue, decoded, parsed_dialogue, question_of, sample_id_of
from tracerank.readers.calls.results import cited_results
from tracerank.readers.calls.tool_calls import ToolCall, clean_name, kind_of_call, parse_arguments, submitted_answer
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.formats.search_r1 import SearchR1Reader
from tracerank.readers.formats.webqa import WebQAReader
from tracerank.readers.values import cleaned, text_of, whole_number

MESSAGE_FIELDS = ("messages", "conversation", "conversations", "trajectory", "rollout", "history", "completion")
_SPECIFIC = (CanonicalReader(), WebQAReader(), SearchR1Reader(), BrowsingReader())
_NO_CALLEES = ("", "all", "assistant", "user")
_UNSPOKEN = ("analysis", "commentary")


class ChatReader:
    """One rollout a record, a list of chat messages."""

    name = "openai-chat"

    def recognises(self, record: Record) -> bool:
        """By a tool call in its messages, unless a more specific format claims it."""
        if not isinstance(record, Mapping):
            return False
        values = (record.get(name) for name in MESSAGE_FIELDS)
        return any(_holds_calls(value) for value in values) and not any(one.recognises(record) for one in _SPECIFIC)

    def parse(self, record: Record, source: str) -> Parsed:
        """The messages as a rollout; the answer is extracted from the last message without a call."""
        plain = decoded(record)
        messages = _messages(plain)
        if messages is None:
            fields = ", ".join(MESSAGE_FIELDS)
            reject(f"no messages: expected a list in one of {fields}", question_of(plain), sample_id_of(plain))
        return parsed_dialogue(plain, source, read_chat(messages))


def is_conversation(record: Record) -> bool:
    """Whether the record holds messages in which somebody asks and an assistant answers, with or without tools."""
    messages = _messages(decoded(record)) or ()
    roles = {cleaned(message.get("role")) for message in messages if isinstance(message, Mapping)}
    return {"user", "assistant"} <= roles


class _Made(NamedTuple):
    """A call as logged."""

    id: str | None
    name: str
    arguments: object


class _Waiting:
    """Calls that have not returned yet, by their place in the transcript."""

    def __init__(self) -> None:
        self._by_id: dict[str, int] = {}
        self._latest: dict[int, str] = {}  # those of the latest message, with their clean names

    def add(self, made: Sequence[_Made], start: int) -> None:
        # Without ids a return answers the message right before it; older calls stay unanswered.
        self._latest = {place: clean_name(call.name) for place, call in enumerate(made, start)}
        self._by_id.update((call.id, place) for place, call in enumerate(made, start) if call.id is not None)

    def answered_by(self, message: Mapping[str, Any]) -> int | None:
        """The call that a return answers, no longer waiting: by id, else in order, by name where one is given."""
        call_id = _id(message.get("tool_call_id", message.get("call_id")))
        if call_id is not None and self._by_id:
            place = self._by_id.pop(call_id, None)
        else:
            name = clean_name(message.get("name"))
            place = next((place for place, called in self._latest.items() if not name or called == name), None)
        if place is not None:
            self._latest.pop(place, None)
        return place


def read_chat(messages: Sequence[object]) -> Dialogue:
    """Calls with their returns, the first user text and the final text of chat messages."""
    calls: list[ToolCall] = []
    waiting = _Waiting()
    asked: str | None = None
    final: str | None = None
    for message in messages:
        if not isinstance(message, Mapping):
            continue
        role = cleaned(message.get("role"))
        if role == "assistant":
            made = list(_calls(message))
            if made:
                waiting.add(made, len(calls))
                calls += (ToolCall(call.name, parse_arguments(call.arguments)) for call in made)
                final = _final_of_calls(calls[-len(made) :], final)
            elif cleaned(message.get("channel")) not in _UNSPOKEN:
                said = text_of(message.get("content"))
                final = said if said.strip() else final
                if cited := cited_results(said, message.get("annotations")):
                    calls.append(ToolCall("web_search", results=cited, kind="search"))
        elif role in ("tool", "function"):
            place = waiting.answered_by(message)
            if place is not None:
                calls[place] = _returned(calls[place], message)
        elif role == "user" and not asked:
            asked = text_of(message.get("content"))
    return Dialogue(tuple(calls), asked, final)


def _final_of_calls(made: Sequence[ToolCall], final: str | None) -> str | None:
    """What counts as the final text once these calls were made."""
    submitted = [answer for call in made if (answer := submitted_answer(call)) is not None]
    if submitted:
        return submitted[-1]
    # Words before further research are a plan, not the answer.
    return final if all(kind_of_call(call.name, call.arguments) == "other" for call in made) else None


def _messages(record: Record) -> list[Any] | None:
    for name in MESSAGE_FIELDS:
        value = record.get(name)
        if isinstance(value, list) and any(isinstance(message, Mapping) and "role" in message for message in value):
            prompt = record.get("prompt")
            return [*prompt, *value] if name == "completion" and isinstance(prompt, list) else value
    return None


def _holds_calls(messages: object) -> bool:
    if isinstance(messages, str):  # a JSON column: decoding it here would cost as much as reading it
        is_chat = messages[:1] == "[" and '"role"' in messages
        return is_chat and ('"tool_calls"' in messages or '"function_call"' in messages)
    return isinstance(messages, list) and any(_makes_calls(message) for message in messages)


def _makes_calls(message: object) -> bool:
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        return False
    cited = message.get("annotations")
    return next(_calls(message), None) is not None or (isinstance(cited, list) and bool(cited_results("", cited)))


def _calls(message: Mapping[str, Any]) -> Iterator[_Made]:
    for call, function in _functions(message):
        arguments = function.get("arguments", function.get("input"))
        yield _Made(_id(call.get("id")), str(function["name"]), arguments)
    callee = message.get("recipient")
    if isinstance(callee, str) and cleaned(callee) not in _NO_CALLEES:
        yield _Made(None, callee, text_of(message.get("content")))


def _functions(message: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The calls of a message with what each says about its function."""
    listed = message.get("tool_calls")
    legacy = message.get("function_call")
    for call in (*(listed if isinstance(listed, list) else ()), {"function": legacy}):
        if isinstance(call, Mapping):
            inner = call.get("function", call.get("custom"))
            function = inner if isinstance(inner, Mapping) else call
            if isinstance(function.get("name"), str):
                yield call, function


def _id(value: object) -> str | None:
    number = whole_number(value)
    return str(number) if number is not None else value or None if isinstance(value, str) else None


def _returned(call: ToolCall, message: Mapping[str, Any]) -> ToolCall:
    is_error = message.get("is_error") is True or message.get("status") == "error"
    return ToolCall(call.name, call.arguments, message.get("content"), is_error)
