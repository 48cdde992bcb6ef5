"""Items of the Responses API: hosted searches without page text, functions, citations, and where records keep them."""

import json
import time
from typing import Any

import pytest

from tests.readers.shapes import shape
from tracerank.pools.types import BROWSING, WEBQA, Rollout
from tracerank.readers.base import Parsed, UnreadableRollout
from tracerank.readers.calls.assembly import URL_ONLY
from tracerank.readers.formats.browsing import BrowsingReader
from tracerank.readers.formats.canonical import CanonicalReader
from tracerank.readers.formats.chat import ChatReader
from tracerank.readers.formats.evaluation_runs import BrowseCompPlusReader
from tracerank.readers.formats.marked import SearchR1Reader
from tracerank.readers.formats.walked import OPENAI_RESPONSES
from tracerank.readers.formats.webqa import WebQAReader

READER = OPENAI_RESPONSES
OTHERS = (CanonicalReader(), WebQAReader(), SearchR1Reader(), BrowsingReader(), BrowseCompPlusReader(), ChatReader())
Item = dict[str, Any]
A, B, C = "https://a.org/x", "https://b.org/y", "https://c.org/z"


def web(status: str = "completed", **action: Any) -> Item:
    return {"type": "web_search_call", "id": "ws_1", "status": status, "action": action}


def web_search(query: str, *urls: str) -> Item:
    return web(type="search", query=query, sources=[{"type": "url", "url": url} for url in urls])


def cite(text: str, at: str, url: str, title: str) -> Item:
    start = text.index(at)
    return {"type": "url_citation", "url": url, "title": title, "start_index": start, "end_index": start + len(at)}


def message(text: str, *annotations: Item, **fields: Any) -> Item:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part], **fields}


def function(call_id: str, name: str, arguments: str, output: Any) -> list[Item]:
    return [
        {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "arguments": arguments},
        {"type": "function_call_output", "call_id": call_id, "output": output},
    ]


def listing(*urls: str) -> str:
    return json.dumps([{"title": f"T {url[-1]}", "url": url, "snippet": f"about {url[-1]}"} for url in urls])


def record(*items: Item, **fields: Any) -> dict[str, Any]:
    return {"input": "Which city?", "output": list(items), **fields}


def parse(row: Any) -> Parsed:
    return READER.parse(row, "log.jsonl:1")


def rollout(*items: Item, **fields: Any) -> Rollout:
    return parse(record(*items, **fields)).rollout


def test_a_response_as_the_openai_library_writes_it_is_read() -> None:
    types = pytest.importorskip("openai.types.responses", reason="needs openai")
    text = "Paris is the capital. ([T](https://a.org/x))\n\nExact Answer: Paris\nConfidence: 90%"
    response = types.Response.model_validate(
        {
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "metadata": {},
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "secret"}]},
                {**web_search("capital of France", A, B), "id": "ws_1"},
                web(type="open_page", url=A), web(type="find_in_page", url=A, pattern="capital"),
                message(text, cite(text, "([T](https://a.org/x))", A, "T")),
            ],
        }
    )  # fmt: skip
    dumps = response.model_dump(mode="json"), json.loads(response.model_dump_json(exclude_none=True))
    for dump in dumps:
        for row in (
            {**dump, "question": "Which city?"},
            {"question": "Which city?", "response": dump},
            {"input": [{"role": "user", "content": "Which city?"}], "output": dump["output"]},
            {"question": "Which city?", "items": dump["output"]},
            {"question": "Which city?", "output": json.dumps(dump["output"])},
        ):
            assert READER.recognises(row)
            assert not any(other.recognises(row) for other in OTHERS)
            parsed = parse(row)
            assert (parsed.question.text, parsed.is_numbered) == ("Which city?", False)
            one = parsed.rollout
            assert (one.answer, one.confidence, one.setting) == ("Paris", 0.9, BROWSING)
            assert shape(one) == [
                ("capital of France", [
                    "search: T Paris is the capital.", f"search: {B}",
                    "open: T Paris is the capital.", "find: T Paris is the capital.",
                ])
            ]  # fmt: skip
            assert {seen.status for seen in one.searches[0].evidence} == {URL_ONLY}
            assert "secret" not in repr(one)


def test_the_line_of_a_batch_goes_by_its_own_id_where_nothing_says_what_was_asked() -> None:
    line = {"id": "batch_req_1", "custom_id": "q7", "response": {"status_code": 200, "body": record(message("Paris"))}}
    line["response"]["body"].pop("input")  # type: ignore[index]
    assert READER.recognises(line)
    parsed = parse(line)
    assert (parsed.question.id, parsed.question.text, parsed.rollout.answer) == ("q7", "", "Paris")
    failed = {"custom_id": "q7", "response": {"status_code": 400, "body": {"error": {"message": "no"}}}}
    with pytest.raises(UnreadableRollout, match="no items") as caught:
        parse(failed)
    assert caught.value.question.id == "q7"


def test_a_cited_source_that_no_search_lists_belongs_to_the_last_hosted_search() -> None:
    text = f"Paris. ([a]({A})) Lyon. ([b]({B}))"
    said = message(text, cite(text, f"([a]({A}))", A, "T a"), cite(text, f"([b]({B}))", B, "T b"))
    items = web(type="search", query="one"), web(type="search", queries=["two", "three"]), said
    one = rollout(*items)
    assert shape(one) == [("one", []), ("two | three", ["search: T a Paris.", "search: T b Lyon."])]
    assert [seen.url for seen in one.searches[1].evidence] == [A, B]
    # Without any search it still says what was read.
    assert shape(rollout(said)) == [("", ["search: T a Paris.", "search: T b Lyon."])]
    # A page that was opened keeps its own citation.
    assert shape(rollout(web(type="search", query="q"), web(type="open_page", url=A), said)) == [
        ("q", ["search: T b Lyon.", "open: T a Paris."])
    ]


def test_sources_without_a_page_and_failed_searches_show_nothing() -> None:
    service = web(type="search", query="weather", sources=[{"type": "api", "name": "oai-weather"}, None, 3])
    failed = web("failed", type="search", query="q", sources=[{"type": "url", "url": A}])
    nowhere = [web(type="open_page", url=None), web(type="find", pattern="p", url="cursor:3"), web()]
    old = {"type": "web_search_call", "id": "ws", "status": "completed"}
    one = rollout(service, failed, *nowhere, old, message("Paris"))
    assert shape(one) == [("weather", []), ("q", []), ("", []), ("", [])]


def test_file_searches_show_their_text_or_else_what_the_answer_cites() -> None:
    found = [{"file_id": "f1", "filename": "a.pdf", "score": 0.7, "text": "Body", "attributes": {}}]
    full = {"type": "file_search_call", "id": "fs", "status": "completed", "queries": ["q"], "results": found}
    cited = message("Paris.", {"type": "file_citation", "file_id": "f1", "filename": "a.pdf", "index": 5})
    assert shape(rollout(full, cited)) == [("q", ['search: (Title: "a.pdf") Body'])]
    bare = rollout({**full, "results": None}, cited)
    assert shape(bare) == [("q", ["search: a.pdf"])]
    (seen,) = bare.searches[0].evidence
    assert (seen.status, seen.document and seen.document.key) == (URL_ONLY, "doc:f1")
    assert rollout(cited).searches == ()


def test_functions_and_mcp_servers_return_text() -> None:
    parts = [{"type": "input_text", "text": listing(B)}]
    remote = {"type": "mcp_call", "id": "m", "server_label": "s", "name": "search", "arguments": '{"query": "m"}'}
    custom = [
        {"type": "custom_tool_call", "call_id": "c3", "name": "web_search", "input": "plain words"},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": "seen"},
    ]
    one = rollout(
        *function("c1", "search", '{"query": "a"}', listing(A)),
        *function("c2", "search", '{"query": "b"}', parts),
        {**remote, "output": listing(C), "error": None},
        {**remote, "id": "m2", "output": "words", "error": {"type": "http_error", "code": 500, "message": "down"}},
        *custom,
        *function("c4", "visit", json.dumps({"url": A}), "Body"),
        {"type": "tool_search_call", "id": "t", "arguments": {"query": "which tools"}},
        {"type": "code_interpreter_call", "id": "ci", "code": "search('x')"},
        message("Paris"),
    )
    assert shape(one) == [
        ("a", ['search: (Title: "T x") about x', "open: Body"]),
        ("b", ['search: (Title: "T y") about y']),
        ("m", ['search: (Title: "T z") about z']),
        ("m", []),
        ("plain words", ["search: seen"]),
    ]
    assert (one.answer, one.setting) == ("Paris", BROWSING)


def test_the_items_of_a_whole_run_are_read_in_one_list() -> None:
    run = [
        {"role": "user", "content": [{"type": "input_text", "text": "Which city?"}]},
        *function("c1", "search", '{"query": "a"}', listing(A)),
        {"role": "user", "content": "Answer now."},
        message("Exact Answer: Paris"),
    ]
    for row in ({"items": run}, {"input": run}, {"input": run[:-1], "output": run[-1:]}, {"messages": run}):
        assert READER.recognises(row)
        parsed = parse(row)
        assert (parsed.question.text, parsed.rollout.answer, parsed.rollout.setting) == ("Which city?", "Paris", WEBQA)
        assert shape(parsed.rollout) == [("a", ['search: (Title: "T x") about x'])]


def test_only_final_words_are_the_answer() -> None:
    search = web_search("q", A)
    assert rollout(message("I will search."), search).answer is None
    assert (
        rollout(search, message("Paris", phase="final_answer"), message("Done.", phase="commentary")).answer == "Paris"
    )
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    assert rollout(search, refusal).answer is None
    assert rollout(search, *function("c", "final_answer", '{"answer": "Paris"}', "ok")).answer == "Paris"


def test_a_failed_response_is_recognised_and_has_no_answer() -> None:
    row = {"object": "response", "status": "failed", "output": [], "question": "Which city?", "sample_id": 3}
    assert READER.recognises(row)
    parsed = parse(row)
    assert (parsed.rollout.answer, parsed.rollout.searches, parsed.rollout.sample_id) == (None, (), 3)


def test_very_many_items_are_quick() -> None:
    text = "x" * 1000
    many = [cite(text, "x", f"https://a.org/{n % 100}", "T") for n in range(3000)]
    items = [*({**web_search("q", A, B, C), "id": f"ws_{n}"} for n in range(3000)), message(text, *many)]
    start = time.process_time()
    assert len(rollout(*items).searches) == 3000
    assert time.process_time() - start < 20
