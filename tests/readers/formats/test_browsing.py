"""The browser's transcripts beyond single records: dialects that say the same, dirt, hostile sizes."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.readers.formats.test_cases import CASES, record
from tracerank.errors import MalformedRollout
from tracerank.pools.documents import link_documents
from tracerank.pools.types import Evidence, Rollout
from tracerank.readers.browser import page_texts
from tracerank.readers.browser.headers import page_header
from tracerank.readers.formats.browsing import BrowsingReader

READER = BrowsingReader()
PAGE = "[0] Title (https://ex.org/a)\n**viewing lines [0 - 2] of 9**\n\nL0: \nL1: URL: https://ex.org/a\nL2: {}"
FOUND = "[0] Find results for text: `x` in `Title`\nL0: # 【0†match at L0】\nL0: {}"


def opened(text: str = PAGE, *, found: str = FOUND, arguments: str = "{}", answer: str = "Paris") -> dict[str, Any]:
    """A run that opens a page and searches within it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which city?"}]
    for tool, result in (("browser.open", text), ("browser.find", found)):
        messages.append({"role": "assistant", "channel": "analysis", "recipient": tool, "content": arguments})
        messages.append({"role": "tool", "name": tool, "content": [{"type": "text", "text": result}]})
    messages.append({"role": "assistant", "channel": "final", "content": answer})
    return {"qid": 1, "sample_id": 0, "messages": messages}


def rollout(row: dict[str, Any]) -> Rollout:
    return READER.parse(row, "log.jsonl:1").rollout


def evidence(one: Rollout) -> list[Evidence]:
    return [seen for search in one.searches for seen in search.evidence]


def all_text(one: Rollout) -> str:
    """Everything textual that a rollout holds."""
    texts = [one.answer, *(search.query for search in one.searches)]
    for seen in evidence(one):
        texts += [seen.text, seen.title, seen.url, seen.document.key if seen.document else None]
    for view in one.views:
        texts += [view.requested, view.url, view.displayed, view.number, view.fallback]
    return "\n".join(text for text in texts if text is not None)


def test_all_dialects_of_one_transcript_read_the_same() -> None:
    """Harmony recipients, calls with their arguments as text or as objects, typed events."""
    rows = [case["records"][0] for case in CASES if case["shows"].startswith("all dialects")]
    first, *others = map(rollout, rows)
    assert len(others) == 3
    assert all(other == first for other in others)
    assert [view.parent for view in first.views] == [None, 0, 1]


def test_a_page_that_was_opened_lends_its_source_to_what_goes_on_in_it() -> None:
    (linked,) = link_documents([rollout(record("browsing", "a find view inherits its parents page"))])
    assert {seen.document.key for seen in evidence(linked) if seen.document} == {"url:https://ex.org/a"}
    inherited = ["find_inherits_source", "open_inherits_source"]
    assert [seen.status for seen in evidence(linked)] == ["returned_URL_field_matches_display", *inherited]
    assert {view.fallback for view in linked.views} == {"https://ex.org/a"}


def test_private_groups_name_no_sample_because_it_may_be_numbered_later() -> None:
    one = rollout(record("browsing", "private groups name no sample because it may be numbered later"))
    (linked,) = link_documents([one])
    assert one.views[0].fallback == "event:0"
    assert [seen.document.key for seen in evidence(linked) if seen.document] == ["unresolved:0:event:0"]


def test_a_wrapped_address_is_put_together_again() -> None:
    text = (
        "T (https://ex.org/é/b)\n**viewing lines [0 - 3] of 9**\nL0: \n"
        "L1: URL: https://ex.org/%C3\nL2: %A9%2\nL3: Fb\nL4: body"
    )
    header = page_header(text)
    assert (header.url, header.url_field_agrees) == ("https://ex.org/%C3%A9%2Fb", True)


def test_titles_are_kept_apart_from_addresses_with_parentheses() -> None:
    header = page_header("Mercury (planet) (https://en.wikipedia.org/wiki/Mercury_(planet))\nL0: x")
    assert (header.title, header.displayed) == ("Mercury (planet)", "https://en.wikipedia.org/wiki/Mercury_(planet)")


@pytest.mark.parametrize("arguments", ["[" * 100_000, "7" * 5000])
def test_arguments_that_no_decoder_takes_make_an_invalid_view(arguments: str) -> None:
    one = rollout(opened(arguments=arguments))
    assert [view.is_valid for view in one.views] == [False, False]
    assert len(evidence(one)) == 2


def test_lone_surrogates_are_replaced() -> None:
    bad = "a\ud800b"
    row = opened(PAGE.replace("/a", f"/{bad}"), found=FOUND.replace("{}", bad), answer=bad)
    one = READER.parse({**row, "question": bad, "qid": bad}, "log.jsonl:1")
    assert one.question.text == one.question.id == one.rollout.answer == "a\ufffdb"
    assert evidence(one.rollout)[1].text == "a\ufffdb"
    all_text(link_documents([one.rollout])[0]).encode()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def a_dictionary_with(*names: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), values, max_size=len(names))


TOOL_NAMES = st.sampled_from(["browser.search", "browser.open", "browser.find"])
TEXTS = st.sampled_from([PAGE, FOUND, "[1] q (web-search://ts=1)", "", "{}", '{"id": -1, "cursor": 0}'])
FUNCTIONS = a_dictionary_with("name", "arguments", values=ANYTHING | TOOL_NAMES | TEXTS)
CALLS = a_dictionary_with("id", "function", values=ANYTHING | FUNCTIONS)
ROLES = st.sampled_from(["assistant", "tool", "user"])
MESSAGES = st.builds(
    lambda role, rest: {**rest, "role": role},
    ROLES | ANYTHING,
    a_dictionary_with(
        *("recipient", "channel", "content", "name", "tool_calls", "tool_call_id"),
        values=ANYTHING | TOOL_NAMES | TEXTS | st.lists(CALLS, max_size=3),
    ),
)
EVENTS = a_dictionary_with(
    *("event_id", "message_index", "tool_type", "arguments", "result", "result_cursor", "result_message_index"),
    *("observation_parts", "arguments_valid", "source_event_id", "source_cursor"),
    values=ANYTHING | TOOL_NAMES | TEXTS | st.integers(0, 3),
)
RECORDS = a_dictionary_with(
    *("qid", "id", "sample_id", "seed", "question", "query", "correct", "candidate_answer", "answer"),
    *("messages", "tool_events"),
    values=ANYTHING | st.lists(MESSAGES | ANYTHING, max_size=6) | st.lists(EVENTS | ANYTHING, max_size=4),
)


@given(RECORDS)
@settings(max_examples=150, deadline=None)
def test_no_record_raises_anything_but_a_malformed_rollout(row: dict[str, Any]) -> None:
    assert READER.recognises(row) in (True, False)
    try:
        parsed = READER.parse(row, "log.jsonl:1")
    except MalformedRollout as error:
        assert str(error)  # noqa: PT017
    else:
        all_text(link_documents([parsed.rollout])[0]).encode()


@pytest.mark.parametrize("margin", [page_texts._MARGIN, page_texts._PAGE_MARGIN])
@given(st.lists(st.sampled_from(["\n", "L0:", "L12", ":", " ", "\r", "\u00a0", "**viewing lines ", "**", "a", "*"])))
def test_the_usual_margin_is_found_as_any_other(margin: re.Pattern[str], parts: list[str]) -> None:
    plain = re.compile(r"\n(?:" + margin.pattern.removeprefix(page_texts._USUAL))
    text = "\n" + "".join(parts)
    assert margin.sub(" ", text) == plain.sub(" ", text)


HOSTILE: dict[str, Callable[[int], str]] = {
    "words": lambda size: "word " * (size // 5),
    "blank lines": lambda size: "\n" * size,
    "blank numbered lines": lambda size: "\nL0: " * (size // 5),
    "blanks": lambda size: " " * size,
    "parentheses": lambda size: "(" * size,
    "addresses": lambda size: "(https://h " * (size // 11),
    "viewports": lambda size: "\n**viewing lines ** ** **" * (size // 24),
    "stars": lambda size: "\n**viewing lines" + "** x" * (size // 4),
    "digits": lambda size: "\nL" + "1" * size,
    "matches": lambda size: "\nL0: # 【0†match at L0】" * (size // 22),
    "escaped blanks": lambda size: " %20" * (size // 4),
    "half escapes": lambda size: " % 20" * (size // 5),
    "closings": lambda size: ") " * (size // 2),
}


@pytest.mark.parametrize("shape", HOSTILE)
@pytest.mark.parametrize(
    "header", ["[0] T (https://h/a{})\n**viewing lines [0 - 1] of 2**\nL0: URL: https://h/a{}", "[0] T {}"]
)
def test_time_grows_no_faster_than_the_page(shape: str, header: str) -> None:
    def seconds(size: int) -> float:
        filling = HOSTILE[shape](size)
        text = header.replace("{}", filling)
        row = opened(text, found=text, answer=filling)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            link_documents([rollout(row)])
            best = min(best, time.process_time() - start)
        return best

    # Four times the text: about 4 when linear, 16 when quadratic; very short times say nothing.
    small, large = seconds(50_000), seconds(200_000)
    assert large < 10 * max(small, 0.005)


def test_a_page_of_ten_megabytes_is_no_burden() -> None:
    words = "word " * 2_000_000
    start = time.process_time()
    one = rollout(opened(PAGE.replace("{}", words), answer=words))
    assert time.process_time() - start < 10
    assert len(evidence(one)[0].text) > 9_999_000
