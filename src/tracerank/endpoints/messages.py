"""Turns of a conversation with a chat model, and the form in which OpenAI-compatible servers and files hold them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish to have a tool used."""

    id: str
    """What the tool's return refers to."""
    name: str
    arguments: str
    """JSON as the model wrote it, perhaps malformed."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation."""

    role: str
    """``system``, ``user``, ``assistant`` or ``tool``."""
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant."""
    tool_call_id: str | None = None
    """Of a tool's return: the call that it answers."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the tokens of a rollout or of an aggregation were."""

    prompt_tokens: int
    completion_tokens: int
    calls: int = 1
    """Requests to a model."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
        )


def message_to_record(message: ChatMessage) -> dict[str, Any]:
    """The turn as a chat server takes it."""
    record: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        record["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        record["tool_call_id"] = message.tool_call_id
    return record


def record_to_message(record: Mapping[str, Any]) -> ChatMessage:
    """The turn that a server or a file holds, whatever of it can be understood."""
    role, identity = record.get("role"), record.get("tool_call_id")
    return ChatMessage(
        role if isinstance(role, str) else "user",
        _text(record.get("content")),
        _tool_calls(record.get("tool_calls")),
        identity if isinstance(identity, str) else None,
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _tool_calls(given: object) -> tuple[ToolCall, ...]:
    """The calls that name a tool; some servers send no id, some send the arguments as an object."""
    made = []
    for index, call in enumerate(given if isinstance(given, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        identity, arguments = call.get("id"), function.get("arguments")
        written = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
        made.append(ToolCall(identity if isinstance(identity, str) else f"call_{index}", function["name"], written))
    return tuple(made)
