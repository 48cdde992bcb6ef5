"""The seam to chat models: messages in, a reply out, and a fake that needs no model.

Sends nothing itself; ``chat_http.py`` talks to servers.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tracerank.errors import ChatError


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation."""

    role: str
    """``system``, ``user`` or ``assistant``."""
    content: str


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One token of a reply and its natural log probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model said, and what it cost."""

    text: str
    prompt_tokens: int | None = None
    """None: the server does not count."""
    completion_tokens: int | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    """Of each token of the text; None: not asked for or not given."""


class ChatModel(Protocol):
    """A model that continues a conversation."""

    @property
    def name(self) -> str:
        """Identity of the replies: they may be kept under this name."""
        ...

    def reply(
        self, messages: Sequence[ChatMessage], *, max_tokens: int, temperature: float = 0.0, seed: int | None = None
    ) -> ChatReply:
        """The reply; raises ``ChatError`` when there is none."""
        ...


class FakeChat:
    """Replies by a rule, the same to the same messages; remembers what it was asked."""

    def __init__(self, rule: Callable[[str], str] | None = None, name: str = "fake-chat") -> None:
        self.name = name
        self.asked: list[str] = []
        """The last message of each call."""
        self._rule = rule or _digest

    def reply(
        self, messages: Sequence[ChatMessage], *, max_tokens: int, temperature: float = 0.0, seed: int | None = None
    ) -> ChatReply:
        if not messages:
            raise ChatError(f"{self.name}: nothing was asked")
        asked = messages[-1].content
        self.asked.append(asked)
        text = " ".join(self._rule(asked).split(" ")[:max_tokens])
        return ChatReply(text, sum(len(message.content.split()) for message in messages), len(text.split()))


def _digest(asked: str) -> str:
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:8]
