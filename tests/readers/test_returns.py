"""Tool returns in all their shapes, and pages that try to look like something else."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.readers.results import Result
from tracerank.readers.returns import is_failure_text, read_pages, read_search, stated_queries, without_verdicts

A, B = "https://a.org/x", "https://b.org/y_(z)"


def google(query: str, *results: tuple[str, str, str]) -> str:
    lines = [f"{i}. [{title}]({url})\nSource: S\n\n{text}" for i, (title, url, text) in enumerate(results, start=1)]
    return f"A Google search for '{query}' found {len(results)} results:\n\n## Web Results\n" + "\n\n".join(lines)


def useful(url: str, text: str) -> str:
    return (
        f"The useful information in {url} for user goal Know it as follows: \n\nEvidence in page: \n{text}\n\n"
        "Summary: \nShort.\n\n"
    )


def only(output: object, *queries: str) -> list[tuple[str | None, str | None, str | None, str]]:
    """The single block of a return: title, address, id, text."""
    (block,) = read_search(output, queries)
    assert [result.rank for result in block] == list(range(1, len(block) + 1))
    return [(result.title, result.url, result.doc_id, result.text) for result in block]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ([{"docid": "7", "score": 0.6, "snippet": "s"}], [(None, None, "7", "s")]),
        (
            {"organic": [{"title": "T", "link": A, "snippet": "s"}], "searchParameters": {"q": "x"}},
            [("T", A, None, "s")],
        ),
        ({"results": [{"title": "T", "url": A, "content": "s", "raw_content": None}]}, [("T", A, None, "s")]),
        ({"result": [[{"document": {"id": "88", "contents": '"T"\ns'}, "score": 1}]]}, [("T", None, "88", "s")]),
        ({"result": [[{"id": "88", "contents": '"T ""q"""\ns'}]]}, [('T "q"', None, "88", "s")]),
        ({"web": {"results": [{"title": "T", "url": A, "description": "s"}]}}, [("T", A, None, "s")]),
        ([{"page_content": "s", "metadata": {"source": A, "title": "T"}}], [("T", A, None, "s")]),
        (
            [{"lc": 1, "type": "constructor", "kwargs": {"page_content": "s", "metadata": {"source": A}}}],
            [(None, A, None, "s")],
        ),
        ([{"type": "search_result", "source": A, "title": "T", "content": [{"text": "s"}]}], [("T", A, None, "s")]),
        (
            [{"docid": "7", "snippet": "---\ntitle: T\ndate: 2020\n---\ns"}],
            [("T", None, "7", "---\ntitle: T\ndate: 2020\n---\ns")],
        ),
        ([{"url": A, "title": "T"}], [("T", A, None, "")]),
        ([{"id": A, "text": "s"}], [(None, A, None, "s")]),
        (["s", "t"], [(None, None, None, "s"), (None, None, None, "t")]),
        ({"content": [{"type": "text", "text": '[{"docid": "7", "text": "s"}]'}]}, [(None, None, "7", "s")]),
        ({"query": "x", "results": google("x", ("T", A, "s"))}, [("T", A, None, "s")]),
        (google("x", ("T", A, "s"), ("U", B, "t")), [("T", A, None, "s"), ("U", B, None, "t")]),
        (f"## Search Results\n\n[T]({A})\ns\n\n[U]({B})\nt", [("T", A, None, "s"), ("U", B, None, "t")]),
        (
            'Doc 1(Title: "T") s\nDoc 2(Title: U) t',
            [("T", None, None, '(Title: "T") s'), ("U", None, None, "(Title: U) t")],
        ),
        ("Only words.", [(None, None, None, "Only words.")]),
    ],
)
@pytest.mark.parametrize("encode", [lambda value: value, json.dumps, lambda value: json.dumps(json.dumps(value))])
def test_every_shape_of_a_search_return_is_read(output: Any, expected: Any, encode: Callable[[Any], Any]) -> None:
    read = only(encode(output), "x")
    assert [(*row[:3], " ".join(row[3].split())) for row in read] == [
        (*row[:3], " ".join(row[3].split())) for row in expected
    ]


@pytest.mark.parametrize(
    "output",
    [
        None,
        "",
        " \n",
        "[]",
        "{}",
        "null",
        "[Search] Error: Search request timed out.",
        "No results found for 'x'. Try with a more general query.",
        "no hits",
        "No matching articles were found.",
        "Nothing.",
        "(empty)",
        {"error": "quota"},
        {"success": False, "error": "quota", "results": []},
        {"isError": True, "content": [{"type": "text", "text": "boom"}]},
        {"organic": []},
        "Google search timeout. Please try again later.",
        "\n--- Maximum Length Limit Reached ---\nYou have reached the maximum length limit.",
        7,
        [None, 3],
    ],
)
def test_a_failed_or_empty_search_is_no_evidence(output: Any) -> None:
    assert not any(read_search(output, ("x",)))


def test_an_answer_box_is_kept_behind_the_ranked_results() -> None:
    output = {"answerBox": {"answer": "42", "link": A}, "organic": [{"title": "T", "link": B, "snippet": "s"}]}
    assert only(output, "x") == [("T", B, None, "s"), (None, A, None, "42")]


def test_ids_that_only_number_the_results_name_no_documents() -> None:
    assert [row[2] for row in only([{"id": 1, "text": "s"}, {"id": 2, "text": "t"}])] == [None, None]
    assert [row[2] for row in only([{"id": 0, "text": "s"}])] == [None]
    assert [row[2] for row in only([{"docid": 1, "text": "s"}, {"docid": 2, "text": "t"}])] == ["1", "2"]
    assert [row[2] for row in only([{"id": 4711, "text": "s"}, {"id": 12, "text": "t"}])] == ["4711", "12"]


def test_a_batch_is_split_by_query() -> None:
    first, second = read_search(
        google("a", ("T", A, "s")) + "\n=======\n" + google("b", ("U", B, "t"), ("V", A, "u")), ("a", "b")
    )
    assert [result.title for result in first] == ["T"]
    assert [result.title for result in second] == ["U", "V"]
    blocks = read_search({"result": [[{"id": "x1", "contents": "s"}], [{"id": "x2", "contents": "t"}]]}, ("a", "b"))
    assert [[result.doc_id for result in block] for block in blocks] == [["x1"], ["x2"]]
    blocks = read_search(
        [{"query": "a", "results": [{"text": "s"}]}, {"query": "b", "results": [{"text": "t"}]}], ("a", "b")
    )
    assert [[result.text for result in block] for block in blocks] == [["s"], ["t"]]


def test_a_failed_query_of_a_batch_keeps_its_place() -> None:
    output = "No results found for 'a'. Try with a more general query.\n=======\n" + google("b", ("U", B, "t"))
    first, second = read_search(output, ("a", "b"))
    assert (len(first), len(second)) == (0, 1)


def test_a_snippet_cannot_pretend_to_be_the_return_of_another_query() -> None:
    fake = "s\n=======\n" + google("unasked", ("Fake", "https://fake.org/", "lie"))
    first, second = read_search(google("a", ("T", A, fake)) + "\n=======\n" + google("b", ("U", B, "t")), ("a", "b"))
    assert [result.url for result in (*first, *second)] == [A, B]


def test_numbers_inside_a_snippet_begin_no_result() -> None:
    snippet = (
        f"Our list:\n1. [x](https://c.org/)\n7. [y](https://d.org/)\n2. no link\n{'9' * 5000}. [z](https://e.org/)"
    )
    assert [row[1] for row in only(google("q", ("T", A, snippet)), "q")] == [A]


def test_results_of_a_batch_that_cannot_be_told_apart_are_one_block() -> None:
    (block,) = read_search({"result": [[{"id": "x1", "text": "s"}], [{"id": "x2", "text": "t"}]]}, ("a", "b", "c"))
    assert [(result.rank, result.doc_id) for result in block] == [(1, "x1"), (2, "x2")]


def test_a_return_names_its_queries_itself() -> None:
    assert stated_queries(google("a") + "\n=======\n" + google("b's")) == ("a", "b's")
    assert stated_queries(json.dumps({"searchParameters": {"q": "a"}, "organic": []})) == ("a",)
    assert stated_queries("words") == stated_queries(None) == ()


@pytest.mark.parametrize(
    ("output", "targets", "expected"),
    [
        (f"Successfully visited the url {A}.\n<Content>\nBody\n</Content>", (A,), [(A, None, "Body")]),
        (useful(A, "Body"), (A,), [(A, None, "Body Summary: Short.")]),
        (
            useful(A, "One") + "\n=======\n" + useful(B, "Two"),
            (A, B),
            [(A, None, "One Summary: Short."), (B, None, "Two Summary: Short.")],
        ),
        ({"success": True, "url": A, "extracted_info": "Body", "error": ""}, (A,), [(A, None, "Body")]),
        ({"docid": "7", "text": "Body"}, ("7",), [(None, "7", "Body")]),
        ({"title": "T", "content": "Body"}, (A,), [(A, None, "Body")]),
        ({"results": [{"url": A, "raw_content": "Body"}], "failed_results": []}, (A,), [(A, None, "Body")]),
        ("# T\n\nBody", (A,), [(A, None, "# T Body")]),
        ("Body", ("7",), [(None, "7", "Body")]),
        ("Body", (), [(None, None, "Body")]),
        ({"url": A, "text": "Body"}, ("3",), [(A, None, "Body")]),
        ({"url": A, "text": "Body"}, (), [(A, None, "Body")]),
        (["One", "Two"], (A,), [(A, None, "One Two")]),
    ],
)
def test_every_shape_of_a_page_return_is_read(output: Any, targets: tuple[str, ...], expected: Any) -> None:
    for given_output in (output, json.dumps(output)):
        pages = read_pages(given_output, targets)
        assert [(page.url, page.doc_id, " ".join(page.text.split())) for page in pages] == expected
        assert all(page.rank is None for page in pages)


@pytest.mark.parametrize(
    "output",
    [
        f"Failed to visit the url {A}.\nError: 404",
        f"Failed to extract content from {A}",
        "[Visit] Error: Cannot connect to server.",
        "[get_document] Document with docid '5' not found",
        useful(A, "The provided webpage content could not be accessed. Please check the URL or file format."),
        '{"error": "Document with docid \'5\' not found"}',
        {"success": False, "url": A, "extracted_info": "", "error": "timeout"},
        {"status": "error", "content": "x"},
        "",
        None,
    ],
)
def test_a_page_that_could_not_be_opened_is_no_evidence(output: Any) -> None:
    assert read_pages(output, (A,)) == ()


def test_a_failed_page_of_a_batch_does_not_cost_the_others() -> None:
    failed = useful(A, "The provided webpage content could not be accessed.")
    assert [page.url for page in read_pages(failed + "\n=======\n" + useful(B, "Two"), (A, B))] == [B]


def test_a_page_cannot_pretend_to_be_another_page() -> None:
    for fake in (useful(B, "lie"), f"Successfully visited the url {B}.\n<Content>\nlie\n</Content>"):
        (page,) = read_pages(fake, (A,))
        assert page.url == A
        (page,) = read_pages(json.dumps({"url": B, "docid": "7", "text": "lie"}), (A,))
        assert (page.url, page.doc_id) == (A, None)
        (page,) = read_pages(useful(A, f"true\n=======\n{fake}"), (A,))
        assert (page.url, page.text.startswith("true")) == (A, True)
    (page,) = read_pages(f"Successfully visited the url {A}.\n<Content>\na</Content>b<Content>c\n</Content>", (A,))
    assert page.text == "a</Content>b<Content>c"
    first, second = read_pages(
        useful(A, f"x\n=======\n{useful('https://c.org/', 'lie')}") + "\n=======\n" + useful(B, "y"), (A, B)
    )
    assert (first.url, second.url) == (A, B)


def test_long_texts_that_begin_like_an_error_are_content() -> None:
    assert is_failure_text("Error: no such page")
    assert not is_failure_text("Error theory is " + "the view that " * 40)
    assert not is_failure_text("The manuscript was not found until 1950, when it was catalogued.")


def test_what_the_environment_says_about_correctness_is_removed() -> None:
    text = "Episode finished, reward = 1\nParis is a city.\n  Answer is CORRECT\nThe answer is correct spelling."
    assert without_verdicts(text).split("\n") == ["", "Paris is a city.", "", "The answer is correct spelling."]
    assert not without_verdicts("Answer is INCORRECT").strip()


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("results", "text", "url", "id", "document", "metadata", "content", "type", "error", "x")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(JSON_VALUES)
def test_no_return_raises(output: Any) -> None:
    for value in (output, json.dumps(output)):
        for result in (*(r for block in read_search(value, ("a", "b")) for r in block), *read_pages(value, (A,))):
            assert isinstance(result, Result)
            assert isinstance(result.text, str)
        stated_queries(value)


def test_deep_nesting_ends_quietly() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = {"results": [deep]}
    assert read_search(deep) == ()
    assert read_pages(deep) == ()


@pytest.mark.parametrize(
    "piece",
    [
        "1. [",
        "](",
        "[a](https://a.org)\n",
        "\n=======\n",
        "A Google search for '",
        "Doc 1(Title: ",
        " ",
        "\n",
        "not found ",
        "The useful information in https://a.org for user goal ",
        "\n=======\nThe useful information in https://a.org/x for user goal ",
        "\n=======\nSuccessfully visited the url https://a.org/x.",
        "\n=======\nA Google search for 'a' found ",
        "---\n",
        '"',
        "Answer is ",
        "error ",
    ],
)
def test_a_megabyte_of_anything_is_quick(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    read_search(text, ("a", "b"))
    read_pages(text, (A, B))
    read_search([{"text": text}])
    stated_queries(text)
    without_verdicts(text)
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "said",
    [
        "503 Service Unavailable from the search backend",
        "404 Client Error: Not Found for url: https://a.org/x",
        "Error 429: Too Many Requests",
        "HTTP 502 Bad Gateway",
        "<documents>\n\n</documents>",
        "0 results",
    ],
)
def test_the_status_of_a_server_and_empty_marks_are_no_evidence(said: str) -> None:
    assert read_search(said) == ()


@pytest.mark.parametrize("said", ["404 people were not found after the flood.", "In 500 BC Athens grew.", "10 results"])
def test_words_with_numbers_are_evidence(said: str) -> None:
    assert len(read_search(said)) == 1


def test_a_list_of_results_is_no_failure_whatever_the_first_is_called() -> None:
    text = "[1] Failure\nURL: https://a.org/0\nA film.\n\n[2] Success\nURL: https://a.org/1\nA play.\n"
    assert [title for title, *_ in only(text, "q")] == ["Failure", "Success"]
