"""The roles that speakers of a chat really have: the side that logs it may log itself as the agent, others as users."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracerank.readers.hosted import cited_in
from tracerank.readers.shapes import call_of
from tracerank.readers.values import cleaned, said_of
from tracerank.readers.vocabulary import plain_fields

_ALL_DONE = "TERMINATE"
"""With which an agent says that it has answered."""
_SPEAKERS = ("user", "assistant")


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


def as_the_agent_saw(messages: Sequence[Any]) -> Sequence[Any]:
    """The messages, with roles turned round where the asker logged them as its own."""
    spoken = [one for one in messages if isinstance(one, Mapping) and _role(one) in _SPEAKERS]
    if len(spoken) < 2:
        return messages
    # Who opens as the assistant and hears the last word from the user is the one who asked.
    first, last = spoken[0], spoken[-1]
    is_turned = (_role(first), _role(last)) == ("assistant", "user") and _speaks(first) and _speaks(last)
    named = [str(one["name"]) for one in spoken if isinstance(one.get("name"), str)]
    agents: set[str] = set()
    if named:  # in a group, all that others say is logged as the user's
        agents = {str(one["name"]) for one in spoken if isinstance(one.get("name"), str) and makes_calls(one)}
        if len(named) == len(spoken) and all(_role(one) == "user" for one in spoken):
            agents |= {*named} - {named[0]}  # the user speaks first
    if not is_turned and not agents:
        return messages
    return [_turned(one, agents, is_turned) if isinstance(one, Mapping) else one for one in messages]


def _turned(message: Mapping[str, Any], agents: set[str], is_turned: bool) -> Mapping[str, Any]:
    role = _role(message)
    if role == "user" and message.get("name") in agents:
        return {**message, "role": "assistant"}
    if is_turned and role == "user":
        said = said_of(message.get("content")).rstrip().removesuffix(_ALL_DONE).rstrip()
        return {**message, "role": "assistant", "content": said}
    return {**message, "role": "user"} if is_turned and role == "assistant" and not makes_calls(message) else message


def _speaks(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("content"), str) and not makes_calls(message)


def _role(message: Mapping[str, Any]) -> str:
    return cleaned(message.get("role"))
