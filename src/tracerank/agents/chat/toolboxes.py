"""The tools that a tool-calling agent is given: ``search`` over ranked passages, or a browser's three."""

from collections.abc import Mapping
from typing import Any

from tracerank.agents.chat.ranked_returns import ranked_return
from tracerank.agents.chat.style import Reading
from tracerank.agents.chat.tools import CallTool, Records, ToolStyle
from tracerank.agents.corpus.base import Library, Retriever
from tracerank.agents.tools.browser import DEFAULT_RULE, Browser, BrowserRule
from tracerank.agents.tools.page_text import LINE_WIDTH, shown_name
from tracerank.answers.exact import normalize_text
from tracerank.endpoints.chat import ChatTool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.readers.browser.events import read_messages
from tracerank.readers.browser.views import read_views
from tracerank.readers.calls.assembly import searches_of
from tracerank.readers.formats.chat import read_chat
from tracerank.readers.values import encodable

_PRINTED_LINE = LINE_WIDTH + len("L1234: \n")


def _tool(name: str, description: str, required: tuple[str, ...], **properties: Mapping[str, Any]) -> ChatTool:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ChatTool(name, description, schema)


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "description": description}


SEARCH = _tool(
    "search",
    "Searches the corpus and returns the three passages that fit best.",
    ("query",),
    query=_text("What to search for."),
)

_CURSOR = _number("Number of an earlier view to start from; the last one if left out.")
BROWSER_TOOLS = (
    _tool(
        "browser_search",
        "Searches for pages and lists them under numbered links.",
        ("query",),
        query=_text("What to search for."),
    ),
    _tool(
        "browser_open",
        "Opens a numbered link of a view, or an address, or shows more of the page of a view.",
        (),
        id=_number("Number of the link."),
        url=_text("Address of a page, instead of a link."),
        cursor=_CURSOR,
        loc=_number("First line to show."),
    ),
    _tool(
        "browser_find",
        "Shows where words occur in the page of a view.",
        ("pattern",),
        pattern=_text("The words, exactly as the page has them."),
        cursor=_CURSOR,
    ),
)
"""Named so that a reader knows them for a browser's; Open and Find are two words of many agents."""


def search_style(retriever: Retriever) -> ToolStyle:
    """One tool, ``search``, which returns ranked passages."""

    def begin(characters: int) -> CallTool:
        return lambda name, values: _searched(retriever, name, values, characters)

    return ToolStyle("tools", WEBQA, "tools", (SEARCH,), begin, _recover_searches)


def browser_style(library: Library, rule: BrowserRule = DEFAULT_RULE) -> ToolStyle:
    """A browser over a library of pages."""

    def begin(characters: int) -> CallTool:
        browser = Browser(library, _within(rule, characters))
        return lambda name, values: browser.call(name, values).text

    return ToolStyle("browser", BROWSING, "browser", BROWSER_TOOLS, begin, _recover_views)


def _searched(retriever: Retriever, name: str, values: Mapping[str, Any], characters: int) -> str:
    if name != SEARCH.name:
        return f"Error: there is no tool `{shown_name(name)}`; the only tool is `{SEARCH.name}`."
    query = values.get("query")
    if not isinstance(query, str) or not query.strip():
        return "Error: `query` should be text that is not empty."
    return ranked_return(retriever, normalize_text(encodable(query)), characters)


def _recover_searches(records: Records) -> Reading:
    return Reading(searches=searches_of(read_chat(records).calls))


def _recover_views(records: Records) -> Reading:
    views, searches = read_views(read_messages(records).events)
    return Reading(searches=searches, views=views)


def _within(rule: BrowserRule, characters: int) -> BrowserRule:
    """A rule that shows fewer lines instead of cutting a view, whose header says how many there are."""
    most = max(1, characters // _PRINTED_LINE)
    return BrowserRule(rule.results, rule.snippet_words, min(rule.view_lines, most), min(rule.most_lines, most))
