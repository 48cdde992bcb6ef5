"""What a corpus gives to tools and policies, and the seams behind which any other source may stand.

A passage is what is ranked; it becomes Evidence only when an agent sees it.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """One row of a corpus."""

    id: str
    title: str
    """Empty: the row has none."""
    text: str
    url: str
    """Its own address in canonical spelling, or one made up from its id; rows of one address are one page."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document that was found by a search."""

    text: str
    title: str
    score: float | None
    """Comparable within one search only; None: the server gave no score."""
    document: str
    """Id of the document."""
    url: str | None = None


class Retriever(Protocol):
    """Anything that ranks passages for a query."""

    def search(self, query: str, k: int = 3) -> tuple[Passage, ...]:
        """At most k passages, best first; only those that match at all."""
        ...


class Library(Retriever, Protocol):
    """A retriever whose documents can also be opened."""

    def documents_at(self, url: str) -> tuple[CorpusDocument, ...]:
        """The rows of the page with this address, in corpus order; empty: there is no such page."""
        ...


def split_contents(contents: str) -> tuple[str, str]:
    """Title and text of a Search-R1 style ``"Title"\\ntext``; without a line break there is no title."""
    first, line_break, rest = contents.partition("\n")
    if not line_break:
        return "", contents.strip()
    title = first.strip()
    if len(title) >= 2 and title[0] == title[-1] == '"':
        title = title[1:-1].strip()
    return title, rest.strip()
