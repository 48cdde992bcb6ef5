"""Lines of browser logs that stay JSON until somebody reads them: the same rollouts as by the careful way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden import GOLDEN, needs_golden
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools
from tracerank.readers.base import Parsed
from tracerank.readers.browser.events import LateMessages
from tracerank.readers.files.model_calls import goes_on
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


def spoken(message: Message) -> Any:
    return message["content"][0]["text"]


@st.composite
def reshaped(draw: st.DrawFn, record: dict[str, Any]) -> dict[str, Any]:
    """The same run with bare texts, texts in several parts, or calls with ids."""
    messages: list[Message] = []
    count = 0
    with_ids = draw(st.booleans())
    for message in record["messages"]:
        text, message = spoken(message), dict(message)
        shapes: list[Any] = [message["content"], []]
        if text is None or isinstance(text, str):
            shapes.append(text)
        if isinstance(text, str):
            shapes.append([{"text": text[:4], "type": "text"}, {"text": None}, {"text": text[4:]}])
        message["content"] = draw(st.sampled_from(shapes))
        if with_ids and message["role"] == "assistant" and "browser" in (message["recipient"] or ""):
            count += 1
            arguments = draw(st.sampled_from((text, json.loads(text), None)))
            called = {"name": message["recipient"], "arguments": arguments}
            message |= {
                "recipient": None,
                "tool_calls": [{"id": draw(st.sampled_from((f"c{count}", count, None))), "function": called}],
            }
        elif with_ids and message["role"] == "tool":
            message |= {"tool_call_id": draw(st.sampled_from((f"c{count}", str(count), None, "of nobody")))}
            message["name"] = draw(st.sampled_from((message["name"], None)))
        messages.append(message)
    messages.append(said("assistant", "{}", "browser.find"))
    return {**record, "messages": messages}


@st.composite
def typed(draw: st.DrawFn) -> dict[str, Any]:
    """A run as typed events."""
    results = st.one_of(pages(), WORDS, st.sampled_from(('"[1] said twice"', None, "Error fetching URL")))
    numbers = st.sampled_from((None, 0, 1, 3, 7))
    events = [
        {
            "event_id": draw(st.sampled_from((place, 0))),
            "message_index": 2 * place,
            "tool_type": draw(st.sampled_from(("browser.open", "find", "search", "other"))),
            "arguments": draw(st.sampled_from(({"id": 0, "cursor": 3}, '{"query": "q"}', None, {"id": URLS[0]}))),
            "result": draw(results),
            "result_cursor": draw(numbers),
            "result_message_index": draw(numbers),
        }
        for place in range(draw(st.integers(0, 4)))
    ]
    events.append({"event_id": 9, "message_index": 9, "tool_type": "browser.search"})
    return {"qid": 1, "traj_idx": 0, "query": "Who?", "answer": draw(WORDS), "tool_events": events}


NUMBERS: tuple[dict[str, Any], ...] = ({"sample_id": 0}, {"seed": 42}, {"traj_idx": 0}, {"latency_s": 1.5}, {})


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """A run of any of the shapes that are taken, numbered in any of the ways."""
    record = draw(st.one_of(records(), records().flatmap(reshaped), typed()))
    numbered = {name: value for name, value in record.items() if name not in ("sample_id", "traj_idx")}
    return numbered | draw(st.sampled_from(NUMBERS))


@settings(max_examples=800)
@given(runs(), st.booleans())
def test_an_unread_line_is_the_same_rollout(record: dict[str, Any], is_escaped: bool) -> None:
    unread = reads_like(record)(record, is_escaped)
    listed = unread.get("messages", unread.get("tool_events"))
    assert isinstance(listed, LateMessages)
    assert listed.plain() == record.get("messages", record.get("tool_events"))
    assert READER.recognises(unread)
    assert READER.recognises(record)
    assert outcome(unread) == outcome(record)


def plain() -> dict[str, Any]:
    shown = "[0] T (https://ex.org/a)\n**viewing lines [0 - 1] of 2**\n\nL0: \nL1: URL: https://ex.org/a\nL2: Body."
    asked, final = said("user", "Who?"), said("assistant", "Me", channel="final")
    messages = [asked, *call("open", {"id": "https://ex.org/a"}, shown), final]
    return {"qid": 1, "sample_id": 0, "question": "Who?", "messages": messages}


EVENT = {"event_id": 0, "message_index": 2, "tool_type": "browser.open", "result": "[3] x"}


def changed(place: int, **fields: Any) -> dict[str, Any]:
    record = plain()
    record["messages"][place] |= fields
    return record


@pytest.mark.parametrize(
    "record",
    [
        changed(0, content={"text": "one part"}),
        changed(0, content=["bare", {"text": "parts"}]),
        changed(0, content=[{"content": "<search>"}]),
        changed(2, tool_calls=[{"id": "1"}]),
        changed(2, tool_calls=[{"id": 1.5, "function": {}}]),
        changed(3, tool_call_id=[]),
        changed(0, role="User"),
        changed(2, channel="analysis<|x|>"),
        changed(2, recipient="functions.search"),
        {**plain(), "question": "[1, 2] are what?"},
        {**plain(), "more": 1},
        {**plain(), "messages": None},
        {**plain(), "messages": [1]},
        {**plain(), "messages": [said("user", "No browser.")]},
        {**plain(), "tool_events": []},
        {"qid": 1, "query": "Who?", "tool_events": []},
        {"qid": 1, "query": "Who?", "tool_events": [{**EVENT, "source_cursor": 3}]},
        {"qid": 1, "query": "Who?", "tool_events": [{**EVENT, "observation_parts": []}]},
        {"qid": 1, "query": "Who?", "tool_events": [{**EVENT, "result": ["in parts"]}]},
    ],
)
def test_what_is_not_plain_is_read_with_care(record: dict[str, Any]) -> None:
    assert reads_like(plain())(record) == record


def test_a_record_with_fields_of_its_own_is_no_example() -> None:
    assert READER.reading_like({**plain(), "trace_id": "x"}) is None


@pytest.mark.parametrize("numbered", NUMBERS)
@pytest.mark.parametrize("words", ["<search>x</search>", "Calling tools: [{}]", "\u003csearch>"])
def test_words_that_other_formats_look_for_are_read_with_care(numbered: dict[str, Any], words: str) -> None:
    unnumbered = {name: value for name, value in plain().items() if name != "sample_id"}
    record = unnumbered | numbered
    record["messages"].insert(1, said("assistant", words, channel="analysis"))
    assert reads_like(record)(record) == record
    escaped = json.dumps(record).replace("<search>", "\\u003csearch\\u003e").encode()
    read = READER.reading_like(record)
    assert read is not None
    item = read(escaped, "here")
    assert isinstance(item, RecordAt)
    assert item.value == record


def pools_of(path: Path, rows: list[dict[str, Any]]) -> list[Pool]:
    path.write_text("\n".join(map(json.dumps, rows)))
    return read_pools(path, on_problem=lambda _: None)


def grown(contents: Callable[[Any], Any]) -> list[dict[str, Any]]:
    """Records without a sample: a run, two states of the next one, and that as a whole."""
    whole = {name: value for name, value in plain().items() if name != "sample_id"}
    whole["messages"] = [{**message, "content": contents(spoken(message))} for message in whole["messages"]]
    *begun, final = whole["messages"]
    other = {**final, "content": contents("You")}
    more = [{**message, "content": contents("more")} for message in (begun[1], other)]
    ends = ([*begun, final], [*begun, other], [*begun, other, more[0]], [*begun, other, more[0], more[1]])
    return [{**whole, "messages": messages} for messages in ends]


@pytest.mark.parametrize("contents", [str, lambda text: [{"text": text}], lambda text: [{"text": text}, {"text": ""}]])
def test_states_of_one_run_that_grow_are_one_rollout(tmp_path: Path, contents: Callable[[Any], Any]) -> None:
    rows = grown(contents)
    (pool,) = pools_of(tmp_path / "log.jsonl", [rows[0], *rows])
    (careful,) = pools_of(tmp_path / "log.jsonl", [{**row, "more": 1} for row in [rows[0], *rows]])
    assert [rollout.answer for rollout in pool.rollouts] == ["Me", "Me", "more"]
    assert pool == careful


def test_states_are_compared_where_only_one_of_them_is_read_with_care(tmp_path: Path) -> None:
    *_, begun, whole = grown(str)
    begun["messages"][0]["content"] = {"text": "Who?"}
    whole["messages"][0]["content"] = {"text": "Who?"}
    mixed = grown(str)
    rows = [mixed[0], mixed[0], mixed[0], begun, mixed[3], mixed[2], whole]
    (pool,) = pools_of(tmp_path / "log.jsonl", rows)
    (careful,) = pools_of(tmp_path / "log.jsonl", [{**row, "more": 1} for row in rows])
    assert pool == careful


def test_lists_that_differ_only_in_what_is_not_read_do_not_go_on() -> None:
    rows = grown(str)[2:]
    first, thought, *rest = rows[0]["messages"]
    rows[0]["messages"] = [first, {**thought, "reasoning": "a thought"}, *rest]
    read = reads_like(rows[0])
    old, new = (read(row) for row in rows)
    assert old["messages"].may_begin(new["messages"])
    assert not goes_on(old, new)
    assert not new["messages"].may_begin(old["messages"])


def test_a_damaged_line_is_told_as_any_other() -> None:
    read = READER.reading_like(plain())
    assert read is not None
    assert isinstance(read(json.dumps(plain()).encode()[:-5], "here"), Problem)


def test_after_several_lines_that_are_refused_in_a_row_lines_are_decoded_as_they_are() -> None:
    read = reads_like(plain())
    for _ in range(3):
        read({**plain(), "more": 1})
    assert isinstance(read(plain())["messages"], LateMessages)
    for _ in range(4):
        read({**plain(), "more": 1})
    assert read(plain()) == plain()


@needs_golden
def test_golden_lines_are_read_late_unless_they_call_nothing() -> None:
    lines = (GOLDEN / "browsing_raw.jsonl").read_bytes().splitlines()
    read = READER.reading_like(plain())
    assert read is not None
    refused = 0
    for line in lines:
        item = read(line, "here")
        assert isinstance(item, RecordAt)
        listed = item.value.get("messages", item.value.get("tool_events"))
        refused += isinstance(listed, list)
        assert not isinstance(listed, list) or b"browser." not in line
        assert outcome(item.value) == outcome(json.loads(line))
    assert refused == 4


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
