"""Lines of browser logs that stay JSON until somebody reads them: the same rollouts as by the careful way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracerank.readers import read_pools
from tracerank.readers.base import Parsed
from tracerank.readers.browser.events import LateMessages
from tracerank.readers.files.records import Problem, RecordAt
from tracerank.readers.formats.browsing import BrowsingReader

READER = BrowsingReader()
Message = dict[str, Any]

# Whatever a page may hold that needs cleaning, and what only looks like a mark of the browser.
ODD = (
    *("café", "cafe\u0301", "\u00a0", "a\u2003b", "two  blanks", " ", "", "tab\there", "\x7f", "\u200b", "\u3000x"),
    *("back\\slash", "\\", "\\nL1: x", 'quo"te', "L7: inner", "URL: https://other.org", "\r", "😀", "Żubr – “x”"),
    *("각", "\u1100\u1161", "\u212b", "\U0001d15e", "東京", "**viewing lines [0 - 1] of 2**", "【1†match at L3】"),
)
TITLES = ("Title", "Żubr", "– dash", "\u00a0 blank", "", "Doc 12", "Find results for text: `x` in `y`", "\\ back")
URLS = (
    "https://ex.org/a",
    "https://ex.org/caf%C3%A9",
    "https://ex.org/a_(b)",
    "https://ex.org/long...",
    "web-search://1",
)
WORDS = st.lists(st.sampled_from(("plain words here", "more of them ", *ODD)), max_size=3).map(" ".join)


def said(role: str, text: Any, recipient: str | None = None, **more: Any) -> Message:
    content = [{"channel_config": None, "text": text, "type": "text"}]
    return {"role": role, "channel": None, "content": content, "name": None, "recipient": recipient, **more}


def call(tool: str, arguments: Any, result: Any) -> list[Message]:
    return [
        said("assistant", "Let me see.", channel="analysis"),
        said("assistant", json.dumps(arguments), f"browser.{tool}", channel="analysis"),
        said("tool", result, "assistant", name=f"browser.{tool}"),
    ]


@st.composite
def pages(draw: st.DrawFn) -> str:
    first = draw(st.sampled_from((0, 3, 4093)))
    shown = draw(st.lists(WORDS, min_size=1, max_size=6))
    url, title = draw(st.sampled_from(URLS)), draw(st.sampled_from(TITLES))
    field = draw(st.sampled_from(([], ["", f"URL: {url}"], [f"URL: {url[:9]}", url[9:]], ["", "", "", "", "URL: x"])))
    lines = [f"L{first + place}: {line}" for place, line in enumerate([*field, *shown])]
    lines[draw(st.integers(0, len(lines) - 1))] += draw(st.sampled_from(("", "\nunnumbered", "\n\n", "\nL99: jump")))
    cursor = draw(st.sampled_from(("[3] ", "[3]", " [3]  ", "[٣] ", "", "[3] \u2003")))
    view = draw(st.sampled_from(("\n**viewing lines [0 - 9] of 40**\n\n", "\n**viewing lines [0 - 9] of 40**\n", "\n")))
    return f"{cursor}{title} ({url}){view}" + "\n".join(lines)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    results = st.one_of(pages(), WORDS, st.sampled_from(('"[1] said twice"', None, 7, "Error fetching URL")))
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(("search", "open", "find", "other")),
                st.sampled_from(({"query": "q"}, {"id": 0, "cursor": 3}, {"pattern": "x"}, [], {"id": URLS[0]})),
                results,
            ),
            max_size=4,
        )
    )
    messages = [said("system", None), said("user", draw(st.sampled_from(("Who?", ""))))]
    messages += [message for step in steps for message in call(*step)]
    odd = st.sampled_from(
        (
            said("assistant", "plain"),
            said("assistant", "to all", "all"),
            said("tool", "[9] nobody asked"),
            said("developer", "be brief"),
            said("assistant", "{}", "browser.open<|channel|>analysis"),
        )
    )
    for message in draw(st.lists(odd, max_size=2)):
        messages.insert(draw(st.integers(0, len(messages))), message)
    messages += call("search", {"query": ["a", "b"]}, "[3] a (web-search://ts=1)\nL0: x")
    messages.append(said("assistant", draw(WORDS), channel="final"))
    return {"qid": 1, "sample_id": 0, "question": "Who?", "answer": "x", "correct": True, "messages": messages}


def reads_like(record: dict[str, Any]) -> Callable[..., Any]:
    """What makes a record of the line of another."""
    read = READER.reading_like(record)
    assert read is not None

    def value(other: dict[str, Any], is_escaped: bool = True) -> Any:
        item = read(json.dumps(other, ensure_ascii=is_escaped).encode(), "here")
        assert isinstance(item, RecordAt)
        return item.value

    return value


def outcome(record: Any) -> Parsed | str:
    try:
        return READER.parse(record, "here")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@settings(max_examples=400)
@given(records(), st.booleans())
def test_an_unread_line_is_the_same_rollout(record: dict[str, Any], is_escaped: bool) -> None:
    unread = reads_like(record)(record, is_escaped)
    assert isinstance(unread["messages"], LateMessages)
    assert READER.recognises(unread)
    assert READER.recognises(record)
    assert outcome(unread) == outcome(record)


def plain() -> dict[str, Any]:
    shown = "[0] T (https://ex.org/a)\n**viewing lines [0 - 1] of 2**\n\nL0: \nL1: URL: https://ex.org/a\nL2: Body."
    asked, final = said("user", "Who?"), said("assistant", "Me", channel="final")
    messages = [asked, *call("open", {"id": "https://ex.org/a"}, shown), final]
    return {"qid": 1, "sample_id": 0, "question": "Who?", "messages": messages}


def changed(place: int, **fields: Any) -> dict[str, Any]:
    record = plain()
    record["messages"][place] |= fields
    return record


@pytest.mark.parametrize(
    "record",
    [
        changed(0, content="a bare text"),
        changed(0, content=[{"text": "in"}, {"text": "parts"}]),
        changed(0, content=[]),
        changed(2, tool_calls=[{"id": "1"}]),
        changed(3, tool_call_id="1"),
        changed(0, role="User"),
        changed(2, channel="analysis<|x|>"),
        changed(2, recipient="functions.search"),
        {**plain(), "question": "[1, 2] are what?"},
        {**plain(), "more": 1},
        {name: value for name, value in plain().items() if name != "question"},
        {**plain(), "messages": None},
    ],
)
def test_what_is_not_plain_is_read_with_care(record: dict[str, Any]) -> None:
    assert reads_like(plain())(record) == record


def test_a_record_with_fields_of_its_own_or_without_a_sample_is_no_example() -> None:
    assert READER.reading_like({**plain(), "trace_id": "x"}) is None
    assert READER.reading_like({name: value for name, value in plain().items() if name != "sample_id"}) is None


def test_a_damaged_line_is_told_as_any_other() -> None:
    read = READER.reading_like(plain())
    assert read is not None
    assert isinstance(read(json.dumps(plain()).encode()[:-5], "here"), Problem)


def test_after_a_line_with_other_fields_lines_are_decoded_as_they_are() -> None:
    read = reads_like(plain())
    read({**plain(), "more": 1})
    assert read(plain()) == plain()


def test_broken_utf8_is_replaced_as_elsewhere(tmp_path: Path) -> None:
    lines = [json.dumps({**plain(), "sample_id": sample}).encode() for sample in range(3)]
    lines[2] = lines[2].replace(b"Body.", b"B\xe2\x82dy.")
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines))
    (pool,) = read_pools(path)
    assert [rollout.searches[0].evidence[0].text for rollout in pool.rollouts] == [
        *["T (https://ex.org/a) URL: https://ex.org/a Body."] * 2,
        "T (https://ex.org/a) URL: https://ex.org/a B\ufffddy.",
    ]


def test_a_file_of_several_kinds_of_lines_is_read_as_each_line_alone(tmp_path: Path) -> None:
    kinds = [plain(), {**plain(), "more": 1}, plain(), changed(0, content="bare"), plain()]
    rows = [{**record, "sample_id": sample} for sample, record in enumerate(kinds)]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    (pool,) = read_pools(path)
    alone = [READER.parse(row, f"{path}:{number}").rollout for number, row in enumerate(rows, 1)]
    assert list(pool.rollouts) == alone
