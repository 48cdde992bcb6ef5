"""WebQA's Search and what our readers make of its returns."""

from tracerank.lab.corpus.base import Passage
from tracerank.lab.tools.ranked_search import print_ranked


def passage(text: str, title: str = "Velm River") -> Passage:
    return Passage(text, title, 1.0, "0")


def test_a_search_prints_three_ranked_chunks() -> None:
    passages = [passage("It rises\nin Ostra."), passage("Two.", 'The "Velm"'), passage("Three.", "")]
    assert print_ranked(passages) == (
        'Doc 1(Title: "Velm River") It rises in Ostra.\nDoc 2(Title: "The ""Velm""") Two.\nDoc 3(Title: "") Three.'
    )
    assert print_ranked([]) == "No results found."
