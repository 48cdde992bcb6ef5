"""One rollout's side of a conversation in Search-R1's dialect: what is said to the model, and what its replies mean.

The model writes ``<search>`` and ``<answer>`` tags, passages come back as ``<information>``. Needs nothing of a server
but chat. The conversation alternates between user and assistant, as strict templates want it, and is what
``readers/formats/marked.py`` reads.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tracerank.answers.exact import normalize_text
from tracerank.endpoints.chat import ChatMessage, ChatReply
from tracerank.lab.chat.prompts import prompt_text
from tracerank.readers.calls.offered_calls import calls_in
from tracerank.readers.tools import queries_of
from tracerank.readers.values import encodable

STOP = ("</search>", "</answer>")
"""Texts at which the server ends a reply."""
_ACTION = re.compile(r"<(search|answer)>")
_END = re.compile(r"</?(?:search|information|think|answer)>")
# A model that makes up a return believes that it has searched.
_CLOSES = {"search": ("</search>", "<information>"), "answer": ("</answer>",)}
# Servers leave out the text at which they stop, some of them not all of it.
_PARTIAL_CLOSE = re.compile(r"</?[a-z]{0,11}\Z")
# Only the environment returns information, and only templates write chat tokens.
_NOT_THE_MODELS = re.compile(r"<(?=/?information\b|\|)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply, understood."""

    message: ChatMessage
    """The reply as it stays in the conversation."""
    query: str | None = None
    """What the model searches for; None: it does not search."""
    is_final: bool = False
    """It answers; otherwise, without a query, it is a miss."""
    reminder: str = ""
    """What the model is answered after a miss."""


class Session:
    """One question and its searches."""

    def __init__(self, question: str, search: Callable[[str], str]) -> None:
        """``search``: from a query to the text that comes back."""
        self.question = encodable(question)
        self._search = search
        self._has_searched = self._was_reminded = False

    def opening(self) -> ChatMessage:
        """Instructions and question."""
        return ChatMessage("user", self._asking("tags"))

    def hear(self, reply: ChatReply, is_last: bool = False) -> Heard:
        """The reply up to the end of its first action, whose tag is closed where the server stopped."""
        text = encodable(reply.text).rstrip()
        at = 0
        while tag := _ACTION.search(text, at):
            kind, start = tag[1], tag.end()
            close = _END.search(text, start)
            end = at = close.start() if close else len(_PARTIAL_CLOSE.sub("", text))
            # A query that was cut off would search for something else; an answer that was cut off is still one.
            is_done = close[0] in _CLOSES[kind] if close else kind == "answer" or not reply.is_cut
            if is_done and text[start:end].strip():
                said = _own_words(text[:end])
                return self._searched(said, said[start:]) if kind == "search" else self._answered(said, is_last)
        if found := _called(text):  # a call of the tool, in whatever dialect, is kept as the tags that the reader knows
            words, query = found
            return self._searched(_own_words(f"{words}\n<search>{query}".lstrip()), query)
        return Heard(ChatMessage("assistant", _own_words(text)), reminder=prompt_text("tags_invalid"))

    def _searched(self, said: str, query: str) -> Heard:
        self._has_searched = True
        return Heard(ChatMessage("assistant", f"{said}</search>"), normalize_text(query))

    def _answered(self, said: str, is_last: bool) -> Heard:
        """An answer before any search is asked back once."""
        is_final = is_last or self._has_searched or self._was_reminded
        self._was_reminded = self._was_reminded or not is_final
        reminder = "" if is_final else prompt_text("tags_unsearched")
        return Heard(ChatMessage("assistant", f"{said}</answer>"), is_final=is_final, reminder=reminder)

    def returned(self, query: str) -> ChatMessage:
        """The passages, and the question again.

        A small model that is asked again right below the passages reads them: 4 of 5 answers of a 1.5B model were
        right, 3 of 8 without it.
        """
        information = f"<information>\n{self._search(query)}\n</information>"
        return ChatMessage("user", f"{information}\n\n{self._asking('tags_go_on')}")

    def _asking(self, name: str) -> str:
        """A prompt with the question, which may hold braces: not by ``format``."""
        return prompt_text(name).replace("{question}", self.question)


def demanding(messages: Sequence[ChatMessage], demand: str) -> tuple[ChatMessage, ...]:
    """The conversation with a demand at the end of the user's last turn, or in a new one behind other turns."""
    last = messages[-1]
    if last.role != "user":
        return (*messages, ChatMessage("user", demand))
    if last.content.endswith(demand):
        return tuple(messages)
    # Two turns of the user in a row are refused by some templates.
    return (*messages[:-1], replace(last, content=f"{last.content}\n\n{demand}"))


def _called(text: str) -> tuple[str, str] | None:
    """Words and query of a model that calls a tool instead of writing tags."""
    if _ACTION.search(text):  # it tried
        return None
    written = calls_in(text, ("search",))
    queries = [query for call in written.calls if call.name == "search" for query in queries_of(call.arguments)]
    return (written.words, normalize_text(queries[0])) if queries else None


def _own_words(text: str) -> str:
    return _NOT_THE_MODELS.sub("‹", text)
