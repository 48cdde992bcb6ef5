"""Rerank endpoints asked by the clients that people have: Cohere's, LiteLLM's providers, and TEI's shape by HTTP."""

import warnings
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.served import served
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.select_service import select_app

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # what LiteLLM says of its own models
]

QUESTION = "Capital of France?"
ANSWERS = ["Rome", "Paris", "paris"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(select_app(MajorityVote(), "1")) as address:
        yield address


def library(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed; the extra readers-test has it")


def post(url: str, path: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}{path}", json=body)


def test_both_of_coheres_clients_get_the_order(url: str) -> None:
    cohere = library("cohere")
    newer = cohere.ClientV2(api_key="none", base_url=url)
    reply = newer.rerank(model="any", query=QUESTION, documents=ANSWERS, top_n=2)
    assert [one.index for one in reply.results] == [1, 2]
    assert 0 < reply.results[0].relevance_score < 1
    older = cohere.Client(api_key="none", base_url=url)
    reply = older.rerank(query=QUESTION, documents=[*ANSWERS, {"text": "Lyon"}], return_documents=True)
    assert [one.document.text for one in reply.results] == ["Paris", "paris", "Rome", "Lyon"]


def test_coheres_client_is_told_what_is_wrong(url: str) -> None:
    cohere = library("cohere")
    with pytest.raises(cohere.UnprocessableEntityError, match="documents"):
        cohere.ClientV2(api_key="none", base_url=url).rerank(model="any", query=QUESTION, documents=[])


@pytest.mark.parametrize(
    ("provider", "base"),
    [("hosted_vllm", ""), ("infinity", "/infinity"), ("cohere", ""), ("huggingface", "")],
)
def test_litellm_gets_the_order_and_the_documents(url: str, provider: str, base: str) -> None:
    litellm = library("litellm")
    reply = litellm.rerank(
        model=f"{provider}/any", query=QUESTION, documents=ANSWERS, top_n=2, api_base=url + base, api_key="none"
    )
    assert [one["index"] for one in reply.results] == [1, 2]
    assert all(0 < one["relevance_score"] < 1 for one in reply.results)
    if provider != "cohere":  # whose newer endpoint is asked for none
        assert [one["document"]["text"] for one in reply.results] == ["Paris", "paris"]


def test_texts_get_what_tei_answers_a_bare_list(url: str) -> None:
    found = post(url, "/rerank", query=QUESTION, texts=ANSWERS, truncate=True).json()
    assert [set(one) for one in found] == [{"index", "score"}] * 3
    assert [one["index"] for one in found] == [1, 2, 0]
    assert sum(one["score"] for one in found) == pytest.approx(1)
    raw = post(url, "/rerank", query=QUESTION, texts=ANSWERS, raw_scores=True, return_text=True).json()
    assert [(one["text"], one["score"]) for one in raw] == [("Paris", 2.0), ("paris", 2.0), ("Rome", 1.0)]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank", "/infinity/rerank"])
def test_a_rollout_comes_back_by_the_answer_that_was_read_in_it(url: str, path: str) -> None:
    rollout = {"messages": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Answer: Paris"}]}
    body = {"query": QUESTION, "documents": [rollout, "Rome", "paris"]}
    found = post(url, path, **body, return_documents=True).json()["results"]
    texts = [one["document"] if path.startswith("/infinity") else one["document"]["text"] for one in found]
    assert texts == ["Paris", "paris", "Rome"]
    assert all("document" not in one for one in post(url, path, **body).json()["results"])


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank", "/infinity/rerank"])
def test_a_request_without_documents_is_refused_in_a_line(url: str, path: str) -> None:
    reply = post(url, path, query=QUESTION)
    assert reply.status_code == 422
    assert "expected 'documents' (or 'texts')" in reply.json()["detail"]
