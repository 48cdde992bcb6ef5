"""A browser session as the browsing reader would recover it from a transcript: views, searches, sources.

Records only what was done; which page to open is up to the agent. Events and cursors are numbered from 0, and a page's
first window repeats its address in a ``URL:`` line.
"""

from tracerank.agents.worlds.library import Query
from tracerank.agents.worlds.pages import Page
from tracerank.pools.types import Document, Evidence, Search, View

_WITH_FIELD = "returned_URL_field_matches_display"
_WITHOUT_FIELD = "returned_document_header"


class Screens:
    """What the browser shows of each page; the rollouts of a question share it."""

    def __init__(self) -> None:
        self._texts: dict[tuple[int, int], str] = {}
        self._documents: dict[int, Document] = {}

    def text(self, page: Page, window: int) -> str:
        """What Open shows."""
        key = (page.number, window)
        if key not in self._texts:
            field = f" URL: {page.url}" if window == 0 else ""
            self._texts[key] = f"{page.title} ({page.url}){field} {page.passages[window].body}"
        return self._texts[key]

    def document(self, page: Page) -> Document:
        found = self._documents.get(page.number)
        if found is None:
            found = self._documents[page.number] = Document(f"url:{page.url}", url=page.url)
        return found


class Session:
    """The tool calls of one rollout."""

    def __init__(self, screens: Screens) -> None:
        self._screens = screens
        self.views: list[View] = []
        self._roots: dict[int, tuple[str | None, list[Evidence]]] = {}
        self._root = 0
        self._latest = 0
        self._group = ""

    def search(self, query: Query) -> None:
        """List pages for a query."""
        event = len(self.views)
        self.views.append(View(event, "search", None, event, True, fallback=f"event:{event}"))
        self._roots[event] = (query.text, [])
        self._root = self._latest = event

    def open(self, page: Page, window: int = 0, by_address: bool = False) -> None:
        """Show a window of a page, by a listed link or by its address."""
        event = len(self.views)
        parent = self._latest if self.views else None
        if parent is None:
            self._root = event
            self._roots[event] = (None, [])
        self._group = page.url if by_address else f"event:{event}"
        requested = page.url if by_address else None
        self.views.append(_document_view(event, parent, page, self._group, window, requested=requested))
        status = _WITHOUT_FIELD if window else _WITH_FIELD
        self._show(page, self._screens.text(page, window), page.title, "open", status)

    def page_on(self, page: Page, window: int) -> None:
        """Show another window of the page in view."""
        event = len(self.views)
        self.views.append(_document_view(event, self._latest, page, self._group, window, continues=True))
        self._show(page, self._screens.text(page, window), page.title, "open", "open_inherits_source")

    def find(self, page: Page, windows: list[int]) -> None:
        """Show the parts of the page in view that match a pattern; without a match the agent stays where it was."""
        event = len(self.views)
        self.views.append(View(event, "find", self._latest, event, True, fallback=self._group))
        text = "\n\n".join(page.passages[window].body for window in windows)
        if text:
            self._show(page, text, None, "find", "find_inherits_source")

    def searches(self) -> tuple[Search, ...]:
        """The searches in order, each with the evidence it led to."""
        return tuple(Search(query, tuple(seen), event) for event, (query, seen) in sorted(self._roots.items()))

    def _show(self, page: Page, text: str, title: str | None, tool: str, status: str) -> None:
        event = len(self.views) - 1
        document = self._screens.document(page)
        evidence = Evidence(text, title, page.url, None, tool, document, event, status)
        self._roots[self._root][1].append(evidence)
        self._latest = event


def _document_view(
    event: int,
    parent: int | None,
    page: Page,
    group: str,
    window: int,
    requested: str | None = None,
    continues: bool = False,
) -> View:
    """The view of an Open; only the first window repeats the address."""
    has_field = window == 0
    header = _WITH_FIELD if has_field else _WITHOUT_FIELD
    established = (requested, "document", page.url, page.url, has_field, header)
    return View(event, "open", parent, event, True, continues, *established, fallback=group)
