"""Splitting one search return into ranked chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import needs_golden, unit_facts
from tracerank.answers.exact import normalize_text
from tracerank.errors import MalformedRollout
from tracerank.readers.ranked import split_ranked

markers = st.sampled_from(
    ["Doc 1 (Title: A)", 'Doc 2(Title: "B (c)")', "Doc 3", "Doc", "\n", "\r", " ", "(Title:", '""', ")"]
)
returns = st.lists(st.one_of(markers, st.text(max_size=12))).map("".join)


def texts(returned: str, strict: bool = False) -> list[str]:
    return [evidence.text for evidence in split_ranked(returned, strict)]


def ranks(returned: str) -> list[int | None]:
    return [evidence.rank for evidence in split_ranked(returned)]


def titles(returned: str) -> list[str | None]:
    return [evidence.title for evidence in split_ranked(returned)]


@needs_golden
def test_the_strict_splitter_agrees_with_the_official_one() -> None:
    for fact in unit_facts("ranked_chunks"):
        if "error" in fact:
            with pytest.raises(MalformedRollout):
                split_ranked(fact["input"], strict=True)
        else:
            assert texts(fact["input"], strict=True) == fact["output"], fact["input"]


def test_strict_and_lenient_agree_on_a_well_formed_return() -> None:
    returned = 'Doc 1(Title: "A") x\nDoc 2(Title: "B") y\nDoc 3(Title: "C") z'
    assert split_ranked(returned, strict=True) == split_ranked(returned)


def test_any_number_of_documents_is_read_with_the_ranks_of_the_markers() -> None:
    assert texts("Doc 1(Title: A) x") == ["(Title: A) x"]
    assert ranks("\n".join(f"Doc {rank} (Title: T) x" for rank in range(1, 11))) == list(range(1, 11))
    assert ranks("Doc 2(Title: A) x\nDoc 4(Title: B) y") == [2, 4]


def test_ranks_that_do_not_increase_are_replaced_by_the_position() -> None:
    assert ranks("Doc 1(Title: A) x\nDoc 1(Title: B) y\nDoc 3(Title: C) z") == [1, 2, 3]
    assert ranks("Doc 0(Title: A) x\nDoc 1(Title: B) y") == [1, 2]


def test_text_before_the_first_marker_is_ignored() -> None:
    assert texts("Here are the results:\nDoc 1(Title: A) x") == ["(Title: A) x"]


def test_a_marker_inside_a_line_does_not_begin_a_document() -> None:
    assert texts("Doc 1(Title: A) see Doc 2(Title: B) there") == ["(Title: A) see Doc 2(Title: B) there"]


def test_a_cut_last_document_loses_only_what_was_cut() -> None:
    assert texts('Doc 1(Title: A) x\nDoc 2(Title: "B') == ["(Title: A) x", '(Title: "B']
    for cut in ("Doc 2", "Doc 2(", "Doc 2(Tit", "Doc 2 (Title:"):
        assert texts(f"Doc 1(Title: A) x\n{cut}") == ["(Title: A) x"], cut


def test_titles_without_parentheses_are_read() -> None:
    assert texts("Doc 1 Title: A x\nDoc 2 Title: B y") == ["Title: A x", "Title: B y"]
    assert titles("Doc 1 Title: A\nx\nDoc 2: Title: B y") == ["A", None]


def test_titles_lose_their_quotes() -> None:
    assert titles('Doc 1(Title: "Paris") x') == ["Paris"]
    assert titles("Doc 1(Title: Paris) x") == ["Paris"]
    assert titles('Doc 1(Title: "The Sound of Music (film)") x') == ["The Sound of Music (film)"]
    assert titles("Doc 1(Title: Mercury (planet)) x") == ["Mercury (planet)"]
    assert titles('Doc 1(Title: """2 Fast 2 Furious""") x') == ["2 Fast 2 Furious"]
    assert titles('Doc 1(Title: ""2 Fast 2 Furious"") x') == ["2 Fast 2 Furious"]
    assert titles('Doc 1(Title: "The ""real"" one (""x"") here") y') == ['The "real" one ("x") here']
    assert titles("Doc 1(Title: never closed") == [None]


def test_text_without_markers_is_one_chunk() -> None:
    (evidence,) = split_ranked("Paris is the\n capital of France.")
    assert (evidence.text, evidence.rank, evidence.title) == ("Paris is the capital of France.", 1, None)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "  \n",
        "No results found.",
        "no results",
        "Error: timeout",
        "Search failed",
        "None",
        "[Error] HTTP error 500",
    ],
)
def test_a_message_instead_of_results_is_no_evidence(message: str) -> None:
    assert split_ranked(message) == ()


def test_a_blank_return_is_not_an_error_for_the_strict_splitter() -> None:
    assert split_ranked(" \n", strict=True) == ()


@given(returns)
def test_the_lenient_splitter_never_raises_and_yields_normalised_text(returned: str) -> None:
    for evidence in split_ranked(returned):
        assert evidence.text == normalize_text(evidence.text) != ""
        assert evidence.rank is not None
        assert evidence.rank >= 1
