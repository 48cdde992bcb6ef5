"""What a search returns to an agent: three ranked chunks as ``Doc 1(Title: "…") …``, which our readers read back.

Pages and titles are hostile: what could pass for the marks of a chat or of our tags is replaced by look-alikes.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from tracerank.answers.exact import normalize_text
from tracerank.lab.corpus.base import Passage, Retriever
from tracerank.readers.ranked import STRICT_RANKS
from tracerank.readers.values import encodable

CHUNKS = len(STRICT_RANKS)
NOTHING_FOUND = "No results found."
"""What a search returns that matched nothing; readers take it for no evidence."""
_MARKS = re.compile(r"<(?=\||/?(?:search|information|answer|think|tool_call|tool_response)\b)", re.IGNORECASE)


def disarmed(text: str) -> str:
    """The text without chat tokens and protocol tags, each replaced by a look-alike."""
    return _MARKS.sub("‹", encodable(text))


def one_line(text: str) -> str:
    """Disarmed, NFC and on one line."""
    return normalize_text(disarmed(text))


def chunk_text(passage: Passage) -> str:
    """Title and text of a passage, exactly the text of the Evidence that a reader makes of it."""
    title = one_line(passage.title).replace('"', '""')
    return f'(Title: "{title}") {one_line(passage.text)}'


def print_ranked(passages: Sequence[Passage]) -> str:
    """One line a passage, rank and title first."""
    lines = (f"Doc {rank}{chunk_text(passage)}" for rank, passage in enumerate(passages, start=1))
    return "\n".join(lines) or NOTHING_FOUND


def ranked_search(retriever: Retriever, characters: int) -> Callable[[str], str]:
    """From a query to what it returns, in about so many characters."""

    def search(query: str) -> str:
        passages = retriever.search(query, CHUNKS)
        text = print_ranked(passages)
        return text if len(text) <= characters else print_ranked([_cut(one, characters // CHUNKS) for one in passages])

    return search


def _cut(passage: Passage, characters: int) -> Passage:
    title = _cut_text(passage.title, characters // 2)
    return replace(passage, title=title, text=_cut_text(passage.text, characters - len(title)))


def _cut_text(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: max(0, characters - 1)].rstrip()}…"
