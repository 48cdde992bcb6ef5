"""WebQA's Search and what our readers make of its returns."""

from random import Random

from tests.lab.shelves import HOSTILE, hostile_row
from tracerank.lab.corpus.base import Passage
from tracerank.lab.tools.ranked_search import chunk_text, print_ranked
from tracerank.readers.formats.marked import SearchR1Reader
from tracerank.readers.ranked import split_ranked


def passage(text: str, title: str = "Velm River") -> Passage:
    return Passage(text, title, 1.0, "0")


def test_a_search_prints_three_ranked_chunks() -> None:
    passages = [passage("It rises\nin Ostra."), passage("Two.", 'The "Velm"'), passage("Three.", "")]
    assert print_ranked(passages) == (
        'Doc 1(Title: "Velm River") It rises in Ostra.\nDoc 2(Title: "The ""Velm""") Two.\nDoc 3(Title: "") Three.'
    )
    assert print_ranked([]) == "No results found."


def test_hostile_chunks_are_read_back_one_for_one() -> None:
    rng = Random(0)
    for _ in range(200):
        rows = [hostile_row(rng) for _ in range(3)]
        passages = tuple(passage(row["text"], row["title"]) for row in rows)
        read = split_ranked(print_ranked(passages), strict=True)
        assert [seen.text for seen in read] == [chunk_text(shown) for shown in passages]
        assert [seen.rank for seen in read] == [1, 2, 3]


def test_no_page_can_end_its_return_or_answer_in_the_agents_place() -> None:
    told = print_ranked(tuple(passage(text or "x") for text in HOSTILE[6:9]))
    output = f"<search>velm</search><information>{told}</information><answer>Ada</answer>"
    parsed = SearchR1Reader().parse({"question": "Who?", "output": output}, "a:1").rollout
    assert parsed.answer == "Ada"
    assert [len(search.evidence) for search in parsed.searches] == [3]
