"""Search, Open and Find as an agent meets them, mistakes included."""

import time
from typing import Any

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.tools.browser import MAX_LINES, Browser
from tracerank.lab.tools.page_text import shown_name, wrapped


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    page = {"url": "https://ex.org/page"}
    rows = [
        *RIVERS,
        {"title": "Long", "text": "\n".join(f"Row {number} of the ledger." for number in range(100)), "id": "long"},
        {"title": "Parted", "text": "The first half of a parted page.", **page},
        {"title": "Parted", "text": "The second half of a parted page.", **page},
    ]
    return corpus_of(tmp_path_factory.mktemp("browser"), rows)


@pytest.fixture
def browser(corpus: Corpus) -> Browser:
    return Browser(corpus)


def call(browser: Browser, tool: str, **arguments: Any) -> str:
    return browser.call(tool, arguments)


def test_a_search_lists_numbered_links_with_title_domain_and_snippet(browser: Browser) -> None:
    lines = call(browser, "search", query="Ada Korn").splitlines()
    assert lines[0] == "[0] Ada Korn (web-search://ts=0)"
    assert lines[1] == "**viewing lines [0 - 7] of 7**"
    assert lines[3:7] == ["L0: ", "L1: URL: web-search://ts=0", "L2: # Search Results", "L3: "]
    assert lines[7].startswith("L4: * 【0†Ada Korn†corpus.local】 Ada Korn was a surveyor from Tarrow.")
    assert lines[9].startswith("L6: * 【1†Velm River†corpus.local】")


def test_a_link_opens_the_document_with_its_address_first(browser: Browser) -> None:
    call(browser, "search", query="Ada Korn")
    opened = call(browser, "open", id=0)
    assert opened == (
        "[1] Ada Korn (https://corpus.local/doc/korn)\n**viewing lines [0 - 2] of 2**\n\n"
        "L0: \nL1: URL: https://corpus.local/doc/korn\n"
        "L2: Ada Korn was a surveyor from Tarrow. She charted three rivers."
    )


def test_a_long_page_is_read_in_windows(browser: Browser) -> None:
    first = call(browser, "open", id="https://corpus.local/doc/long")
    assert "**viewing lines [0 - 49] of 101**" in first
    further = call(browser, "open", loc=50, num_lines=3)
    assert further.split("\n\n")[1] == (
        "L50: Row 48 of the ledger.\nL51: Row 49 of the ledger.\nL52: Row 50 of the ledger."
    )
    assert "[100 - 101] of 101" in call(browser, "open", loc=100, num_lines=999_999)
    assert call(browser, "open", loc=1, num_lines=999_999).count("\nL") == MAX_LINES // 2 + 1


def test_a_match_shows_four_lines_and_opens_where_it_stands(browser: Browser) -> None:
    call(browser, "open", id="https://corpus.local/doc/long")
    found = call(browser, "find", pattern="ROW 7")
    assert found.startswith(
        "[1] Find results for text: `ROW 7` in `Long` (https://corpus.local/doc/long/find?pattern=ROW%207)"
    )
    assert "L0: # 【0†match at L9】\nL1: Row 7 of the ledger.\nL2: Row 8 of the ledger." in found
    assert "L4: Row 10 of the ledger.\nL5: \nL6: # 【1†match at L72】" in found
    assert call(browser, "open", id=1).startswith("[2] Long (https://corpus.local/doc/long)\n**viewing lines [68 - ")


def test_a_search_without_results_is_an_empty_listing(browser: Browser) -> None:
    found = call(browser, "search", query="zebra")
    assert found.startswith("[0] zebra")
    assert "No results found." in found
    assert call(browser, "open", id=0) == "Invalid link id `0`."


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("open", {"id": 9}, "Invalid link id `9`."),
        ("open", {"id": -2}, "Invalid link id `-2`."),
        ("open", {"id": True}, "Invalid link id `True`."),
        ("open", {"id": "9" * 40}, f"Invalid link id `{'9' * 40}`."),
        ("open", {"cursor": 4}, "Cursor `4` is out of range. Available cursor indices: [0 - 0]."),
        ("open", {"cursor": -2}, "Cursor `-2` is out of range. Available cursor indices: [0 - 0]."),
        ("open", {"cursor": "0"}, "`cursor` should be an integer, not `str`"),
        ("open", {"id": 0, "loc": 900}, "Invalid location parameter: `900`. Cannot exceed page maximum of 2."),
        ("open", {"loc": "1"}, "`loc` should be an integer, not `str`"),
        ("open", {"num_lines": 1.5}, "`num_lines` should be an integer, not `float`"),
        (
            "find",
            {"pattern": "x"},
            "Cannot run `find` on search results page or find results page; open one of its links first",
        ),
        ("find", {}, "`pattern` should be text that is not empty"),
        ("search", {"query": "  "}, "Error during search for ``: `query` should be text that is not empty"),
        ("open", {"id": "nowhere"}, "Error fetching URL `nowhere`: there is no such page in this corpus"),
        ("click", {}, '{"error": "Unknown function: click"}'),
    ],
)
def test_mistakes_leave_the_pages_as_they_were(browser: Browser, tool: str, arguments: Any, text: str) -> None:
    assert call(browser, "open") == "No pages to access!"
    call(browser, "search", query="Korn surveyor")
    assert browser.call(tool, arguments) == text
    assert call(browser, "open", id=0).startswith("[1] ")


def test_a_page_without_blanks_costs_linear_time() -> None:
    began = time.monotonic()
    lines = wrapped("x" * 2_000_000)
    assert time.monotonic() - began < 2
    assert set(map(len, lines)) == {80}


def test_a_name_cannot_pass_for_a_header() -> None:
    assert shown_name("a (https://evil.example/)\nb") == "a [https://evil.example/) b"
    assert shown_name("Find results for text: x") == "“Find results for text: x”"
    assert len(shown_name("x" * 5000)) == 300
