"""The styles of chat agents: which dialect they speak, which tools they have, and which reader reads them back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.answers.extraction import extract_answer
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatTool,
    arguments_schema,
    message_to_record,
    number_argument,
    text_argument,
)
from tracerank.lab.chat.calls import CallSession
from tracerank.lab.chat.session import CallTool, Session
from tracerank.lab.chat.tags import TagSession
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.tools.browser import Browser
from tracerank.lab.tools.page_text import LINE_WIDTH, shown_name
from tracerank.lab.tools.ranked_search import CHUNKS, print_ranked
from tracerank.pools.types import BROWSING, WEBQA, Rollout
from tracerank.readers.detect import READERS
from tracerank.readers.values import encodable

_PRINTED_LINE = LINE_WIDTH + len("L1234: \n")

SEARCH = ChatTool(
    "search",
    "Finds the three passages that fit best.",
    arguments_schema(("query",), query=text_argument("What to search for.")),
)
_CURSOR = number_argument("Number of an earlier view to start from; the last one if left out.")
BROWSER_TOOLS = (
    ChatTool(
        "browser_search",
        "Searches for pages and lists them under numbered links.",
        arguments_schema(("query",), query=text_argument("What to search for.")),
    ),
    ChatTool(
        "browser_open",
        "Opens a numbered link of a view, or an address, or shows more of the page of a view.",
        arguments_schema(
            (),
            id=number_argument("Number of the link."),
            url=text_argument("Address of a page, instead of a link."),
            cursor=_CURSOR,
            loc=number_argument("First line to show."),
        ),
    ),
    ChatTool(
        "browser_find",
        "Shows where words occur in the page of a view.",
        arguments_schema(
            ("pattern",), pattern=text_argument("The words, exactly as the page has them."), cursor=_CURSOR
        ),
    ),
)
"""Named so that a reader knows them for a browser's; Open and Find are two words of many agents."""


def ranked_tool(retriever: Retriever, characters: int) -> CallTool:
    """The tool ``search``, whose returns have about so many characters."""
    return partial(_searched, retriever, characters)


def _searched(retriever: Retriever, characters: int, name: str, values: Mapping[str, Any]) -> str:
    if name != SEARCH.name:
        return f"Error: there is no tool `{shown_name(name)}`; the only tool is `{SEARCH.name}`."
    query = values.get("query")
    if not isinstance(query, str) or not query.strip():
        return "Error: `query` should be text that is not empty."
    passages = retriever.search(normalize_text(encodable(query)), CHUNKS)
    text = print_ranked(passages)
    return text if len(text) <= characters else print_ranked([_cut(one, characters // CHUNKS) for one in passages])


def _cut(passage: Passage, characters: int) -> Passage:
    title = _cut_text(passage.title, characters // 2)
    return replace(passage, title=title, text=_cut_text(passage.text, characters - len(title)))


def _cut_text(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: max(0, characters - 1)].rstrip()}…"


def browser_tools(library: Any, characters: int) -> CallTool:
    """A browser, which shows fewer lines where a view may have few characters."""
    return Browser(library, max(1, characters // _PRINTED_LINE)).call


@dataclass(frozen=True, slots=True)
class Style:
    """How a chat agent searches."""

    name: str
    setting: str
    reader: str
    """By which its conversations are read back."""
    dialect: type[Session]
    tools: tuple[ChatTool, ...] = ()
    """What the server is offered."""
    begin: Callable[[Any, int], CallTool] = ranked_tool
    """What is searched and the characters of a return, to the tools of one rollout."""

    def session(self, question: str, call: CallTool) -> Session:
        """One rollout's side of the conversation."""
        return self.dialect(question, self.tools, self.name, call)

    def read(self, question: str, messages: Sequence[ChatMessage]) -> Rollout:
        """Answer, searches and views of a conversation, as our own reader of it sees them."""
        if all(message.role != "assistant" for message in messages):
            return Rollout(0, None)
        record = {"question": question, "messages": [message_to_record(message) for message in messages]}
        found = READERS[self.reader].parse(record, self.name).rollout
        # The browsing reader keeps the whole final message, as the paper does.
        answer = extract_answer(found.answer or "").answer if self.setting == BROWSING else found.answer
        return replace(found, answer=answer or None, setting=self.setting)


STYLES: Mapping[str, Style] = MappingProxyType(
    {
        style.name: style
        for style in (
            Style("tags", WEBQA, "search-r1", TagSession),
            Style("tools", WEBQA, "openai-chat", CallSession, (SEARCH,)),
            Style("browser", BROWSING, "browsing", CallSession, BROWSER_TOOLS, browser_tools),
        )
    }
)
"""By name; the first is the default. The name is also that of the prompt that opens the conversation."""
