"""Chat messages to a dialogue, with the roles that speakers really have: who logs a chat may log himself as the agent.

The messages are read by the walk, wherever they were found: in records, in other formats spelled as chats, in spans.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracerank.readers.assemble import Dialogue, dialogue_of
from tracerank.readers.hosted import cited_in
from tracerank.readers.shapes import call_of
from tracerank.readers.values import cleaned, said_of
from tracerank.readers.vocabulary import plain_fields
from tracerank.readers.walk import events_of

_ALL_DONE = "TERMINATE"
"""With which an agent says that it has answered."""


def read_chat(messages: Sequence[object]) -> Dialogue:
    """Calls with their returns, the first user text and the final text of chat messages."""
    return dialogue_of(events_of(list(as_the_agent_saw(messages))))


def makes_calls(message: object) -> bool:
    """Whether the agent calls a tool in this message, or cites what a hosted one found."""
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        return False
    if message.get("tool_calls") or message.get("function_call") or message.get("recipient"):
        found = [message.get("function_call"), *_listed(message.get("tool_calls"))]
        return any(map(_is_call, found)) or call_of(plain_fields({**message, "tool_calls": None}), "agent") is not None
    return bool(message.get("annotations")) and bool(cited_in("", message))


def _is_call(value: object) -> bool:
    if isinstance(value, str):
        return value[:1] == "{"  # tables keep calls whose arguments differ as JSON
    return isinstance(value, Mapping) and call_of(plain_fields(value), "agent") is not None


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_the_agent_saw(messages: Sequence[object]) -> Iterator[Mapping[str, Any]]:
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
        agents |= {str(name) for name in names} - {str(names[0])}  # the user speaks first
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
