"""The pages of the browser: a search listing, a document, the matches of a Find; and how a part of one is printed.

A page is made once and may be shown many times. Which page a call leads to is decided in ``browser.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from tracerank.agents.corpus.base import CorpusDocument, Passage
from tracerank.agents.tools.page_text import disarmed, link, one_line, shown_name, shown_url, wrapped

FOUND_LINES = 4
"""Lines that a Find shows for each match."""
MOST_MATCHES = 50
_LEAD = 4
"""Lines before a match that are shown when it is opened."""


@dataclass(frozen=True, slots=True)
class Link:
    """Where a numbered link leads."""

    url: str
    line: int = 0
    """First line to show."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it can be shown."""

    kind: str
    """``search``, ``document`` or ``find``."""
    title: str
    address: str
    """As printed in the header."""
    lines: tuple[str, ...]
    url: str | None = None
    """Canonical address of the document shown or searched in; None: a search listing."""
    links: Mapping[int, Link] = field(default_factory=dict)

    def show(self, cursor: int, first: int, count: int) -> str:
        """The page's header and some of its lines under a cursor."""
        last = min(first + count, len(self.lines)) - 1
        body = "\n".join(f"L{number}: {self.lines[number]}" for number in range(first, last + 1))
        viewport = f"**viewing lines [{first} - {last}] of {len(self.lines) - 1}**"
        return f"[{cursor}] {self.title} ({self.address})\n{viewport}\n\n{body}"


def search_page(query: str, number: int, passages: Sequence[Passage], snippet_words: int) -> Page:
    """A listing of the documents that a search found, each with the beginning of its best passage."""
    # Numbered by the search, not by the clock: the same calls print the same pages.
    address = f"web-search://ts={number}"
    links: dict[int, Link] = {}
    entries: list[str] = []
    for passage in passages:
        url = passage.url or ""
        links[len(entries)] = Link(url)
        words = one_line(passage.text).split()
        cut = " …" if len(words) > snippet_words else ""
        snippet = " ".join(words[:snippet_words])
        entries.append(f"* {link(len(entries), passage.title, url)} {snippet}{cut}")
    body = "\n".join(entries) or "No results found."
    lines = wrapped(f"\nURL: {address}\n# Search Results\n\n{body}")
    return Page("search", shown_name(query), address, tuple(lines), links=links)


def document_page(documents: Sequence[CorpusDocument]) -> Page:
    """The page that the rows of one address make up."""
    first = documents[0]
    texts = "\n\n".join(disarmed(document.text) for document in documents)
    lines = wrapped(f"\nURL: {first.url}\n{texts}")
    return Page("document", shown_name(first.title), shown_url(first.url), tuple(lines), url=first.url)


def find_page(pattern: str, page: Page) -> Page:
    """Where a pattern occurs in a document's page, each match with the lines that follow."""
    wanted = one_line(pattern).lower()
    lines: list[str] = []
    links: dict[int, Link] = {}
    number = 0
    while number < len(page.lines) and len(links) < MOST_MATCHES:
        if wanted not in page.lines[number].lower():
            number += 1
            continue
        lines += [""] if links else []
        lines += [f"# 【{len(links)}†match at L{number}】", *page.lines[number : number + FOUND_LINES]]
        links[len(links)] = Link(page.url or "", number - _LEAD if number > _LEAD else number)
        number += FOUND_LINES
    if not links:
        lines = [f"No `find` results for pattern: `{shown_name(pattern)}`"]
    title = f"Find results for text: `{shown_name(pattern)}` in `{page.title}`"
    # Encoded: a decoded pattern could hold the very words that end the address.
    address = f"{page.address}/find?pattern={quote(pattern[:100], safe='')}"
    return Page("find", title, address, tuple(lines), url=page.url, links=links)
