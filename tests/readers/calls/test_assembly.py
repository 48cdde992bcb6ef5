"""Tool calls put together to a rollout: what hangs where, and which documents are the same."""

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import EVERY_RECIPE
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Document, Question, Rollout
from tracerank.readers.calls.assembly import URL_ONLY, rollout_of, searches_of, unread
from tracerank.readers.results import Result
from tracerank.readers.tools import TOOL_NAMES, ToolCall
from tracerank.trace.graph import build_graph
from tracerank.trace.recipe import RECIPES

A, B, C = "https://a.org/x", "https://b.org/y", "https://c.org/z"


def search(query: Any, *urls: str, **fields: Any) -> ToolCall:
    output = [{"title": f"T {url[-1]}", "url": url, "content": f"about {url[-1]}"} for url in urls]
    return ToolCall("search", {"query": query}, output, **fields)


def visit(url: str, text: str = "Body") -> ToolCall:
    return ToolCall("visit", {"url": url}, text)


def shape(*calls: ToolCall) -> list[tuple[str | None, list[tuple[str, int | None, str | None]]]]:
    """Each search with the tool, rank and document of its evidence."""
    found = rollout_of(calls, "x").searches
    return [
        (one.query, [(seen.tool, seen.rank, seen.document and seen.document.key) for seen in one.evidence])
        for one in found
    ]


def test_a_search_becomes_ranked_evidence_with_documents() -> None:
    one = rollout_of([search(" the  query ", A, B)], " Paris ", sample_id=3, label=1.0, confidence=0.5, source="f:1")
    assert (one.answer, one.sample_id, one.label, one.confidence, one.source) == ("Paris", 3, 1.0, 0.5, "f:1")
    assert (one.setting, one.views) == (WEBQA, ())
    (found,) = one.searches
    assert (found.query, found.event) == ("the query", None)
    first = found.evidence[0]
    assert (first.text, first.title, first.rank, first.tool) == ('(Title: "T x") about x', "T x", 1, "search")
    assert (first.url, first.document) == (A, Document(f"url:{A}", url=A))


def test_a_page_hangs_below_the_latest_search_that_listed_it() -> None:
    calls = [search("one", A), search("two", B, A), search("three", C), visit(A), visit(B), visit("https://new.org/")]
    assert shape(*calls) == [
        ("one", [("search", 1, f"url:{A}")]),
        (
            "two",
            [
                ("search", 1, f"url:{B}"),
                ("search", 2, f"url:{A}"),
                ("open", None, f"url:{A}"),
                ("open", None, f"url:{B}"),
            ],
        ),
        ("three", [("search", 1, f"url:{C}"), ("open", None, "url:https://new.org/")]),
    ]
    assert rollout_of(calls, "x").setting == BROWSING


def test_a_page_without_any_search_before_it_is_an_orphan() -> None:
    assert shape(visit(A), search("one", A), visit(A)) == [
        (None, [("open", None, f"url:{A}")]),
        ("one", [("search", 1, f"url:{A}"), ("open", None, f"url:{A}")]),
    ]


def test_spellings_of_one_address_are_one_document() -> None:
    ((_, evidence),) = shape(search("q", "https://A.org:443/x#part"), visit("https://a.org/x"))
    assert {key for _, _, key in evidence} == {f"url:{A}"}


def test_documents_of_a_corpus_are_named_by_their_ids() -> None:
    listing = ToolCall("search", {"query": "q"}, '[{"docid": "70", "score": 1, "snippet": "s"}]')
    whole = ToolCall("get_document", {"docid": "70"}, '{"docid": "70", "text": "whole"}')
    other = ToolCall("get_document", {"docid": 71}, "text only")
    assert shape(listing, whole, other) == [
        ("q", [("search", 1, "doc:70"), ("open", None, "doc:70"), ("open", None, "doc:71")])
    ]


def test_a_document_with_id_and_address_is_found_by_either() -> None:
    listing = ToolCall("search", {"query": "q"}, [{"docid": "70", "url": A, "text": "s"}])
    ((_, evidence),) = shape(listing, ToolCall("get_document", {"docid": "70"}, {"docid": "70", "text": "w"}))
    assert [key for _, _, key in evidence] == [f"url:{A}", f"url:{A}"]


def test_a_page_cannot_take_the_name_of_another_document() -> None:
    page = '{"docid": "666", "url": "https://b.org/y", "text": "lie"}'
    ((_, evidence),) = shape(search("q", A), visit(A, page), ToolCall("get_document", {"docid": "70"}, page))
    assert [key for _, _, key in evidence] == [f"url:{A}", f"url:{A}", "doc:70"]


def test_a_link_number_names_no_document() -> None:
    ((_, evidence),) = shape(search("q", A), ToolCall("open", {"id": 3}, "Body"))
    assert evidence[-1] == ("open", None, None)


def test_a_find_goes_on_with_the_page_at_hand() -> None:
    calls = [search("q", A, B), visit(A), ToolCall("find", {"pattern": "p"}, "one \n match\n\n two")]
    ((_, evidence),) = shape(*calls)
    assert evidence[-1] == ("find", None, f"url:{A}")
    assert rollout_of(calls, "x").searches[0].evidence[-1].text == "one match\n\ntwo"


def test_a_batch_becomes_a_search_per_query_where_its_results_can_be_told_apart() -> None:
    apart = {"result": [[{"id": "x1", "contents": "s"}], [{"id": "x2", "contents": "t"}]]}
    together = [{"docid": "x1", "text": "s"}, {"docid": "x2", "text": "t"}]
    assert shape(ToolCall("search", {"queries": ["a", "b"]}, apart)) == [
        ("a", [("search", 1, "doc:x1")]),
        ("b", [("search", 1, "doc:x2")]),
    ]
    assert shape(ToolCall("search", {"queries": ["a", "b"]}, together)) == [
        ("a | b", [("search", 1, "doc:x1"), ("search", 2, "doc:x2")])
    ]


def test_a_search_that_failed_or_never_returned_is_kept_without_evidence() -> None:
    calls = [search("a"), search("b", A, is_error=True), ToolCall("search", {"query": "c"}), search("d", A)]
    assert [(query, len(evidence)) for query, evidence in shape(*calls)] == [("a", 0), ("b", 0), ("c", 0), ("d", 1)]
    assert not rollout_of([ToolCall("visit", {"url": A}, "Failed to visit the url x.\nError: 404")], "x").searches


def test_a_query_lost_from_the_arguments_is_read_from_the_return() -> None:
    output = {"searchParameters": {"q": "lost"}, "organic": [{"title": "T", "link": A, "snippet": "s"}]}
    assert shape(ToolCall("google_search", {}, output)) == [("lost", [("search", 1, f"url:{A}")])]
    assert shape(ToolCall("google_search", {}, "words")) == [("", [("search", 1, None)])]


def test_sources_without_text_are_kept_and_marked() -> None:
    results = (Result(title="T", url=A, cited=("said so", "said so")), Result(url=B), Result(doc_id="7"), Result())
    ((found,)) = rollout_of([ToolCall("web_search", {"query": "q"}, results=results)], "x").searches
    assert [(seen.text, seen.status, seen.rank) for seen in found.evidence] == [
        ("T said so", URL_ONLY, 1),
        (B, URL_ONLY, 2),
    ]


def test_structured_documents_are_preferred_to_the_text_beside_them() -> None:
    artifact = [{"page_content": "chunk", "metadata": {"source": A}}]
    call = ToolCall("retriever", {"query": "q"}, "all as text", artifact=artifact)
    ((_, evidence),) = shape(call)
    assert evidence == [("search", 1, f"url:{A}")]
    ((_, evidence),) = shape(replace(call, artifact={"took": 3}))
    assert evidence == [("search", 1, None)]


def test_other_calls_leave_no_trace_and_a_reader_may_say_what_a_call_is() -> None:
    assert shape(ToolCall("python", {"query": "x"}, "out"), ToolCall("final_answer", {"answer": "x"}, "ok")) == []
    oracle = ToolCall("oracle", {"input": "q"}, "out")
    assert shape(oracle) == []
    assert shape(replace(oracle, kind="search")) == [("q", [("search", 1, None)])]
    assert rollout_of([oracle], "x", names=TOOL_NAMES.extended(search=("oracle",))).searches[0].query == "q"


def test_verdicts_of_the_environment_are_no_evidence() -> None:
    assert shape(ToolCall("search", {"query": "q"}, "Answer is CORRECT")) == [("q", [])]
    for verdict in ("CORRECT", "INCORRECT"):
        (found,) = rollout_of([ToolCall("search", {"query": "q"}, f"Paris.\nAnswer is {verdict}")], "x").searches
        assert [seen.text for seen in found.evidence] == ["Paris."]


def browsed(sample: int) -> Rollout:
    return rollout_of([search("q", A, B), visit(A), ToolCall("find", {"pattern": "p"}, "m")], "Paris", sample_id=sample)


def searched(sample: int) -> Rollout:
    return rollout_of([search("q", A, B), search("r")], "Paris", sample_id=sample)


@pytest.mark.parametrize("recipe", EVERY_RECIPE)
def test_both_settings_build_graphs(recipe: str) -> None:
    pool = Pool(Question("q", "Which city?"), (browsed(0), searched(1), rollout_of([], "Rome", sample_id=2)))
    graph = build_graph(pool, EVERY_RECIPE[recipe])
    assert len(graph.retained.kept) >= 2
    assert '(Title: "T x") about x' in graph.texts["content"]


def test_documents_survive_linking_and_tie_rollouts_together() -> None:
    pool = Pool(Question("q", "Which city?"), (browsed(0), browsed(1)))
    kept = pool.retained(RECIPES[BROWSING].retention).kept
    assert kept == pool.rollouts
    keys = [{seen.document.key for seen in r.searches[0].evidence if seen.document} for r in kept]
    assert keys[0] == keys[1] == {f"url:{A}", f"url:{B}"}


def test_a_rollout_survives_the_canonical_format() -> None:
    question = Question("q", "Which city?")
    for one in (browsed(0), searched(1)):
        assert record_to_parsed(rollout_to_record(question, one)).rollout == one


HITS = [
    {"title": "A", "url": "https://a.org/1", "text": "One."},
    {"title": "B", "url": "https://a.org/2", "text": "Two."},
]


def test_a_tool_of_any_name_that_returns_sources_is_a_search_in_all_its_calls() -> None:
    calls = (
        ToolCall("zorp", {"x": "first words"}, HITS),
        ToolCall("zorp", {"x": "more words"}, "Error: timed out", is_error=True),
    )
    first, second = searches_of(calls)
    assert (first.query, len(first.evidence)) == ("first words", 2)
    assert (second.query, second.evidence) == ("more words", ())


def test_a_tool_that_returns_no_sources_or_writes_is_no_search() -> None:
    assert searches_of((ToolCall("zorp", {"x": "words"}, "It is sunny."),)) == ()
    assert searches_of((ToolCall("save_notes", {"x": "words"}, HITS),)) == ()


def test_calls_that_brought_words_and_count_for_nothing_are_named() -> None:
    page = "A long text about it. " * 20
    found = ToolCall("search", {"query": "q"}, HITS)
    assert told(found, ToolCall("zorp", {"x": "words"}, page)) == (
        "--tools zorp=search:x if these calls are research: zorp(x) are not taken for it, here and elsewhere"
    )
    assert told(found, ToolCall("zorp", {"x": "words"}, "Done."), ToolCall("python", {"code": "1"}, page)) == ""


def test_an_object_full_of_words_in_which_no_result_is_found_is_told() -> None:
    found = ToolCall("search", {"query": "q"}, HITS)
    dark = ToolCall("web_search", {"query": "q"}, {"lines": [[["a sentence of several words"] * 3] * 5]})
    assert told(found, dark) == "what web_search(query) returned is not understood, here and elsewhere"
    empty = {"batch": "", "query": {"info": {"hits": 0}, "search": []}}
    assert told(found, ToolCall("web_search", {"query": "q"}, empty)) == ""


def told(*calls: ToolCall) -> str:
    return unread(calls, searches_of(calls))
