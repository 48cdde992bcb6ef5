"""A chat model that follows a script by the number of the reply within its conversation; safe to share by threads."""

import threading
from collections.abc import Callable, Sequence

from tracerank.endpoints.chat import ChatMessage, ChatReply, ChatTool, EmptyReply, Sampling, ToolCall
from tracerank.errors import ChatError

Said = str | ChatReply | Exception
Script = Callable[[Sequence[ChatMessage], Sampling], Said]

PROMPT_TOKENS, COMPLETION_TOKENS = 10, 3
"""What a reply that is mere text costs."""


class ScriptedChat:
    """Says what the script says, raises what it holds, and remembers the requests."""

    def __init__(self, script: Script, name: str = "scripted") -> None:
        self.name = name
        self.conversations: list[tuple[ChatMessage, ...]] = []
        self.samplings: list[Sampling] = []
        self.offered: list[tuple[str, ...]] = []
        """Names of the tools of each request."""
        self._script = script
        self._lock = threading.Lock()

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        with self._lock:
            self.conversations.append(tuple(messages))
            self.samplings.append(sampling)
            self.offered.append(tuple(tool.name for tool in tools))
        said = self._script(messages, sampling)
        if isinstance(said, Exception):
            raise said
        return ChatReply(said, PROMPT_TOKENS, COMPLETION_TOKENS) if isinstance(said, str) else said


def in_turn(*replies: Said) -> ScriptedChat:
    """The same replies in every conversation; the last one again and again."""
    return ScriptedChat(lambda messages, sampling: replies[min(turn_of(messages), len(replies) - 1)])


def turn_of(messages: Sequence[ChatMessage]) -> int:
    """Replies that the conversation holds already."""
    return sum(message.role == "assistant" for message in messages)


def calling(*calls: tuple[str, str], text: str = "") -> ChatReply:
    """A reply that calls tools: name and arguments; a server that gives every call the same id."""
    return ChatReply(
        text, PROMPT_TOKENS, COMPLETION_TOKENS, tool_calls=tuple(ToolCall("same", name, given) for name, given in calls)
    )


def silent() -> EmptyReply:
    """A reply that says nothing but was paid for."""
    return EmptyReply("scripted: the model said nothing", ChatReply("", PROMPT_TOKENS, COMPLETION_TOKENS))


def failed() -> ChatError:
    """A request that failed for good."""
    return ChatError("scripted: gave up after 3 attempts")


class FakeChat:
    """Replies by a rule on the last message; remembers what it was asked."""

    def __init__(self, rule: Callable[[str], str | ChatReply], name: str = "fake-chat") -> None:
        self.name = name
        self.asked: list[str] = []
        """The last message of each call."""
        self._rule = rule

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        self.asked.append(messages[-1].content)
        made = self._rule(self.asked[-1])
        words = sum(len(message.content.split()) for message in messages)
        return made if isinstance(made, ChatReply) else ChatReply(made, words, len(made.split()))
