"""Search-R1's dialect: the model writes ``<search>`` and ``<answer>`` tags, passages come back as ``<information>``.

Needs nothing of a server but chat. The conversation alternates between user and assistant, as strict templates want it,
and is what ``readers/formats/marked.py`` reads.
"""

import json
import re
from collections.abc import Sequence

from tracerank.answers.exact import normalize_text
from tracerank.chat.offered_calls import calls_in
from tracerank.endpoints.chat import ChatMessage, ChatReply, ToolCall
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.session import Session, Turn
from tracerank.readers.tools import queries_of
from tracerank.readers.values import encodable

_ACTION = re.compile(r"<(search|answer)>")
_END = re.compile(r"</?(?:search|information|think|answer)>")
# A model that makes up a return believes that it has searched.
_CLOSES = {"search": ("</search>", "<information>"), "answer": ("</answer>",)}
# Servers leave out the text at which they stop, some of them not all of it.
_PARTIAL_CLOSE = re.compile(r"</?[a-z]{0,11}\Z")
# Only the environment returns information, and only templates write chat tokens.
_NOT_THE_MODELS = re.compile(r"<(?=/?information\b|\|)", re.IGNORECASE)


class TagSession(Session):
    """Tags."""

    stop = ("</search>", "</answer>")
    last_turn = "tags_last_turn"

    def opening(self) -> tuple[ChatMessage, ...]:
        # Not format(): a question may hold braces.
        return (ChatMessage("user", prompt_text(self.instructions).replace("{question}", self.question)),)

    def read(self, reply: ChatReply, is_last: bool = False) -> Turn:
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
        if found := _called(text):  # a call of the tool, in any dialect, is kept as the tags that the reader knows
            words, query = found
            return self._searched(_own_words(f"{words}\n<search>{query}".lstrip()), query)
        return Turn(ChatMessage("assistant", _own_words(text)), reminder=prompt_text("tags_invalid"))

    def _searched(self, said: str, query: str) -> Turn:
        self._made += 1
        arguments = json.dumps({"query": normalize_text(query)}, ensure_ascii=False)
        return Turn(ChatMessage("assistant", f"{said}</search>"), (ToolCall("", "search", arguments),))

    def _answered(self, said: str, is_last: bool) -> Turn:
        reminder = "" if is_last or self._made else self.once("tags_unsearched")
        return Turn(ChatMessage("assistant", f"{said}</answer>"), is_final=not reminder, reminder=reminder)

    def returns(self, calls: Sequence[ToolCall], calls_left: int) -> tuple[ChatMessage, ...]:
        """The passages, and the question again.

        A small model that is asked again right below the passages reads them: 4 of 5 answers of a 1.5B model were
        right, 3 of 8 without it.
        """
        again = prompt_text("tags_go_on").replace("{question}", self.question)
        return (ChatMessage("user", f"<information>\n{self.done(calls[0])}\n</information>\n\n{again}"),)


def _called(text: str) -> tuple[str, str] | None:
    """Words and query of a model that calls a tool instead of writing tags."""
    if _ACTION.search(text):  # it tried
        return None
    written = calls_in(text, ("search",))
    queries = [query for call in written.calls if call.name == "search" for query in queries_of(call.arguments)]
    return (written.words, normalize_text(queries[0])) if queries else None


def _own_words(text: str) -> str:
    return _NOT_THE_MODELS.sub("‹", text)
