"""WebQA's only tool: Search, which returns three ranked chunks as ``Doc 1(Title: "…") …``.

The text is what ``readers/calls/text_layouts.py`` reads back.
"""

from collections.abc import Sequence

from tracerank.lab.corpus.base import Passage
from tracerank.lab.tools.page_text import one_line
from tracerank.readers.ranked import STRICT_RANKS

CHUNKS = len(STRICT_RANKS)
NOTHING_FOUND = "No results found."
"""What a search returns that matched nothing; readers know it for no evidence."""


def print_ranked(passages: Sequence[Passage]) -> str:
    """One line a passage, rank and title first."""
    lines = (f"Doc {rank}{chunk_text(passage)}" for rank, passage in enumerate(passages, start=1))
    return "\n".join(lines) or NOTHING_FOUND


def chunk_text(passage: Passage) -> str:
    """Title and text of a passage, exactly the text of the Evidence that a reader makes of it."""
    title = one_line(passage.title).replace('"', '""')
    return f'(Title: "{title}") {one_line(passage.text)}'
