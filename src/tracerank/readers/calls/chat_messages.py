"""Chat messages with tool calls to a dialogue: current and legacy spelling, parallel calls, calls by recipient.

Reads a list of messages, wherever it was found: the chat format, other formats spelled as one, the spans of a trace.
Knows no record and no fields around the messages. Reasoning is not evidence and is ignored.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracerank.readers.assemble import Dialogue
from tracerank.readers.chat_turns import Turns
from tracerank.readers.results import cited_results
from tracerank.readers.sources.loose_json import load_json
from tracerank.readers.tools import ToolCall, clean_name, is_underway, parse_arguments, submitted_answer
from tracerank.readers.values import cleaned, content_of, said_of, text_of, whole_number

_NO_CALLEES = ("", "all", "assistant", "user")
_ALL_DONE = "TERMINATE"
"""With which an agent says that it has answered."""
_UNSPOKEN = ("analysis", "commentary")


_ERROR_FLAGS = ("is_error", "tool_call_error", "isError")


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
    turns = Turns()
    final: str | None = None
    for message in _as_the_agent_saw(messages):
        role = cleaned(message.get("role"))
        if role == "assistant":
            turns.reply()
            made = list(_calls(message))
            if made:
                waiting.add(made, len(calls))
                calls += (ToolCall(call.name, parse_arguments(call.arguments)) for call in made)
                final = _final_of_calls(calls[-len(made) :], final)
            elif cleaned(message.get("channel")) not in _UNSPOKEN:
                said = said_of(content_of(message))
                final = said if said.strip() else final
                if cited := cited_results(said, message.get("annotations")):
                    calls.append(ToolCall("web_search", results=cited, kind="search"))
        elif role in ("tool", "function"):
            place = waiting.answered_by(message)
            if place is not None:
                calls[place] = _returned(calls[place], message)
        elif role == "user" and (not calls or turns.question is None):
            turns.ask(text_of(content_of(message)))
    return Dialogue(tuple(calls), turns.question, final)


def _as_the_agent_saw(messages: Sequence[object]) -> Iterator[Mapping[str, Any]]:
    """The messages with each return apart, and with roles turned round where the asker logged them as his own."""
    found = [message for message in messages if isinstance(message, Mapping)]
    spoken = [message for message in found if cleaned(message.get("role")) in ("user", "assistant")]
    # Who opens as the assistant and hears the last word from the user is the one who asked.
    is_turned = (
        len(spoken) > 1
        and cleaned(spoken[0].get("role")) == "assistant"
        and not makes_calls(spoken[0])
        and cleaned(spoken[-1].get("role")) == "user"
    )
    agents = {name for message in found if makes_calls(message) and isinstance(name := message.get("name"), str)}
    names = [message.get("name") for message in spoken]
    if len(names) > 1 and all(isinstance(name, str) for name in names) and not any(map(_is_assistant, spoken)):
        agents |= {str(name) for name in names} - {str(names[0])}  # whoever asked speaks first
    for message in found:
        if isinstance(apart := message.get("tool_responses"), list) and apart:
            yield from ({"role": "tool", **one} for one in apart if isinstance(one, Mapping))
        elif cleaned(message.get("role")) == "user" and str(message.get("name")) in agents:
            yield {**message, "role": "assistant"}  # in a group, all that others say is logged as the user's
        elif is_turned and cleaned(message.get("role")) == "user":
            said = said_of(message.get("content")).rstrip().removesuffix(_ALL_DONE).rstrip()
            yield {**message, "role": "assistant", "content": said}
        elif is_turned and cleaned(message.get("role")) == "assistant" and not makes_calls(message):
            yield {**message, "role": "user"}
        else:
            yield message


def _is_assistant(message: Mapping[str, Any]) -> bool:
    return cleaned(message.get("role")) == "assistant"


def makes_calls(message: object) -> bool:
    """Whether the agent calls a tool in this message, or cites what a hosted one found."""
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        return False
    cited = message.get("annotations")
    return next(_calls(message), None) is not None or (isinstance(cited, list) and bool(cited_results("", cited)))


def _final_of_calls(made: Sequence[ToolCall], final: str | None) -> str | None:
    """What counts as the final text once these calls were made."""
    submitted = [answer for call in made if (answer := submitted_answer(call)) is not None]
    if submitted:
        return submitted[-1]
    # Words before further research are a plan, not the answer.
    return None if any(is_underway(call.name, call.arguments) for call in made) else final


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
        if isinstance(call, str) and call[:1] == "{":  # tables keep calls whose arguments differ as JSON
            call = load_json(call)
        if isinstance(call, Mapping):
            inner = call.get("function", call.get("custom"))
            function = inner if isinstance(inner, Mapping) else call
            if isinstance(function.get("name"), str):
                yield call, function


def _id(value: object) -> str | None:
    number = whole_number(value)
    return str(number) if number is not None else value or None if isinstance(value, str) else None


def _returned(call: ToolCall, message: Mapping[str, Any]) -> ToolCall:
    is_error = message.get("status") == "error" or any(message.get(name) is True for name in _ERROR_FLAGS)
    return ToolCall(call.name, call.arguments, message.get("content"), is_error)
