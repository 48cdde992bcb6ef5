"""The retrieval client against servers that answer in every way we know of, and our own server over a real index."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tests.served import served
from tracerank.errors import RetrieveError
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig

pytest.importorskip("fastapi")
from tracerank.lab.retrieve_server import BODY_BYTES, retrieve_app

CONTENTS = {"id": "7", "contents": '"Velm River"\nIt rises in Ostra.\nIt is long.'}


def client(*replies: httpx.Response | Exception) -> tuple[RetrieveClient, list[Any]]:
    """A client whose server gives these replies in turn, and what it sent."""
    sent: list[Any] = []
    queue = list(replies)

    def handle(request: httpx.Request) -> httpx.Response:
        sent.append((request.url.path, httpx.Response(200, content=request.content).json()))
        reply = queue.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    made = RetrieveClient(RetrieveConfig("http://host:1", retries=2))
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
    assert [(one.title, one.text, one.score) for one in made.search("velm", 3)] == [
        ("Velm River", "It rises in Ostra.\nIt is long.", None),
        ("T", "x", None),
        ("", "no title", None),
    ]


def test_a_request_that_keeps_failing_raises_and_never_looks_like_an_empty_search(slept: list[float]) -> None:
    made, sent = client(*[httpx.ReadTimeout("late")] * 3)
    with pytest.raises(RetrieveError, match=r"http://host:1/retrieve: gave up after 3 attempts"):
        made.search("velm")
    assert len(sent) == 3


@pytest.mark.parametrize(
    "value",
    [
        *([], {}, {"result": 3}, {"result": []}, {"result": [3]}, {"result": [[3]]}, {"result": [[], []]}),
        *({"result": [[{"document": {}}]]}, {"result": [[{"contents": 3}]]}),
    ],
)
def test_replies_of_another_shape_are_errors(value: Any) -> None:
    made, _ = client(httpx.Response(200, json=value))
    with pytest.raises(RetrieveError):
        made.search("velm")


def test_the_key_of_a_chat_server_is_not_sent_to_a_retrieval_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACERANK_API_KEY", "chat-key")
    config = RetrieveConfig("http://host:1")
    assert config.read_key() is None
    monkeypatch.setenv("TRACERANK_RETRIEVER_KEY", "own-key")
    assert config.read_key() == "own-key"


def test_the_path_may_be_given_or_left_out() -> None:
    for url in ("http://h:1", "http://h:1/", "http://h:1/retrieve", "http://h:1/retrieve/"):
        assert RetrieveConfig(url).endpoint == "http://h:1/retrieve"


# Our own server.


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("served"), RIVERS)


@pytest.fixture(scope="module")
def url(corpus: Corpus) -> Iterator[str]:
    with served(retrieve_app(corpus, {"passages": 4}, ("127.0.0.1", "localhost")), lifespan="off") as address:
        yield address


def post(url: str, body: Any, kind: str = "application/json", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(f"{url}/retrieve", content=content, headers=headers | {"content-type": kind})


def test_the_client_gets_what_the_corpus_finds(url: str, corpus: Corpus) -> None:
    asking = RetrieveClient(RetrieveConfig(url, retries=0))
    for query in ("Ada Korn", "lighthouse", "zebra", "half a character \ud800"):
        assert asking.search(query) == corpus.search(query)
    asking.close()


def test_the_reply_is_search_r1s(url: str) -> None:
    [[found], []] = post(url, {"queries": ["lighthouse", "zebra"], "return_scores": True}).json()["result"]
    assert found["document"]["contents"] == f'"Tarrow"\n{RIVERS[2]["text"]}'
    assert found["document"]["id"] == "2"
    assert found["score"] > 0
    [[bare]] = post(url, {"queries": ["lighthouse"]}).json()["result"]
    assert bare == found["document"]
    assert httpx.get(f"{url}/health").json() == {"status": "ok", "passages": 4}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        ({"queries": "river"}, 422),
        ({"queries": []}, 422),
        ({"queries": ["a"] * 513}, 422),
        ({"queries": ["a" * 4097]}, 422),
        ({"queries": ["a"], "topk": 101}, 422),
        ({"queries": ["a"], "topk": True}, 422),
        (b" " * (BODY_BYTES + 1), 413),
    ],
)
def test_a_request_that_cannot_be_answered_is_refused_with_a_reason(url: str, body: Any, status: int) -> None:
    reply = post(url, body)
    assert reply.status_code == status
    assert reply.json()["detail"]


def test_pages_of_a_browser_learn_nothing(url: str) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert post(url, {"queries": ["lighthouse"]}, kind).status_code == 422
    assert post(url, {"queries": ["lighthouse"]}, host="evil.example").status_code == 400
    assert httpx.get(f"{url}/health", headers={"host": "evil.example"}).status_code == 400
