"""The seam to chat models: turns of a conversation in, a reply out.

Sends nothing itself; ``chat_http.py`` talks to servers.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tracerank.errors import ChatError


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a model asks for."""

    id: str
    """What the tool's return refers to."""
    name: str
    arguments: str
    """JSON as the model wrote it, perhaps malformed."""

    @property
    def values(self) -> dict[str, Any] | None:
        """The arguments, decoded once more if they were encoded twice; None: no JSON object."""
        value: Any = self.arguments or "{}"
        try:
            for _ in range(2):
                value = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


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
    reasoning: str = ""
    """Of an assistant: what it thought apart from its words; thinking inside the content stays there."""


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

    @classmethod
    def total(cls, counts: "Iterable[Usage | None]") -> "Usage | None":
        """The sum of those that are known; None: none is."""
        known = [one for one in counts if one is not None]
        return sum(known[1:], start=known[0]) if known else None


VERDICT_TOKENS = 4096
"""Of a reply that is to be a word or a number: room for a model that thinks before it says it."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put what a model thought: llama.cpp, DeepSeek and LiteLLM; vLLM, Ollama and OpenRouter."""


def message_to_record(message: ChatMessage) -> dict[str, Any]:
    """The turn as a chat server takes it and as files keep it."""
    record: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning:
        record[REASONING_FIELDS[0]] = message.reasoning
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
        text_in(record.get("content")),
        _tool_calls(record.get("tool_calls")),
        identity if isinstance(identity, str) else None,
        reasoning_in(record),
    )


def text_in(content: object) -> str:
    """The text of a turn's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def reasoning_in(record: Mapping[str, Any]) -> str:
    """What was thought apart from the content; some servers say the same under two names, some in parts of it."""
    named = next((text for name in REASONING_FIELDS if (text := text_in(record.get(name)))), "")
    content = record.get("content")
    parts = content if not named and isinstance(content, list) else []
    return named or "".join(text_in(part.get("thinking")) for part in parts if isinstance(part, dict))


_OPENS, _CLOSES = "<think>", "</think>"


def spoken(text: str) -> str:
    """What follows the thinking, where a server leaves that in the text; nothing, where it never ends."""
    said = text.rpartition(_CLOSES)[2]
    return said.partition(_OPENS)[0] if said.lstrip().startswith(_OPENS) else said


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


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float | None = None
    """None: the server's own."""
    seed: int | None = None
    """None: the server's own, another each time."""
    stop: tuple[str, ...] = ()
    """Texts that end the reply; servers leave them out of it."""
    top_logprobs: int = 0
    """How many likely tokens the server lists for each token of the reply; 0: none."""
    one_call: bool = False
    """The reply calls one tool at most, where the server can be asked for that."""


@dataclass(frozen=True, slots=True)
class ChatTool:
    """A function that the model may ask to have called."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of its arguments."""


def text_argument(description: str) -> dict[str, Any]:
    """JSON schema of an argument that is text."""
    return {"type": "string", "description": description}


def number_argument(description: str) -> dict[str, Any]:
    """JSON schema of an argument that is a whole number."""
    return {"type": "integer", "description": description}


def arguments_schema(required: Sequence[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """JSON schema of a tool's arguments."""
    return {"type": "object", "properties": properties, "required": list(required)}


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token of a reply and its natural log probability."""

    token: str
    logprob: float
    likely: tuple["TokenLogprob", ...] = ()
    """The likeliest alternatives, the token itself among them; empty: not asked for or not given."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model said, and what it cost."""

    text: str
    prompt_tokens: int | None = None
    """None: the server does not count."""
    completion_tokens: int | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    """Of each token of the text; None: not asked for or not given."""
    tool_calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False
    """The reply ended at ``max_tokens``, not where the model wanted."""
    reasoning: str = ""
    """What the model thought apart from its words, where the server parts them; its tokens are counted as written."""

    @property
    def spoken(self) -> str:
        """The text without the thinking that a server may leave in it."""
        return spoken(self.text)

    @property
    def usage(self) -> Usage | None:
        """What the reply cost; None: the server does not count."""
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return Usage(self.prompt_tokens, self.completion_tokens)


class EmptyReply(ChatError):
    """The model said nothing and called no tool: nothing can be concluded, but it was asked and it cost."""

    def __init__(self, message: str, reply: ChatReply) -> None:
        super().__init__(message)
        self.reply = reply


class PromptTooLong(ChatError):
    """The conversation does not fit the model's context: only another conversation can help."""


class ChatModel(Protocol):
    """A model that continues a conversation."""

    @property
    def name(self) -> str:
        """Identity of the replies: they may be kept under this name."""
        ...

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        """The reply; raises ``ChatError`` when there is none, ``EmptyReply`` when it says nothing."""
        ...


Item = TypeVar("Item")
Made = TypeVar("Made")


def tried(ask: Callable[[Item], Made]) -> Callable[[Item], Made | ChatError]:
    """What comes of asking about one item, or why that failed; raises where no other item can fare better."""

    def attempt(item: Item) -> Made | ChatError:
        try:
            return ask(item)
        except ChatError as error:
            if error.ends_all:
                raise
            return error

    return attempt


def sendable(text: str) -> str:
    """The text as JSON can carry it: half surrogate pairs become U+FFFD, and nothing becomes a space."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") or " "


def estimated_tokens(text: str) -> int:
    """A third of the UTF-8 bytes, rounded up: above the true count for most languages and tokenizers."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)
