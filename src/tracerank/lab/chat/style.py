"""The seam between a rollout's loop and how its model is spoken to: what is said, what is heard, what is read of it.

A style is shared by all rollouts; what one rollout remembers (a browser's pages) is in its session.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tracerank.endpoints.chat import ChatMessage, ChatReply, ChatTool, ToolCall
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.tools.ranked_search import CHUNKS, print_ranked
from tracerank.pools.types import Search, View


def ranked_return(retriever: Retriever, query: str, characters: int) -> str:
    """The best passages for a query, disarmed, in about so many characters."""
    passages = retriever.search(query, CHUNKS)
    text = print_ranked(passages)
    if len(text) <= characters:
        return text
    return print_ranked([_shortened(passage, characters // CHUNKS) for passage in passages])


def _shortened(passage: Passage, characters: int) -> Passage:
    title = _cut(passage.title, characters // 2)
    return replace(passage, title=title, text=_cut(passage.text, characters - len(title)))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: max(0, characters - 1)].rstrip()}…"


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply, understood."""

    message: ChatMessage
    """The reply as it stays in the conversation, with the first call at most."""
    calls: tuple[ToolCall, ...] = ()
    """What the model wants done, in order."""
    is_final: bool = False
    """It answers; otherwise, without calls, it is a miss."""
    reminder: str = ""
    """What the model hears about a miss."""
    is_hidden: bool = False
    """The model is not shown its reply again: small ones copy what they wrote, however it was answered."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a conversation comes down to, as our own reader of its format sees it."""

    answer: str | None = None
    searches: tuple[Search, ...] = ()
    views: tuple[View, ...] = ()


class Session(Protocol):
    """One rollout's side of the conversation."""

    def hear(self, reply: ChatReply, is_last: bool = False) -> Heard:
        """What a reply that is not empty means; once the answer was demanded, nothing can be called any more."""
        ...

    def answer(self, heard: Heard, calls_left: int) -> tuple[ChatMessage, ...]:
        """The turns that follow a reply that was not final; calls beyond those left are refused."""
        ...


class Style(Protocol):
    """A way to speak to a chat model."""

    @property
    def name(self) -> str: ...

    @property
    def setting(self) -> str:
        """Of the rollouts: ``webqa`` or ``browsing``."""
        ...

    @property
    def tools(self) -> tuple[ChatTool, ...]:
        """What is offered with every request but the last."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Texts at which a reply ends."""
        ...

    @property
    def prompts(self) -> tuple[str, ...]:
        """Every text that the model is given by us, for the identity of what is sampled."""
        ...

    def opening(self, question: str) -> tuple[ChatMessage, ...]:
        """The conversation before the first reply."""
        ...

    def session(self, question: str, return_characters: int) -> Session:
        """A new rollout, whose tool returns show about so much."""
        ...

    def last_turn(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """The conversation with the demand for an answer at its end."""
        ...

    def read(self, question: str, messages: Sequence[ChatMessage]) -> Reading:
        """Searches, evidence and answer of a finished conversation."""
        ...


def demanding(messages: Sequence[ChatMessage], demand: str) -> tuple[ChatMessage, ...]:
    """The conversation with a demand in the user's last turn, or in a new one where somebody else spoke last."""
    last = messages[-1]
    if last.role == "user":  # two such turns in a row are refused by some templates
        return (*messages[:-1], replace(last, content=f"{last.content}\n\n{demand}"))
    return (*messages, ChatMessage("user", demand))
