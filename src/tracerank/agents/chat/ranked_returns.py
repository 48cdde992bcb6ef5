"""The return of a ranked search within a length: every passage keeps its place, long ones are cut."""

from dataclasses import replace

from tracerank.agents.corpus.base import Passage, Retriever
from tracerank.agents.tools.ranked_search import CHUNKS, RankedSearch, print_ranked


def ranked_return(retriever: Retriever, query: str, characters: int) -> str:
    """The best passages for a query, disarmed, in about so many characters."""
    found = RankedSearch(retriever).search(query)
    if len(found.text) <= characters:
        return found.text
    return print_ranked(tuple(_shortened(passage, characters // CHUNKS) for passage in found.passages))


def _shortened(passage: Passage, characters: int) -> Passage:
    title = _cut(passage.title, characters // 2)
    return replace(passage, title=title, text=_cut(passage.text, characters - len(title)))


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: max(0, characters - 1)].rstrip()}…"
