"""Browsing transcripts in all their dialects, clean and dirty."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracerank.errors import MalformedRollout
from tracerank.pools.documents import link_documents
from tracerank.pools.types import BROWSING, Evidence, Rollout
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.browser.headers import read_header
from tracerank.readers.formats.browsing import BrowsingReader

READER = BrowsingReader()
Message = dict[str, Any]


def harmony(tool: str, result: str, **arguments: Any) -> list[Message]:
    """A call and its return, paired by order."""
    return [
        {"role": "assistant", "channel": "analysis", "recipient": f"browser.{tool}", "content": json.dumps(arguments)},
        {"role": "tool", "name": f"browser.{tool}", "content": [{"type": "text", "text": result}]},
    ]


def openai(call_id: str, tool: str, result: str, arguments: Any) -> list[Message]:
    """A call and its return, paired by id."""
    function = {"name": f"browser.{tool}", "arguments": arguments}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


def page(cursor: int, url: str = "https://ex.org/a", text: str = "Body.") -> str:
    return f"[{cursor}] Title ({url})\n**viewing lines [0 - 2] of 9**\n\nL0: \nL1: URL: {url}\nL2: {text}"


def results(cursor: int) -> str:
    return f"[{cursor}] q (web-search://ts=1)\n**viewing lines [0 - 1] of 2**\nL0: 【0†Doc 1†ex.org】 snippet"


def matches(cursor: int, *excerpts: str) -> str:
    found = "".join(f"\nL{i}: # 【{i}†match at L{i}】\nL{i}: {text}" for i, text in enumerate(excerpts))
    return f"[{cursor}] Find results for text: `x` in `Title`{found}"


def record(*steps: list[Message], answer: str | None = "Paris", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Which city?"}, *(message for step in steps for message in step)]
    if answer is not None:
        messages.append({"role": "assistant", "channel": "final", "content": answer})
    return {"qid": 1, "sample_id": 0, "messages": messages, **fields}


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*steps: list[Message], **fields: Any) -> Rollout:
    return parse(record(*steps, **fields)).rollout


def all_text(one: Rollout) -> str:
    """Everything textual that a rollout holds."""
    texts = [one.answer, *(search.query for search in one.searches)]
    for seen in evidence(one):
        texts += [seen.text, seen.title, seen.url, seen.document.key if seen.document else None]
    for view in one.views:
        texts += [view.requested, view.url, view.displayed, view.number, view.fallback]
    return "\n".join(text for text in texts if text is not None)


def evidence(one: Rollout) -> list[Evidence]:
    return [seen for search in one.searches for seen in search.evidence]


# Fields of the record


def test_a_transcript_becomes_a_question_and_a_rollout() -> None:
    parsed = parse(record(harmony("search", results(0), query=" a\n b "), harmony("open", page(1), id=0), correct=True))
    assert (parsed.question.id, parsed.question.text, parsed.is_numbered) == ("1", "Which city?", True)
    one = parsed.rollout
    assert (one.sample_id, one.answer, one.label, one.setting, one.source) == (0, "Paris", 1.0, BROWSING, "log.jsonl:1")
    (search,) = one.searches
    assert (search.query, search.event) == ("a b", 0)
    (seen,) = search.evidence
    assert (seen.text, seen.title) == ("Title (https://ex.org/a) URL: https://ex.org/a Body.", "Title")
    assert (seen.tool, seen.event, seen.document) == ("open", 1, None)
    assert [view.tool for view in one.views] == ["search", "open"]


@pytest.mark.parametrize(
    ("fields", "sample_id"),
    [
        ({"sample_id": 3}, 3),
        ({"sample_id": "3"}, 3),
        ({"sample_id": 3.0}, 3),
        ({"sample_id": None, "traj_idx": 4}, 4),
        ({"sample_id": None, "seed": 45}, 3),
        ({"sample_id": None, "seed": "45"}, 3),
    ],
)
def test_samples_are_numbered_by_id_trajectory_or_seed(fields: dict[str, Any], sample_id: int) -> None:
    parsed = parse(record(**fields))
    assert (parsed.rollout.sample_id, parsed.is_numbered) == (sample_id, True)


def test_a_sample_without_a_number_says_so() -> None:
    assert not parse(record(sample_id=None)).is_numbered


def test_the_question_comes_from_its_field_before_the_first_user_message() -> None:
    assert parse(record(question="Q?")).question.text == "Q?"
    assert parse(record(query="Q?")).question.text == "Q?"
    assert parse(record(question="  ")).question.text == "Which city?"


def test_a_question_without_an_id_is_its_own_id() -> None:
    assert parse(record(qid=None)).question.id == "Which city?"
    assert parse(record(qid=None, question_id="q7")).question.id == "q7"
    assert parse(record(qid=None, id=7)).question.id == "7"


@pytest.mark.parametrize(
    ("correct", "label"),
    [
        *[(True, 1.0), (False, 0.0), (1, 1.0), (0, 0.0), (1.0, 1.0), ("true", 1.0), ("False", 0.0), ("0", 0.0)],
        *[(None, None), ("maybe", None), (0.5, None), ([], None), ({}, None), (10**50, None)],
    ],
)
def test_labels_are_boolean_or_unknown(correct: object, label: float | None) -> None:
    assert rollout(correct=correct).label == label


def test_the_last_final_message_is_the_answer() -> None:
    drafts: list[Message] = [
        {"role": "assistant", "channel": "final", "content": "draft"},
        {"role": "assistant", "channel": "analysis", "content": "thought"},
    ]
    assert rollout(drafts, answer=" Rome \n").answer == "Rome"
    assert rollout(drafts, answer=None).answer == "draft"


def test_without_channels_the_last_message_that_calls_no_tool_is_the_answer() -> None:
    plain: Message = {"role": "assistant", "content": [{"type": "text", "text": "Ro"}, {"type": "text", "text": "me"}]}
    assert rollout([plain], openai("1", "search", results(0), {"query": "q"}), answer=None).answer == "Rome"


def test_a_transcript_without_a_final_message_has_no_answer() -> None:
    assert rollout(harmony("search", results(0), query="q"), answer=None).answer is None
    assert rollout(answer="  ").answer == ""


def test_a_given_candidate_answer_wins_and_a_reference_beside_messages_is_not_one() -> None:
    assert rollout(candidate_answer="Rome").answer == "Rome"
    assert rollout(candidate_answer=1912).answer == "1912"
    assert rollout(candidate_answer=None).answer == "Paris"
    assert rollout(answer=None).answer is None
    assert parse({**record(answer=None), "answer": "the reference"}).rollout.answer is None


# Dialects


def test_all_dialects_of_one_transcript_read_the_same() -> None:
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("search", results(0), {"query": "q"}),
        ("open", page(1), {"cursor": 0, "id": 0}),
        ("find", matches(2, "one", "two"), {"pattern": "x"}),
    ]
    native = rollout(*(harmony(tool, result, **arguments) for tool, result, arguments in steps))
    texts = rollout(*(openai(str(i), tool, result, json.dumps(args)) for i, (tool, result, args) in enumerate(steps)))
    objects = rollout(*(openai(str(i), tool, result, args) for i, (tool, result, args) in enumerate(steps)))
    typed = parse(
        {
            "qid": 1,
            "sample_id": 0,
            "question": "Which city?",
            "answer": "Paris",
            "tool_events": [
                {
                    "event_id": i,
                    "message_index": 2 * i + 1,
                    "tool_type": f"browser.{tool}",
                    "arguments": arguments,
                    "result": result,
                    "result_cursor": i,
                    "result_message_index": 2 * i + 2,
                }
                for i, (tool, result, arguments) in enumerate(steps)
            ],
        }
    ).rollout
    assert native == texts == objects == typed
    assert [seen.text for seen in evidence(native)][1] == "one\n\ntwo"
    assert [view.parent for view in native.views] == [None, 0, 1]


def test_parallel_calls_of_one_message_are_paired_by_id() -> None:
    first, second = openai("a", "search", results(0), {"query": "a"}), openai("b", "search", results(1), {"query": "b"})
    both = {"role": "assistant", "tool_calls": first[0]["tool_calls"] + second[0]["tool_calls"]}
    one = rollout([both, second[1], first[1]])
    assert [(view.event, view.cursor) for view in one.views] == [(0, 0), (1, 1)]
    assert [search.query for search in one.searches] == ["a", "b"]


def test_typed_events_can_bring_their_observations_ready_made() -> None:
    event = {"event_id": 4, "message_index": 1, "tool_type": "browser.open", "arguments": {"id": "https://ex.org/a"}}
    event |= {"result_message_index": 2, "result_cursor": 0}
    parts = [{"kind": "open_observation", "text": "seen"}, {"kind": "other", "text": "unseen"}]
    row = {"question": "q", "answer": "a", "tool_events": [{**event, "observation_parts": parts}]}
    (search,) = parse(row).rollout.searches
    assert (search.is_orphan, search.event, search.evidence[0].text) == (True, 4, "seen")


def test_supplied_provenance_is_checked() -> None:
    def events(**claims: Any) -> list[dict[str, Any]]:
        search = {"event_id": 0, "message_index": 1, "tool_type": "browser.search", "arguments": {"query": "q"}}
        search |= {"result": results(0), "result_cursor": 0, "result_message_index": 2}
        opened = {"event_id": 1, "message_index": 3, "tool_type": "browser.open", "arguments": {"cursor": 0, "id": 1}}
        opened |= {"result": page(1), "result_cursor": 1, "result_message_index": 4, **claims}
        return [opened, search]

    def is_valid(**claims: Any) -> bool:
        row = {"question": "q", "answer": "a", "tool_events": events(**claims)}
        return parse(row).rollout.views[1].is_valid

    assert is_valid()
    assert is_valid(source_event_id=0, source_cursor=0)
    assert not is_valid(source_event_id=None)
    assert not is_valid(source_event_id=1)
    assert not is_valid(source_cursor=5)
    assert not is_valid(result_message_index=3)
    assert not is_valid(result_cursor=0)


# Navigation


def test_a_cursor_of_minus_one_or_none_given_means_the_latest_view() -> None:
    for arguments in ({}, {"cursor": -1}):
        one = rollout(
            harmony("search", results(0), query="a"),
            harmony("search", results(5), query="b"),
            harmony("open", page(6), id=0, **arguments),
        )
        assert one.views[2].parent == 1
        assert [len(search.evidence) for search in one.searches] == [0, 1]


def test_a_cursor_names_the_view_that_it_was_printed_on() -> None:
    one = rollout(
        harmony("search", results(3), query="a"),
        harmony("search", results(7), query="b"),
        harmony("open", page(8), cursor=3, id=0),
    )
    assert one.views[2].parent == 0
    assert [len(search.evidence) for search in one.searches] == [1, 0]


@pytest.mark.parametrize("cursor", [True, None, "0", 0.0, [0]])
def test_a_cursor_that_is_no_integer_is_invalid(cursor: object) -> None:
    one = rollout(harmony("search", results(0), query="a"), harmony("open", page(1), cursor=cursor, id=0))
    assert (one.views[1].parent, one.views[1].is_valid) == (None, False)


def test_an_unknown_cursor_makes_an_orphan_but_not_an_invalid_view() -> None:
    one = rollout(harmony("search", results(0), query="a"), harmony("open", page(1), cursor=99, id=0))
    assert (one.views[1].parent, one.views[1].is_valid) == (None, True)
    assert [(search.is_orphan, search.event) for search in one.searches] == [(False, 0), (True, 1)]


def test_a_cursor_that_was_returned_twice_is_ambiguous() -> None:
    one = rollout(
        harmony("search", results(0), query="a"),
        harmony("open", page(1), id=0),
        harmony("open", page(1, "https://ex.org/b"), cursor=0, id=1),
        harmony("find", matches(3, "x"), cursor=1),
    )
    assert [view.is_valid for view in one.views] == [True, False, False, False]
    assert one.views[3].parent is None


def test_an_orphan_chain_shares_one_orphan_search() -> None:
    one = rollout(
        harmony("open", page(0), id="https://ex.org/a"),
        harmony("find", matches(1, "x"), pattern="x"),
        harmony("open", page(2), loc=10),
        harmony("search", results(3), query="q"),
        harmony("find", matches(4, "y"), cursor=0),
    )
    assert [(search.query, search.event) for search in one.searches] == [(None, 0), ("q", 3)]
    assert [seen.event for seen in one.searches[0].evidence] == [0, 1, 2, 4]


def test_every_search_is_kept_even_without_query_evidence_or_return() -> None:
    one = rollout(
        harmony("search", results(0), query="  "),
        harmony("search", results(1)),
        harmony("search", "Error during search", query="lost"),
        harmony("search", results(2), query=["a", "b"]),
    )
    assert [(search.query, search.is_orphan) for search in one.searches] == [
        ("", False),
        ("", False),
        ("lost", False),
        ("a | b", False),
    ]


def test_a_find_view_inherits_its_parents_page() -> None:
    one = rollout(
        harmony("open", page(0), id="https://ex.org/a"),
        harmony("find", matches(1, "x"), pattern="x"),
        harmony("open", page(2).replace("URL: https://ex.org/a", ""), loc=10),
    )
    (linked,) = link_documents([one])
    assert {seen.document.key for seen in evidence(linked) if seen.document} == {"url:https://ex.org/a"}
    assert [seen.status for seen in evidence(linked)] == [
        "returned_URL_field_matches_display",
        "find_inherits_source",
        "open_inherits_source",
    ]
    assert {view.fallback for view in one.views} == {"https://ex.org/a"}


def test_private_groups_name_no_sample_because_it_may_be_numbered_later() -> None:
    one = rollout(harmony("open", "[0] Untitled\n**viewing lines [0 - 1] of 2**\nL0: x", id=4))
    assert one.views[0].fallback == "event:0"
    assert [seen.document.key for seen in evidence(link_documents([one])[0]) if seen.document] == [
        "unresolved:0:event:0"
    ]


def test_failed_opens_and_finds_without_a_match_are_no_evidence() -> None:
    one = rollout(
        harmony("search", results(0), query="q"),
        harmony("open", "Error fetching URL `u`", id=0),
        harmony("open", "[1] Doc 7 (https://ex.org/a)\nno viewport", cursor=0, id=0),
        harmony("find", "[2] No `find` results for pattern: `x`", cursor=1, pattern="x"),
    )
    assert evidence(one) == []
    assert [view.cursor for view in one.views] == [0, None, 1, 2]


def test_a_wrapped_address_is_put_together_again() -> None:
    text = (
        "[0] T (https://ex.org/é/b)\n**viewing lines [0 - 3] of 9**\nL0: \n"
        "L1: URL: https://ex.org/%C3\nL2: %A9%2\nL3: Fb\nL4: body"
    )
    header = read_header(text)
    assert (header.url, header.url_field_agrees) == ("https://ex.org/%C3%A9%2Fb", True)


def test_titles_are_kept_apart_from_addresses_with_parentheses() -> None:
    header = read_header("[0] Mercury (planet) (https://en.wikipedia.org/wiki/Mercury_(planet))\nL0: x")
    assert (header.title, header.displayed) == ("Mercury (planet)", "https://en.wikipedia.org/wiki/Mercury_(planet)")


# Dirt


@pytest.mark.parametrize(
    "name",
    [
        "browser.open",
        "open",
        "functions.browser.open",
        "Browser.Open",
        "browser.open<|channel|>commentary",
        "browser.open <|constrain|>json",
        "browser.openjson",
    ],
)
def test_dirty_tool_names_are_cleaned(name: str) -> None:
    call, result = openai("1", "open", page(0), {"id": "https://ex.org/a"})
    call["tool_calls"][0]["function"]["name"] = name
    assert len(evidence(rollout([call, result]))) == 1
    native: Message = {"role": "assistant", "recipient": name, "content": '{"id": "https://ex.org/a"}'}
    row = record([native, {"role": "tool", "name": name, "content": page(0)}])
    assert len(evidence(parse(row).rollout)) == 1
    assert READER.recognises(row)


def test_other_tools_are_passed_over() -> None:
    call, result = openai("1", "open", page(0), {"id": "https://ex.org/a"})
    call["tool_calls"][0]["function"]["name"] = "python"
    assert rollout([call, result]).views == ()


@pytest.mark.parametrize("arguments", ["{not json", "[]", "null", None, 5, pytest.param("[" * 100_000, id="deep")])
def test_unreadable_arguments_make_an_invalid_view(arguments: object) -> None:
    one = rollout(openai("1", "open", page(0), arguments))
    assert [view.is_valid for view in one.views] == [False]
    assert len(evidence(one)) == 1


def test_arguments_and_results_that_were_encoded_twice_are_decoded() -> None:
    arguments = json.dumps(json.dumps({"id": "https://ex.org/a"}))
    one = rollout(openai("1", "open", json.dumps(page(0)), arguments))
    assert (one.views[0].requested, one.views[0].cursor, one.views[0].is_valid) == ("https://ex.org/a", 0, True)


def test_null_fields_of_tables_count_as_missing() -> None:
    call, result = harmony("open", page(0), id="https://ex.org/a")
    nulls: Message = {"tool_calls": None, "tool_call_id": None, "name": None, "channel": None}
    one = parse(record([{**call, **nulls}, {**result, **nulls}], tool_events=None, candidate_answer=None)).rollout
    assert len(evidence(one)) == 1


def test_broken_messages_are_skipped_and_the_rest_is_read() -> None:
    broken: list[Any] = [None, 5, "x", [], {}, {"role": 5}, {"role": "assistant", "content": 5, "tool_calls": 7}]
    broken += [{"role": "assistant", "tool_calls": [None, {}, {"function": None}, {"function": {"name": []}}]}]
    broken += [{"role": "tool", "tool_call_id": [], "content": {}}, {"role": "assistant", "recipient": {}}]
    one = rollout(broken, harmony("search", results(0), query="q"), broken, harmony("open", page(1), id=0), broken)
    assert [len(search.evidence) for search in one.searches] == [1]


def test_broken_typed_events_are_skipped_and_the_rest_is_read() -> None:
    good = {"event_id": "1", "message_index": 1, "tool_type": "open", "arguments": {}, "result": page(0)}
    good |= {"result_cursor": 0, "result_message_index": 2}
    broken: list[Any] = [
        None,
        5,
        {},
        {**good, "event_id": []},
        {**good, "message_index": "x"},
        {**good, "tool_type": 5},
    ]
    again = {**good, "result": "another event with the same id"}
    row = {"question": "q", "answer": "a", "tool_events": [*broken, good, again]}
    assert len(evidence(parse(row).rollout)) == 1


def test_lone_surrogates_are_replaced() -> None:
    bad = "a\ud800b"
    one = parse(
        record(
            harmony("search", results(0), query=bad),
            harmony("open", page(1, f"https://ex.org/{bad}", bad), id=bad),
            harmony("find", matches(2, bad), pattern=bad),
            answer=bad,
            question=bad,
            qid=bad,
        )
    )
    assert one.question.text == one.question.id == one.rollout.answer == one.rollout.searches[0].query == "a\ufffdb"
    assert evidence(one.rollout)[1].text == "a\ufffdb"
    all_text(link_documents([one.rollout])[0]).encode()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"messages": "hello"}, "field 'messages' must be a list, got str"),
        ({"messages": {}}, "field 'messages' must be a list, got dict"),
        ({"messages": None}, "a browsing rollout needs a list 'messages' or 'tool_events'"),
        ({"messages": None, "tool_events": 5}, "field 'tool_events' must be a list, got int"),
        ({"sample_id": "first"}, "field 'sample_id' must be a whole number, got 'first'"),
        ({"sample_id": 1.5}, "field 'sample_id' must be a whole number, got 1.5"),
        ({"sample_id": True}, "field 'sample_id' must be a whole number, got bool"),
        ({"sample_id": float("inf")}, "field 'sample_id' must be a whole number, got inf"),
        ({"sample_id": 10**5000}, "field 'sample_id' must be a whole number, got int"),
        ({"qid": [1]}, "field 'qid' must be text or a whole number, got list"),
        ({"question": 5}, "field 'question' must be text, got int"),
        ({"candidate_answer": []}, "field 'candidate_answer' must be text, got list"),
        ({"messages": []}, "no question: expected 'question', 'query' or a user message with text"),
    ],
)
def test_hostile_types_are_rejected_with_a_reason(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(MalformedRollout) as caught:
        parse(record(**fields))
    assert str(caught.value) == reason


def test_a_rejected_rollout_keeps_its_place_in_the_pool() -> None:
    with pytest.raises(UnreadableRollout) as caught:
        parse({"qid": 7, "seed": 45, "question": "Q?", "messages": "hello"})
    assert (caught.value.question.id, caught.value.question.text, caught.value.sample_id) == ("7", "Q?", 3)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def a_dictionary_with(*names: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), values, max_size=len(names))


TOOL_NAMES = st.sampled_from(["browser.search", "browser.open", "browser.find"])
TEXTS = st.sampled_from([page(0), page(1), results(0), matches(1, "x"), "", "{}", '{"id": -1, "cursor": 0}'])
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
        parsed = parse(row)
    except MalformedRollout as error:
        assert str(error)  # noqa: PT017
    else:
        all_text(link_documents([parsed.rollout])[0]).encode()


# Recognition


def test_browser_logs_are_recognised_by_content() -> None:
    assert READER.recognises(record(harmony("search", results(0), query="q")))
    assert READER.recognises(record(openai("1", "search", results(0), {"query": "q"})))
    assert READER.recognises({"tool_events": [{"tool_type": "browser.search"}]})
    assert READER.recognises({"tool_events": []})
    assert READER.recognises(record())


def test_other_logs_are_left_to_other_readers() -> None:
    call, result = openai("1", "search", "A web search found 10 results", {"query": "q"})
    call["tool_calls"][0]["function"]["name"] = "search"
    chat = {"messages": [{"role": "user", "content": "q"}, call, result, {"role": "assistant", "content": "a"}]}
    assert not READER.recognises(chat)
    result["content"] = results(0)
    assert READER.recognises(chat)
    assert not READER.recognises({"messages": "x"})
    assert not READER.recognises({"steps": []})
    assert not READER.recognises([])  # type: ignore[arg-type]


# Size

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
        row = record(harmony("open", text, id=0), harmony("find", text), answer=filling)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            link_documents([parse(row).rollout])
            best = min(best, time.process_time() - start)
        return best

    # Four times the text: about 4 when linear, 16 when quadratic; very short times say nothing.
    small, large = seconds(50_000), seconds(200_000)
    assert large < 10 * max(small, 0.005)


def test_a_page_of_ten_megabytes_is_no_burden() -> None:
    text = page(0, text="word " * 2_000_000)
    start = time.process_time()
    one = rollout(harmony("open", text, id=0), answer="word " * 2_000_000)
    assert time.process_time() - start < 10
    assert len(evidence(one)[0].text) > 9_999_000
