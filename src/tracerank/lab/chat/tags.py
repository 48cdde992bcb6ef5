"""Search-R1's style: the model writes ``<search>`` and ``<answer>`` tags, passages come back as ``<information>``.

Needs nothing of a server but chat. The conversation alternates between user and assistant, as strict templates want it,
and is what ``readers/formats/search_r1.py`` reads.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracerank.answers.exact import normalize_text
from tracerank.endpoints.chat import ChatMessage, ChatReply, ChatTool, ToolCall, message_to_record
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.style import Heard, Reading, demanding, ranked_return
from tracerank.lab.corpus.base import Retriever
from tracerank.pools.types import WEBQA
from tracerank.readers.calls.offered_calls import calls_in
from tracerank.readers.calls.tool_calls import queries_of
from tracerank.readers.formats.search_r1 import SearchR1Reader
from tracerank.readers.values import encodable

_ACTION = re.compile(r"<(search|answer)>")
_END = re.compile(r"</?(?:search|information|think|answer)>")
# A model that makes up a return believes that it has searched.
_CLOSES = {"search": ("</search>", "<information>"), "answer": ("</answer>",)}
# Servers leave out the text at which they stop, some of them not all of it.
_PARTIAL_CLOSE = re.compile(r"</?[a-z]{0,11}\Z")
# Only the environment returns information, and only templates write chat tokens.
_NOT_THE_MODELS = re.compile(r"<(?=/?information\b|\|)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TagStyle:
    """Tags over ranked search."""

    retriever: Retriever
    name: str = "tags"
    setting: str = WEBQA
    tools: tuple[ChatTool, ...] = ()
    stop: tuple[str, ...] = ("</search>", "</answer>")

    @property
    def prompts(self) -> tuple[str, ...]:
        return tuple(map(prompt_text, ("tags", "tags_go_on", "tags_invalid", "tags_unsearched", "tags_last_turn")))

    def opening(self, question: str) -> tuple[ChatMessage, ...]:
        """One user turn with instructions and question."""
        # Not format(): a question may hold braces.
        return (ChatMessage("user", prompt_text("tags").replace("{question}", encodable(question))),)

    def session(self, question: str, return_characters: int) -> "TagSession":
        return TagSession(self.retriever, encodable(question), return_characters)

    def last_turn(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        return demanding(messages, prompt_text("tags_last_turn"))

    def read(self, question: str, messages: Sequence[ChatMessage]) -> Reading:
        """By the Search-R1 reader, which records no search that found nothing (App. A.1)."""
        if all(message.role != "assistant" for message in messages):
            return Reading()
        record = {"question": question, "messages": [message_to_record(message) for message in messages]}
        rollout = SearchR1Reader().parse(record, self.name).rollout
        return Reading(rollout.answer or None, rollout.searches)


@dataclass(slots=True)
class TagSession:
    """One rollout."""

    retriever: Retriever
    question: str
    return_characters: int
    _has_searched: bool = field(default=False, init=False)
    _was_sent: bool = field(default=False, init=False)
    """It answered without reading anything and was sent to search."""

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
                return self._acted(said, kind, said[start:], is_last)
        if found := _called(text):  # a call of the tool, in whatever dialect, is kept as the tags that the reader knows
            words, query = found
            return self._acted(_own_words(f"{words}\n<search>{query}".lstrip()), "search", query, is_last)
        return Heard(ChatMessage("assistant", _own_words(text)), reminder=prompt_text("tags_invalid"))

    def _acted(self, said: str, kind: str, inner: str, is_last: bool) -> Heard:
        message = ChatMessage("assistant", f"{said}</{kind}>")
        if kind == "search":
            self._has_searched = True
            return Heard(message, (ToolCall("", kind, normalize_text(inner)),))
        if not (is_last or self._has_searched or self._was_sent):
            self._was_sent = True
            return Heard(message, reminder=prompt_text("tags_unsearched"))
        return Heard(message, is_final=True)

    def answer(self, heard: Heard, calls_left: int) -> tuple[ChatMessage, ...]:
        """The passages that were asked for, or why there are none."""
        if not heard.calls or not calls_left:
            return (ChatMessage("user", heard.reminder or prompt_text("tags_invalid")),)
        query = heard.calls[0].arguments
        found = ranked_return(self.retriever, query, self.return_characters)
        return (ChatMessage("user", information(found, self.question)),)


def _called(text: str) -> tuple[str, str] | None:
    """Words and query of a model that calls a tool instead of writing tags."""
    if _ACTION.search(text):  # it tried
        return None
    written = calls_in(text, ("search",))
    queries = [query for call in written.calls if call.name == "search" for query in queries_of(call.arguments)]
    return (written.words, normalize_text(queries[0])) if queries else None


def information(text: str, question: str) -> str:
    """A search's return as the model gets to see it, and the question again; the text must have been disarmed.

    A small model that is asked again right below the passages reads them: 4 of 5 answers of a 1.5B model were right, 3
    of 8 without it.
    """
    return f"<information>\n{text}\n</information>\n\n{prompt_text('tags_go_on').replace('{question}', question)}"


def _own_words(text: str) -> str:
    return _NOT_THE_MODELS.sub("‹", text)
