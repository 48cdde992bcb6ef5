"""The server over a real index, asked by our client and by clients that get it wrong."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tests.served import served
from tracerank.lab.corpus.index import Corpus
from tracerank.lab.retrieve_client import RetrieveClient, RetrieveConfig

pytest.importorskip("fastapi")
from tracerank.lab.retrieve_server import BODY_BYTES, retrieve_app


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("served"), RIVERS)


@pytest.fixture(scope="module")
def url(corpus: Corpus) -> Iterator[str]:
    with served(retrieve_app(corpus, {"passages": len(corpus)}), lifespan="off") as address:
        yield address


def post(url: str, body: Any, kind: str = "application/json", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(f"{url}/retrieve", content=content, headers=headers | {"content-type": kind})


def test_the_client_gets_what_the_corpus_finds(url: str, corpus: Corpus) -> None:
    queries = ["Ada Korn", "lighthouse", "zebra"]
    client = RetrieveClient(RetrieveConfig(url, retries=0))
    assert client.search_many(queries, 3) == [corpus.search(query, 3) for query in queries]
    client.close()


def test_the_reply_is_search_r1s(url: str, corpus: Corpus) -> None:
    [[found]] = post(url, {"queries": ["lighthouse"], "topk": 1, "return_scores": True}).json()["result"]
    assert found["document"]["contents"] == f'"Tarrow"\n{RIVERS[2]["text"]}'
    assert found["document"]["id"] == "2"
    assert found["score"] > 0
    [[bare]] = post(url, {"queries": ["lighthouse"]}).json()["result"]
    assert bare == found["document"]
    assert httpx.get(f"{url}/health").json() == {"status": "ok", "passages": len(corpus)}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 422),
        ([], 422),
        ({"queries": "river"}, 422),
        ({"queries": ["a", 3]}, 422),
        ({"queries": []}, 422),
        ({"queries": ["a"] * 513}, 422),
        ({"queries": ["a" * 4097]}, 422),
        ({"queries": ["a"], "topk": 101}, 422),
        ({"queries": ["a"], "topk": 0}, 422),
        ({"queries": ["a"], "topk": True}, 422),
        ({"queries": ["a"], "return_scores": "yes"}, 422),
        (b" " * (BODY_BYTES + 1), 413),
    ],
)
def test_a_request_that_cannot_be_answered_is_refused_with_a_reason(url: str, body: Any, status: int) -> None:
    reply = post(url, body)
    assert reply.status_code == status
    assert reply.json()["detail"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_page_may_send_without_asking_is_refused(url: str, kind: str) -> None:
    assert post(url, {"queries": ["lighthouse"]}, kind).status_code == 422


def test_a_page_that_points_its_own_name_at_us_learns_nothing(corpus: Corpus) -> None:
    with served(retrieve_app(corpus, {"passages": 1}, ("127.0.0.1", "localhost")), lifespan="off") as url:
        assert post(url, {"queries": ["lighthouse"]}).status_code == 200
        assert post(url, {"queries": ["lighthouse"]}, host="evil.example").status_code == 421
        assert httpx.get(f"{url}/health", headers={"host": "evil.example"}).status_code == 421
