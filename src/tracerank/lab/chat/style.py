"""What the styles of speaking to a chat model share: a reply understood, a conversation read back, a search's return.

A style is shared by all rollouts; what one rollout remembers (a browser's pages) is in its session.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracerank.endpoints.chat import ChatMessage, ToolCall
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


def demanding(messages: Sequence[ChatMessage], demand: str) -> tuple[ChatMessage, ...]:
    """The conversation with a demand in the user's last turn, or in a new one where somebody else spoke last."""
    last = messages[-1]
    if last.role == "user":  # two such turns in a row are refused by some templates
        return (*messages[:-1], replace(last, content=f"{last.content}\n\n{demand}"))
    return (*messages, ChatMessage("user", demand))
