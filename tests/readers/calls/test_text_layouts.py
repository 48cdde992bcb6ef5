"""Search results that a tool wrote as plain text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readers.calls.test_returns import only
from tracerank.readers.calls.returns import read_search
from tracerank.readers.calls.text_layouts import laid_out
from tracerank.readers.detect import detect

ONE, TWO = "Oslo is the capital of Norway. It has a fjord.", "Bergen lies in the west; it rains there."
A = "https://a.org/x"


@pytest.mark.parametrize(
    "text",
    [
        f"[1] Oslo\n{ONE}\n\n[2] Bergen\n{TWO}",
        f"[0] Oslo\n{ONE}\n[1] Bergen\n{TWO}",
        f"Search results:\n\n1. **Oslo**: {ONE}\n2. **Bergen**: {TWO}",
        f"1) Oslo\n   {ONE}\n2) Bergen\n   {TWO}",
        f"Result 1:\nTitle: Oslo\nContent: {ONE}\n\nResult 2:\nTitle: Bergen\nContent: {TWO}",
        f"### Document 1\nTitle: Oslo\n{ONE}\n### Document 2\nTitle: Bergen\n{TWO}",
        f"Title: Oslo\nContent: {ONE}\n---\nTitle: Bergen\nContent: {TWO}\n---",
        f"**Title:** Oslo\n**Content:** {ONE}\n\n**Title:** Bergen\n**Content:** {TWO}",
        f"## Oslo\n{ONE}\n---\n## Bergen\n{TWO}",
        f"<document><title>Oslo</title><content>{ONE}</content></document>\n"
        f"<document><title>Bergen</title><content>{TWO}</content></document>",
        f'<doc id="1">Oslo\n{ONE}</doc><doc id="2">Bergen\n{TWO}</doc>',
        str([{"title": "Oslo", "contents": ONE}, {"title": "Bergen", "contents": TWO}]),
        json.dumps(str([{"title": "Oslo", "content": ONE}, {"title": "Bergen", "content": TWO}])),
    ],
)
def test_results_under_marks_are_told_apart(text: str) -> None:
    assert only(text, "q") == [("Oslo", None, None, ONE), ("Bergen", None, None, TWO)]


def test_addresses_and_what_is_said_about_a_result_are_no_text() -> None:
    text = f"[1] Title: Oslo\nURL: {A}\nDate: 2020-01-01\nScore: 0.7\nSnippet: {ONE}\n\n[2] Title: Bergen\nText: {TWO}"
    assert only(text, "q") == [("Oslo", A, None, ONE), ("Bergen", None, None, TWO)]


@pytest.mark.parametrize("line", [f"Oslo ({A})", f"Oslo - {A}", f"Oslo <{A}>"])
def test_an_address_beside_the_title_is_the_address(line: str) -> None:
    assert only(f"[1] {line}\n{ONE}\n\n[2] Bergen\n{TWO}", "q")[0] == ("Oslo", A, None, ONE)


def test_the_same_passage_is_the_same_text_wherever_it_ranks() -> None:
    (first,) = read_search(f"[1] Oslo\n{ONE}\n\n[2] Bergen\n{TWO}", ("q",))
    (second,) = read_search(f"[1] Bergen\n{TWO}\n\n[2] Oslo\n{ONE}", ("q",))
    assert {result.text for result in first} == {result.text for result in second}


@pytest.mark.parametrize(
    "page",
    [
        ONE,
        f"{ONE}\n1. First they came.\n2. Then they went.",  # the page's own list
        f"[1] {ONE}",
        f"2. {ONE}\n3. {TWO}",
        f"1. {ONE}\n[2] {TWO}",  # two kinds of marks
        f"<document>{ONE}</document> and <document>{TWO}",
        f"{ONE}\n---\n{TWO}",
        f"Title: Oslo\n{ONE}",
        "[{'title': 'Oslo', __import__('os')}]",
    ],
)
def test_what_has_no_marks_of_the_tool_stays_whole(page: str) -> None:
    ((result,),) = read_search(page, ("q",))
    assert ONE.split(".")[0] in result.text or page in result.text


def test_a_page_that_counts_out_of_turn_begins_no_result() -> None:
    text = f"[1] Oslo\n{ONE}\n[7] {TWO}\n[2] Bergen\n{TWO}"
    assert [result.title for result in laid_out(text)] == ["Oslo", "Bergen"]


def test_a_chat_whose_tool_numbers_its_results_is_no_browser() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": '{"query": "q"}'}}
    messages = [
        {"role": "user", "content": "What is the capital of Norway?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"[1] Oslo\n{ONE}\n\n[2] Bergen\n{TWO}"},
        {"role": "assistant", "content": "Final Answer: Oslo"},
    ]
    reader = detect({"messages": messages})
    assert reader is not None
    assert reader.name == "openai-chat"
    rollout = reader.parse({"messages": messages}, "here").rollout
    assert rollout.answer == "Oslo"
    assert [evidence.title for evidence in rollout.searches[0].evidence] == ["Oslo", "Bergen"]


@given(st.text(alphabet=list("[]1234. \n#-<>/documentTitle:*Ab"), max_size=300))
def test_any_text_gives_ranked_results_made_of_its_own_words_in_its_own_order(text: str) -> None:
    results = laid_out(text)
    assert [result.rank for result in results] == list(range(1, len(results) + 1))
    rest = text
    for result in results:
        for line in filter(None, map(str.strip, (result.text or "").split("\n"))):
            before, found, rest = rest.partition(line)
            assert found, (before, line)
