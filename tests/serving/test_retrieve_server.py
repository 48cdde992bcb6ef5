"""The server over a real index, asked by our client and by clients that get it wrong."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tests.served import served
from tracerank.errors import UsageError
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig
from tracerank.serving.retrieve_server import RequestLimits, retrieve_app

uvicorn = pytest.importorskip("uvicorn")
LIMITS = RequestLimits(body_bytes=2000, queries=3, topk=5, query_characters=100)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("served"), RIVERS)


@pytest.fixture(scope="module")
def url(corpus: Corpus) -> Iterator[str]:
    with served(retrieve_app(corpus, {"passages": len(corpus)}, LIMITS), lifespan="off") as address:
        yield address


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[RetrieveClient]:
    made = RetrieveClient(RetrieveConfig(url, retries=0))
    yield made
    made.close()


def post(url: str, body: Any, kind: str | None = "application/json", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = headers | ({} if kind is None else {"content-type": kind})
    return httpx.post(f"{url}/retrieve", content=content, headers=sent)


def test_the_client_gets_what_the_corpus_finds(client: RetrieveClient, corpus: Corpus) -> None:
    queries = ["Ada Korn", "lighthouse", "zebra"]
    assert client.search_many(queries, 3) == [corpus.search(query, 3) for query in queries]


def test_the_reply_is_search_r1s(url: str) -> None:
    [[found]] = post(url, {"queries": ["lighthouse"], "topk": 1, "return_scores": True}).json()["result"]
    assert found["document"]["contents"] == f'"Tarrow"\n{RIVERS[2]["text"]}'
    assert found["document"]["id"] == "2"
    assert found["score"] > 0
    [[bare]] = post(url, {"queries": ["lighthouse"]}).json()["result"]
    assert bare == found["document"]


def test_health_tells_what_is_served(url: str, corpus: Corpus) -> None:
    assert httpx.get(f"{url}/health").json() == {"status": "ok", "passages": len(corpus)}


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        (b"[" * 1999, 400, "not JSON"),
        ([], 422, "expected"),
        ({}, 422, "expected"),
        ({"queries": "river"}, 422, "expected"),
        ({"queries": ["a", 3]}, 422, "expected"),
        ({"queries": []}, 422, "holds 0; expected 1 to 3"),
        ({"queries": ["a"] * 4}, 422, "holds 4"),
        ({"queries": ["a" * 101]}, 422, "101 characters"),
        ({"queries": ["a"], "topk": 6}, 422, "from 1 to 5"),
        ({"queries": ["a"], "topk": 0}, 422, "from 1 to 5"),
        ({"queries": ["a"], "topk": True}, 422, "from 1 to 5"),
        ({"queries": ["a"], "return_scores": "yes"}, 422, "true or false"),
        (b" " * 2001, 413, "longer than 2000 bytes"),
    ],
)
def test_a_request_that_cannot_be_answered_is_told_why(url: str, body: Any, status: int, words: str) -> None:
    reply = post(url, body)
    assert reply.status_code == status
    assert words in reply.json()["error"]


def test_a_stream_without_a_length_is_bounded_too(url: str) -> None:
    kind = {"content-type": "application/json"}
    reply = httpx.post(f"{url}/retrieve", content=(b" " * 500 for _ in range(100)), headers=kind)
    assert reply.status_code == 413


def test_a_missing_library_is_named_with_the_line_that_installs_it(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    with pytest.raises(UsageError, match=r"needs starlette; install it: .* -m pip install "):
        retrieve_app(corpus, {})


def test_other_paths_and_methods_are_refused(url: str) -> None:
    assert httpx.get(f"{url}/retrieve").status_code == 405
    assert httpx.get(f"{url}/").status_code == 404


def test_half_characters_do_no_harm(client: RetrieveClient, url: str) -> None:
    assert post(url, b'{"queries": ["\\ud800 lighthouse"]}').json()["result"][0][0]["title"] == "Tarrow"
    assert client.search("lighthouse")[0].title == "Tarrow"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None, ""])
def test_what_a_page_may_send_without_asking_is_refused(url: str, kind: str | None) -> None:
    reply = post(url, {"queries": ["lighthouse"]}, kind)
    assert reply.status_code == 415
    assert "content-type: application/json" in reply.json()["error"]
    assert post(url, {"queries": ["lighthouse"]}, "application/json; charset=utf-8").status_code == 200


def test_a_page_that_points_its_own_name_at_us_learns_nothing(corpus: Corpus) -> None:
    app = retrieve_app(corpus, {"passages": 1}, hosts=frozenset(("127.0.0.1", "localhost")))
    with served(app, lifespan="off") as url:
        assert post(url, {"queries": ["lighthouse"]}).status_code == 200
        assert post(url, {"queries": ["lighthouse"]}, host="evil.example").status_code == 421
        assert httpx.get(f"{url}/health", headers={"host": "evil.example"}).status_code == 421
