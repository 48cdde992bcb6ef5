"""WebQA's only tool: Search, which returns three ranked chunks as ``Doc 1(Title: "…") …``.

The text is what ``readers/calls/text_layouts.py`` reads back.
"""

from dataclasses import dataclass

from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.lab.tools.page_text import one_line
from tracerank.readers.calls.text_layouts import STRICT_RANKS

CHUNKS = len(STRICT_RANKS)
NOTHING_FOUND = "No results found."
"""What a search returns that matched nothing; readers know it for no evidence."""


@dataclass(frozen=True, slots=True)
class RankedReturn:
    """What one search gave."""

    text: str
    passages: tuple[Passage, ...]


class RankedSearch:
    """Searches any retriever."""

    def __init__(self, retriever: Retriever, k: int = CHUNKS) -> None:
        self.retriever = retriever
        self.k = k

    def search(self, query: str) -> RankedReturn:
        """The best passages for the query, as text for the agent; fewer than k only when no more match."""
        passages = self.retriever.search(query, self.k)
        return RankedReturn(print_ranked(passages), passages)


def print_ranked(passages: tuple[Passage, ...]) -> str:
    """One line a passage, rank and title first."""
    if not passages:
        return NOTHING_FOUND
    return "\n".join(f"Doc {rank}{chunk_text(passage)}" for rank, passage in enumerate(passages, start=1))


def chunk_text(passage: Passage) -> str:
    """Title and text of a passage, exactly the text of the Evidence that a reader makes of it."""
    title = one_line(passage.title).replace('"', '""')
    return f'(Title: "{title}") {one_line(passage.text)}'
