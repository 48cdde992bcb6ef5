"""The client against servers that answer in every way we know of."""

from typing import Any

import httpx
import pytest

from tracerank.errors import RetrieveError
from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig

CONTENTS = {"id": "7", "contents": '"Velm River"\nIt rises in Ostra.\nIt is long.'}


def client(*replies: httpx.Response | Exception, retries: int = 2) -> tuple[RetrieveClient, list[Any]]:
    """A client whose server gives these replies in turn, and what it sent."""
    sent: list[Any] = []
    queue = list(replies)

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append((request.url.path, httpx.Response(200, content=request.content).json()))
        reply = queue.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    config = RetrieveConfig("http://host:1", retries=retries, first_delay=0)
    made = RetrieveClient(config)
    made._endpoint._http = httpx.Client(transport=httpx.MockTransport(handle))
    return made, sent


def result(*items: Any) -> httpx.Response:
    return httpx.Response(200, json={"result": [list(items)]})


def test_a_search_asks_as_search_r1_does_and_reads_scored_documents() -> None:
    made, sent = client(result({"document": CONTENTS, "score": 0.5}))
    (found,) = made.search("velm", 3)
    assert (found.title, found.text) == ("Velm River", "It rises in Ostra.\nIt is long.")
    assert (found.document, found.score, found.url, found.place) == ("7", 0.5, None, None)
    assert sent == [("/retrieve", {"queries": ["velm"], "topk": 3, "return_scores": True})]


def test_bare_documents_are_read_too_and_no_more_than_asked_for() -> None:
    made, _ = client(result(CONTENTS, {"title": "T", "text": "x", "id": 3}, {"contents": "no title"}, CONTENTS))
    found = made.search("velm", 3)
    assert [(one.title, one.text, one.score) for one in found] == [
        ("Velm River", "It rises in Ostra.\nIt is long.", None),
        ("T", "x", None),
        ("", "no title", None),
    ]


def test_several_queries_go_in_one_request() -> None:
    reply = httpx.Response(200, json={"result": [[CONTENTS], []]})
    made, sent = client(reply)
    assert [len(found) for found in made.search_many(["a", "b\ud800"])] == [1, 0]
    assert len(sent) == 1
    assert made.search_many([]) == []


def test_a_request_that_keeps_failing_raises_and_never_looks_like_an_empty_search() -> None:
    made, sent = client(*[httpx.ReadTimeout("late")] * 3)
    with pytest.raises(RetrieveError, match=r"http://host:1/retrieve: gave up after 3 attempts: no answer within 30 s"):
        made.search("velm")
    assert len(sent) == 3


@pytest.mark.parametrize(
    "value",
    [[], {}, {"result": 3}, {"result": []}, {"result": [3]}, {"result": [[3]]}, {"result": [[{"document": {}}]]}],
)
def test_replies_of_another_shape_are_errors(value: Any) -> None:
    made, _ = client(httpx.Response(200, json=value))
    with pytest.raises(RetrieveError):
        made.search("velm")


def test_the_key_of_a_chat_server_is_not_sent_to_a_retrieval_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACERANK_API_KEY", "chat-key")
    monkeypatch.setenv("OPENAI_API_KEY", "other-key")
    config = RetrieveConfig("http://host:1")
    assert config.read_key() is None
    monkeypatch.setenv("TRACERANK_RETRIEVER_KEY", "own-key")
    assert config.read_key() == "own-key"


def test_the_path_may_be_given_or_left_out() -> None:
    for url in ("http://h:1", "http://h:1/", "http://h:1/retrieve", "http://h:1/retrieve/"):
        assert RetrieveConfig(url).endpoint == "http://h:1/retrieve"
