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
A, B = "https://a.org/x", "https://b.org/y"


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


@pytest.mark.parametrize(
    "text",
    [
        f"[1] Oslo\nURL: {A}\n{ONE}\n\n[2] Bergen\nURL: {B}\n{TWO}",
        f"1. Oslo\n   {A}\n   {ONE}\n2. Bergen\n   {B}\n   {TWO}",
        f"**Oslo**\n{A}\n{ONE}\n\n**Bergen**\n{B}\n{TWO}",
        f"**Oslo** ({A})\n{ONE}\n\n**Bergen** ({B})\n{TWO}",
        f"- Oslo ({A}): {ONE}\n- Bergen ({B}): {TWO}",
        f"- [Oslo]({A}): {ONE}\n- [Bergen]({B}): {TWO}",
        f"* Oslo - {A}\n  {ONE}\n* Bergen - {B}\n  {TWO}",
        f"### Oslo\nURL: {A}\n{ONE}\n\n### Bergen\nURL: {B}\n{TWO}",
        f"### [Oslo]({A})\n{ONE}\n\n### [Bergen]({B})\n{TWO}",
        f"### 1. Oslo\n**URL:** {A}\n{ONE}\n\n### 2. Bergen\n**URL:** {B}\n{TWO}",
        f"## Search Results\n\n### Oslo\nURL: {A}\n{ONE}\n\n### Bergen\nURL: {B}\n{TWO}",
        f"Oslo\n{A}\n{ONE}\n\nBergen\n{B}\n{TWO}",
        f"<results>\n<result><title>Oslo</title><url>{A}</url><snippet>{ONE}</snippet></result>\n"
        f"<result><title>Bergen</title><url>{B}</url><snippet>{TWO}</snippet></result>\n</results>",
        f'<result title="Oslo" url="{A}">{ONE}</result><result title="Bergen" url="{B}">{TWO}</result>',
        "\n".join(
            json.dumps({"title": title, "url": url, "content": text})
            for title, url, text in (("Oslo", A, ONE), ("Bergen", B, TWO))
        ),
        f"snippet: {ONE}, title: Oslo, link: {A}, snippet: {TWO}, title: Bergen, link: {B}",
        f"[snippet: {ONE}, title: Oslo, link: {A}], [snippet: {TWO}, title: Bergen, link: {B}]",
        f"Source: {{'source': '{A}', 'title': 'Oslo'}}\nContent: {ONE}\n\n"
        f"Source: {{'source': '{B}', 'title': 'Bergen'}}\nContent: {TWO}",
        f"URL: {A}\nTitle: Oslo\nContent: {ONE}\n\nURL: {B}\nTitle: Bergen\nContent: {TWO}",
        f"--- SOURCE 1: Oslo ---\nURL: {A}\n\nSUMMARY:\n{ONE}\n\n{'-' * 80}\n\n"
        f"--- SOURCE 2: Bergen ---\nURL: {B}\n\nSUMMARY:\n{TWO}\n\n{'-' * 80}",
        json.dumps(  # Chroma's columns
            {
                "ids": [["d1", "d2"]],
                "documents": [[ONE, TWO]],
                "metadatas": [[{"title": "Oslo", "source": A}, {"title": "Bergen", "source": B}]],
                "data": None,
            }
        ),
        json.dumps(  # Elasticsearch
            {
                "took": 3,
                "hits": {
                    "total": {"value": 2},
                    "hits": [
                        {"_id": "o", "_score": 1.0, "_source": {"title": "Oslo", "url": A, "text": ONE}},
                        {"_id": "b", "_score": 0.5, "_source": {"title": "Bergen", "url": B, "text": TWO}},
                    ],
                },
            }
        ),
    ],
)
def test_results_with_addresses_are_told_apart(text: str) -> None:
    assert only(text, "q") == [("Oslo", A, None, ONE), ("Bergen", B, None, TWO)]


def test_sources_without_titles_are_told_apart_by_their_addresses() -> None:
    expected = [(None, A, None, ONE), (None, B, None, TWO)]
    assert only(f"Source: {A}\nContent: {ONE}\n\nSource: {B}\nContent: {TWO}", "q") == expected
    assert only(f"{A}\n{ONE}\n\n{B}\n{TWO}", "q") == expected
    wrapped = f'<Document href="{A}"/>\n{ONE}\n</Document>\n\n---\n\n<Document href="{B}"/>\n{TWO}\n</Document>'
    assert only(wrapped, "q") == expected


def test_sources_that_are_no_addresses_are_titles() -> None:
    text = f"Source: Oslo\nContent: {ONE}\n\nSource: Bergen\nContent: {TWO}"
    assert only(text, "q") == [("Oslo", None, None, ONE), ("Bergen", None, None, TWO)]


@pytest.mark.parametrize("mark", ["### {}", "**{}**"])
def test_headings_without_addresses_count_only_where_results_are_announced(mark: str) -> None:
    text = f"{mark.format('Oslo')}\n{ONE}\n\n{mark.format('Bergen')}\n{TWO}"
    ((whole,),) = read_search(text, ("q",))
    assert TWO in whole.text
    assert ONE in whole.text
    expected = [("Oslo", None, None, ONE), ("Bergen", None, None, TWO)]
    assert only(f"Found 2 results:\n\n{text}", "q") == expected
    assert only(f"## Search Results\n{text}", "q") == expected


def test_what_a_page_lists_below_its_own_headings_belongs_to_the_page() -> None:
    page = f"{ONE}\n### History\nOld.\n- See Bergen ({B}): nice\n**Bold**\nSource: hearsay\nContent: none"
    text = f"### Oslo\nURL: {A}\n{page}\n\n### Bergen\nURL: {B}\n{TWO}"
    assert only(text, "q") == [("Oslo", A, None, page), ("Bergen", B, None, TWO)]


_WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäß", min_size=1, max_size=8)
_LINE = st.builds(
    lambda start, words: start + " ".join(words),
    st.sampled_from(("", "", "", "7. ", "- ", "# ", "> ", "note: ", "[9] ", "<b> ")),
    st.lists(_WORD, min_size=1, max_size=6),
)
_BODY = st.lists(_LINE, min_size=1, max_size=5).map(lambda lines: "\n".join(["It says", *lines, "the end."]))
_LAYOUTS = {
    "brackets": lambda n, title, url, text: f"[{n}] {title}\nURL: {url}\n{text}\n",
    "numbers": lambda n, title, url, text: f"{n}. {title}\n{url}\n{text}\n",
    "bold": lambda n, title, url, text: f"**{title}**\n{url}\n{text}\n",
    "headings": lambda n, title, url, text: f"### {title}\nURL: {url}\n{text}\n",
    "bullets": lambda n, title, url, text: f"- {title} ({url}): {text}",
    "elements": lambda n, title, url, text: f"<result><title>{title}</title><url>{url}</url>\n{text}\n</result>",
    "labels": lambda n, title, url, text: f"Source: {url}\nTitle: {title}\nContent: {text}\n",
    "lines": lambda n, title, url, text: json.dumps({"title": title, "url": url, "content": text}),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
@given(items=st.lists(st.tuples(_WORD, _BODY), min_size=2, max_size=5))
def test_what_a_tool_wrote_comes_out_whole_and_in_order(layout: str, items: list[tuple[str, str]]) -> None:
    named = [(title.capitalize(), f"https://a.org/{place}", text) for place, (title, text) in enumerate(items)]
    written = "\n".join(_LAYOUTS[layout](place, *item) for place, item in enumerate(named, start=1))
    assert [(title, url, text) for title, url, _, text in only(written, "q")] == named


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
        f"# Oslo\n{ONE}\n## History\n{TWO}\n## Sights\n1. Opera\n2. Fjord",
        f"## Overview\n{ONE}\n## History\n{TWO}",
        f"**Oslo** is a city.\n{ONE}\n\n**Bergen** is another.\n{TWO}",
        f"- {ONE}\n- {TWO}",
        f"Oslo Guide (see {A}) says: {ONE}\n\n{TWO}",
        f"{ONE}\n\nSee also:\n{A}\n\nSources:\n{B}",
        f"Date: Monday\n{ONE}\nSource: hearsay",
        f"{{{ONE}}}\n{{{TWO}}}",
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
