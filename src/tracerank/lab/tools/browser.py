"""Browsing's tools, Search, Open and Find, in the manner of gpt-oss's simple browser, over any library of documents.

Every page shown is pushed on a stack and numbered by it; ``cursor`` names such a number, -1 the last. What an agent
gets wrong comes back as a text, never as an exception, and leaves the stack as it was.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tracerank.lab.corpus.base import CorpusDocument, Library, Passage
from tracerank.lab.tools.page_text import disarmed, link, one_line, shown_name, shown_url, wrapped
from tracerank.lab.tools.ranked_search import NOTHING_FOUND
from tracerank.pools.urls import canonical_url
from tracerank.readers.values import encodable, tool_of

RESULTS = 10
"""Documents in a search listing."""
SNIPPET_WORDS = 60
"""Words quoted of each."""
VIEW_LINES = 50
"""Lines shown when the agent does not say how many: about a thousand tokens, as in gpt-oss."""
MAX_LINES = 200
"""Lines shown at most."""
FOUND_LINES = 4
"""Lines that a Find shows for each match."""
MAX_MATCHES = 50
_LEAD = 4
"""Lines before a match that are shown when it is opened."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it can be shown."""

    title: str
    address: str
    """As printed in the header."""
    lines: Sequence[str]
    url: str | None = None
    """Canonical address; None: a listing of search results or of matches."""
    links: Sequence[tuple[str, int]] = ()
    """Where each numbered link leads, and the first line to show there."""

    def show(self, cursor: int, first: int, count: int) -> str:
        """The page's header and some of its lines under a cursor."""
        last = min(first + count, len(self.lines)) - 1
        body = "\n".join(f"L{number}: {self.lines[number]}" for number in range(first, last + 1))
        viewport = f"**viewing lines [{first} - {last}] of {len(self.lines) - 1}**"
        return f"[{cursor}] {self.title} ({self.address})\n{viewport}\n\n{body}"


def search_page(query: str, number: int, passages: Sequence[Passage]) -> Page:
    """A listing of the documents that a search found, each with the beginning of its best passage."""
    # Numbered by the search, not by the clock: the same calls print the same pages.
    address = f"web-search://ts={number}"
    entries: list[str] = []
    for passage in passages:
        words = one_line(passage.text).split()
        snippet = " ".join(words[:SNIPPET_WORDS]) + (" …" if len(words) > SNIPPET_WORDS else "")
        entries.append(f"* {link(len(entries), passage.title, passage.url or '')} {snippet}")
    body = "\n".join(entries) or NOTHING_FOUND
    lines = wrapped(f"\nURL: {address}\n# Search Results\n\n{body}")
    return Page(shown_name(query), address, lines, links=[(passage.url or "", 0) for passage in passages])


def document_page(documents: Sequence[CorpusDocument]) -> Page:
    """The page that the rows of one address make up."""
    first = documents[0]
    texts = "\n\n".join(disarmed(document.text) for document in documents)
    return Page(shown_name(first.title), shown_url(first.url), wrapped(f"\nURL: {first.url}\n{texts}"), first.url)


def find_page(pattern: str, page: Page) -> Page:
    """Where a pattern occurs in a document's page, each match with the lines that follow."""
    wanted = one_line(pattern).lower()
    lines: list[str] = []
    links: list[tuple[str, int]] = []
    number = 0
    while number < len(page.lines) and len(links) < MAX_MATCHES:
        if wanted not in page.lines[number].lower():
            number += 1
            continue
        lines += [""] if links else []
        lines += [f"# 【{len(links)}†match at L{number}】", *page.lines[number : number + FOUND_LINES]]
        links.append((page.url or "", number - _LEAD if number > _LEAD else number))
        number += FOUND_LINES
    if not links:
        lines = [f"No `find` results for pattern: `{shown_name(pattern)}`"]
    title = f"Find results for text: `{shown_name(pattern)}` in `{page.title}`"
    # Encoded: a decoded pattern could hold the very words that end the address.
    address = f"{page.address}/find?pattern={quote(pattern[:100], safe='')}"
    return Page(title, address, lines, links=links)


class _Refused(Exception):
    """A call that cannot be done; the message is for the agent."""


class Browser:
    """One agent's browser: make a new one for each rollout."""

    def __init__(self, library: Library, max_lines: int = MAX_LINES) -> None:
        self._library = library
        self._max_lines = min(max_lines, MAX_LINES)
        self._stack: list[Page] = []
        """Pages shown; the index is the cursor."""
        self._calls = 0

    def call(self, name: str, values: Mapping[str, Any]) -> str:
        """Do what the agent wrote: a tool's name in any spelling, and arguments."""
        tool = tool_of(name)
        if tool is None:
            return json.dumps({"error": f"Unknown function: {shown_name(name)}"}, ensure_ascii=False)
        self._calls += 1
        try:
            return {"search": self._search, "open": self._open, "find": self._find}[tool](values)
        except _Refused as refusal:
            return str(refusal)

    def _search(self, values: Mapping[str, Any]) -> str:
        query = values.get("query")
        if not isinstance(query, str) or not query.strip():
            raise _Refused("Error during search for ``: `query` should be text that is not empty")
        query = encodable(query)
        best: dict[str, Passage] = {}
        for passage in self._library.search(query, 3 * RESULTS):
            if passage.url is not None:
                best.setdefault(passage.url, passage)
        page = search_page(query, self._calls - 1, list(best.values())[:RESULTS])
        return self._show(page, 0, VIEW_LINES)

    def _open(self, values: Mapping[str, Any]) -> str:
        target = values["id"] if "id" in values else values.get("url", -1)
        cursor = _integer(values, "cursor", -1)
        if isinstance(target, str) and not target.strip().isdecimal():
            page, line = self._fetched(target), 0
        else:
            page, line = self._followed(self._page_at(cursor), _link_id(target))
        first = _integer(values, "loc", line)
        if first >= len(page.lines):
            last = len(page.lines) - 1
            raise _Refused(f"Invalid location parameter: `{first}`. Cannot exceed page maximum of {last}.")
        count = _integer(values, "num_lines", 0)
        return self._show(page, first if first >= 0 else line, count if count > 0 else VIEW_LINES)

    def _find(self, values: Mapping[str, Any]) -> str:
        pattern = values.get("pattern")
        if not isinstance(pattern, str) or not pattern.strip():
            raise _Refused("`pattern` should be text that is not empty")
        page = self._page_at(_integer(values, "cursor", -1))
        if page.url is None:
            raise _Refused("Cannot run `find` on search results page or find results page; open one of its links first")
        return self._show(find_page(encodable(pattern), page), 0, MAX_LINES)

    def _show(self, page: Page, first: int, count: int) -> str:
        self._stack.append(page)
        return page.show(len(self._stack) - 1, first, min(count, self._max_lines))

    def _page_at(self, cursor: int) -> Page:
        if not self._stack:
            raise _Refused("No pages to access!")
        if cursor != -1 and not 0 <= cursor < len(self._stack):
            known = f"[0 - {len(self._stack) - 1}]"
            raise _Refused(f"Cursor `{cursor}` is out of range. Available cursor indices: {known}.")
        return self._stack[cursor]

    def _followed(self, source: Page, number: int) -> tuple[Page, int]:
        if number == -1:
            return source, 0
        if number >= len(source.links):
            raise _Refused(f"Invalid link id `{number}`.")
        url, line = source.links[number]
        return self._fetched(url), line

    def _fetched(self, url: str) -> Page:
        wanted = canonical_url(url.strip())
        documents = self._library.documents_at(wanted) if wanted else ()
        if not documents:
            raise _Refused(f"Error fetching URL `{shown_name(url)}`: there is no such page in this corpus")
        return document_page(documents)


def _integer(values: Mapping[str, Any], name: str, default: int) -> int:
    given = values.get(name)
    if given is None:
        return default
    if not isinstance(given, int) or isinstance(given, bool):
        raise _Refused(f"`{name}` should be an integer, not `{type(given).__name__}`")
    return given


def _link_id(target: object) -> int:
    if target is None:
        return -1
    if isinstance(target, str) and len(target.strip()) <= 9:
        return int(target)
    if isinstance(target, int) and not isinstance(target, bool) and target >= -1:
        return target
    raise _Refused(f"Invalid link id `{shown_name(str(target))}`.")
