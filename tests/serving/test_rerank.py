"""Reranking asked by the clients that people have: Cohere's and LiteLLM's."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tests.served import served
from tests.serving.held import post
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.app import create_app

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # LiteLLM's, about its own models
]

QUESTION = "Capital of France?"
ANSWERS = ["Rome", "Paris", "paris"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(create_app(MajorityVote())) as address:
        yield address


def library(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed; the extra readers-test has it")


def test_coheres_client_gets_the_order_and_errors(url: str) -> None:
    cohere = library("cohere")
    client = cohere.ClientV2(api_key="none", base_url=url)
    reply = client.rerank(model="any", query=QUESTION, documents=ANSWERS, top_n=2)
    assert [one.index for one in reply.results] == [1, 2]
    assert 0 < reply.results[0].relevance_score < 1
    with pytest.raises(cohere.UnprocessableEntityError, match="documents"):
        client.rerank(model="any", query=QUESTION, documents=[])


def test_litellm_gets_the_order(url: str) -> None:
    litellm = library("litellm")
    reply = litellm.rerank(model="cohere/any", query=QUESTION, documents=ANSWERS, top_n=2, api_base=url, api_key="none")
    assert [one["index"] for one in reply.results] == [1, 2]


def test_rollouts_and_answers_are_ordered_by_their_share(url: str) -> None:
    chat = {"messages": [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "Answer: Paris"}]}
    results = post(url, "/v2/rerank", {"query": QUESTION, "documents": ["Rome", "", chat, "paris"]}).json()["results"]
    assert [one["index"] for one in results] == [2, 3, 0, 1]
    assert sum(one["relevance_score"] for one in results) == pytest.approx(1)
    assert results[-1]["relevance_score"] == 0.0
