"""The service behind a real server: right answers, wrong requests, limits, load, closing."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.escalated import Judge
from tests.served import served
from tracerank.errors import ChatError, EmbeddingError, TraceRankError
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.methods import load_selector
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.escalation import Escalating
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving import deciding
from tracerank.serving.deciding import QUICK_BYTES
from tracerank.serving.limits import ServiceLimits
from tracerank.serving.select_service import select_app
from tracerank.serving.wire import SelectRequest, pool_of

POOLS = list(iter_world(PRESETS["paper"]["webqa"], 20, 3, 6))
ROLLOUTS = [{"answer": "Paris"}, {"answer": "Rome"}, {"answer": "paris."}]


def asked(pool: Pool) -> dict[str, Any]:
    return {"rollouts": [rollout_to_record(pool.question, rollout) for rollout in pool.rollouts]}


class Held:
    """A vote that waits until it is let through."""

    name = "held"

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()

    def decide(self, pool: Pool) -> Decision:
        self.begun.set()
        assert self.gate.wait(20)
        return MajorityVote().decide(pool)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(select_app(MajorityVote(), "1", ServiceLimits(body_bytes=200_000))) as address:
        yield address


def post(url: str, path: str, body: Any, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body)
    return httpx.post(f"{url}{path}", content=content, headers={"content-type": "application/json"} | headers)


def test_the_service_decides_as_the_method_does(url: str) -> None:
    for pool in POOLS:
        reply = post(url, "/v1/select", asked(pool)).json()
        decision = MajorityVote().decide(pool)
        assert (reply["answer"], reply["sample_id"]) == (decision.answer, decision.sample_id)
        assert {int(name): score for name, score in reply["scores"].items()} == decision.scores
        assert reply["question"] == pool.question.text


def test_texts_are_answers_and_without_evidence_the_reply_says_so(url: str) -> None:
    texts = ["Rome", "    Paris\n    (France)", "Paris (France)"]
    for body in ({"rollouts": texts}, {"answers": texts}, {"rollouts": [texts[0], {"answer": texts[1]}, texts[2]]}):
        reply = post(url, "/v1/select", {"question": "Q?", **body}).json()
        assert (reply["answer"], reply["group"], reply["problems"]) == (texts[1], [1, 2], [])
        assert reply["note"] == "no evidence: only the answers were compared"
    said = [{"said": {"last": text}} for text in texts]
    reply = post(url, "/v1/select", {"question": "Q?", "rollouts": said, "map": {"answer": "said.last"}}).json()
    assert (reply["answer"], reply["problems"]) == (texts[1], [])


def test_rollouts_or_answers_are_wanted_and_not_both(url: str) -> None:
    for body in ({}, {"rollouts": ["a"], "answers": ["a"]}):
        reply = post(url, "/v1/select", {"question": "Q?", **body})
        assert (reply.status_code, reply.json()["detail"][:33]) == (422, "expected 'rollouts' or 'answers':")


def test_a_hand_written_pool_and_chat_messages_are_understood(url: str) -> None:
    reply = post(url, "/v1/select", {"question": "Capital of France?", "rollouts": ROLLOUTS}).json()
    assert (reply["answer"], reply["sample_id"], reply["group"]) == ("Paris", 0, [0, 2])
    chats = [
        {"messages": [{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": answer}]}
        for answer in ("Answer: Rome", "Answer: Paris", "Answer: Paris")
    ]
    reply = post(url, "/v1/select", {"rollouts": chats}).json()
    assert (reply["answer"], reply["question"]) == ("Paris", "Capital?")
    assert post(url, "/v1/select", {"question": "Q?", "rollouts": chats, "k": 1}).json()["answer"] == "Rome"


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 422, "JSON"),
        ({"question": "Q?"}, 422, "rollouts"),
        ({"rollouts": []}, 422, "rollouts"),
        ({"rollouts": [{"nothing": 1}]}, 422, "no known format"),
        ({"rollouts": [{"answer": 3, "searches": []}]}, 200, "expected a string"),
        ({"rollouts": ROLLOUTS, "reader": "nonsense"}, 422, "nonsense"),
        ({"rollouts": ROLLOUTS, "unknown": 1}, 422, "unknown"),
        ({"rollouts": [{"question_id": "a", **ROLLOUTS[0]}, {"question_id": "b", **ROLLOUTS[1]}]}, 422, "2 questions"),
        ({"rollouts": [{"answer": "x" * 200_000}]}, 413, "longer than"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(url: str, body: Any, status: int, reason: str) -> None:
    reply = post(url, "/v1/select", body)
    assert reply.status_code == status
    assert reason in reply.text


def test_a_body_without_a_length_is_cut_off_at_the_limit(url: str) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"rollouts": ["'
        for _ in range(10):
            yield b"x" * 50_000

    assert httpx.post(f"{url}/v1/select", content=endless()).status_code == 413


@pytest.mark.parametrize("key", ["documents", "texts"])
def test_reranking_orders_answers_and_rollouts(url: str, key: str) -> None:
    body = {"query": "Capital?", key: ["Rome", {"text": "Paris"}, ROLLOUTS[2], ""], "top_n": 3}
    results = post(url, "/v1/rerank", body).json()["results"]
    assert [item["index"] for item in results] == [1, 2, 0]
    assert results[0]["relevance_score"] > results[2]["relevance_score"] > 0
    assert post(url, "/v1/rerank", {"query": "Capital?"}).status_code == 422


def test_health_and_metrics_tell_what_happened(url: str) -> None:
    post(url, "/v1/select", {"question": "Q?", "rollouts": ROLLOUTS})
    httpx.get(f"{url}/made/up")
    assert httpx.get(f"{url}/health").json()["method"] == "majority"
    text = httpx.get(f"{url}/metrics").text
    assert 'tracerank_requests_total{path="/v1/select",status="200"}' in text
    assert "made/up" not in text
    assert httpx.get(f"{url}/openapi.json").json()["paths"].keys() >= {"/v1/select", "/v1/rerank"}


def test_a_token_is_asked_for_everywhere_but_at_health() -> None:
    with served(select_app(MajorityVote(), "1", token="secret")) as url:
        body = {"question": "Q?", "rollouts": ROLLOUTS}
        assert post(url, "/v1/select", body).status_code == 401
        assert post(url, "/v1/select", body, Authorization="Bearer wrong").status_code == 401
        assert post(url, "/v1/select", body, Authorization="Bearer secret").status_code == 200
        assert httpx.get(f"{url}/metrics").status_code == 401
        assert httpx.get(f"{url}/health").status_code == 200


def test_browsers_show_the_token_as_a_password() -> None:
    with served(select_app(MajorityVote(), "1", token="secret")) as url:
        assert "Basic" in httpx.get(url).headers["www-authenticate"]
        assert httpx.get(url, auth=("anybody", "secret")).status_code == 200
        assert httpx.get(url, auth=("secret", "wrong")).status_code == 401
        assert httpx.get(url, headers={"authorization": "Basic ?"}).status_code == 401


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (EmbeddingError("http://10.0.0.7/v1: connection refused"), 503, "behind this service failed"),
        (ChatError("http://10.0.0.7/v1: connection refused"), 503, "behind this service failed"),
        (TraceRankError("the pool mixes settings"), 422, "mixes settings"),
        (ZeroDivisionError("a fault of ours"), 500, "not decided: ZeroDivisionError: a fault of ours"),
    ],
)
def test_whose_fault_it_is_shows_in_the_status(error: Exception, status: int, told: str) -> None:
    class Failing:
        name = "failing"

        def decide(self, pool: Pool) -> Decision:
            raise error

    with served(select_app(Failing(), "1")) as url:
        reply = post(url, "/v1/select", {"question": "Q?", "rollouts": ROLLOUTS})
        assert reply.status_code == status
        assert told in reply.text
        assert "10.0.0.7" not in reply.text
        assert httpx.get(f"{url}/health").status_code == 200


def test_mistakes_are_told_in_a_line_without_repeating_the_body(url: str) -> None:
    reply = post(url, "/v1/select", {"question": 3, "rollouts": "x" * 100_000})
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("body.question: ")
    assert len(reply.content) < 500


def test_half_characters_do_no_harm(url: str) -> None:
    reply = post(url, "/v1/select", {"question": "Q \ud800?", "rollouts": [{"answer": "Paris \udfff"}]})
    assert (reply.status_code, reply.json()["answer"]) == (200, "Paris ?")
    assert post(url, "/v1/select", b'{"rollouts": [NaN, "\\ud800"]}').status_code == 422
    assert post(url, "/v1/select", b"[" * 100_000 + b'"\\ud800"').status_code == 422


def test_a_full_queue_answers_429_and_slowness_504_and_nothing_accepted_is_lost() -> None:
    held = Held()
    limits = ServiceLimits(seconds=20, batch=1, waiting=2)
    with ThreadPoolExecutor(8) as clients, served(select_app(held, "1", limits)) as url:
        body = {"question": "Q?", "rollouts": ROLLOUTS}
        accepted = [clients.submit(post, url, "/v1/select", body)]
        assert held.begun.wait(10)
        accepted += [clients.submit(post, url, "/v1/select", body) for _ in range(2)]
        while httpx.get(f"{url}/health").json()["waiting"] < 2:
            pass
        full = post(url, "/v1/select", body)
        assert (full.status_code, full.headers["retry-after"]) == (429, "1")
        held.gate.set()
        assert [future.result(20).status_code for future in accepted] == [200] * 3
    slow = Held()
    with served(select_app(slow, "1", ServiceLimits(seconds=0.05))) as url:
        assert post(url, "/v1/select", body).status_code == 504
        slow.gate.set()


@pytest.mark.parametrize("length", [10, QUICK_BYTES])
def test_the_time_limit_covers_reading(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    may_read = threading.Event()

    def slow(request: SelectRequest) -> tuple[Pool, list[str]]:
        may_read.wait(0.2 if length < QUICK_BYTES else 20)
        return pool_of(request)

    monkeypatch.setattr(deciding, "pool_of", slow)
    with served(select_app(MajorityVote(), "1", ServiceLimits(seconds=0.05))) as url:
        body = {"question": "Q?", "rollouts": [*ROLLOUTS, {"answer": "x" * length}]}
        reply = post(url, "/v1/select", body)
        assert (reply.status_code, "within" in reply.json()["detail"]) == (504, True)
        assert httpx.get(f"{url}/health").status_code == 200
        may_read.set()


def test_what_is_being_read_counts_as_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    may_read, is_reading = threading.Event(), threading.Event()

    def slow(request: SelectRequest) -> tuple[Pool, list[str]]:
        is_reading.set()
        assert may_read.wait(20)
        return pool_of(request)

    monkeypatch.setattr(deciding, "pool_of", slow)
    limits = ServiceLimits(seconds=20, waiting=1)
    with ThreadPoolExecutor(1) as clients, served(select_app(MajorityVote(), "1", limits)) as url:
        long = {"question": "Q?", "rollouts": [*ROLLOUTS, {"answer": "x" * QUICK_BYTES}]}
        accepted = clients.submit(post, url, "/v1/select", long)
        assert is_reading.wait(10)
        assert post(url, "/v1/select", {"question": "Q?", "rollouts": ROLLOUTS}).status_code == 429
        may_read.set()
        assert accepted.result(20).json()["answer"] == "Paris"


def test_what_was_accepted_is_finished_when_the_service_ends() -> None:
    held = Held()
    with ThreadPoolExecutor(1) as clients:
        with served(select_app(held, "1")) as url:
            waiting = clients.submit(post, url, "/v1/select", {"question": "Q?", "rollouts": ROLLOUTS})
            assert held.begun.wait(10)
            threading.Timer(0.3, held.gate.set).start()
        assert waiting.result(10).json()["answer"] == "Paris"


def test_many_clients_get_their_own_answers(url: str) -> None:
    def client(number: int) -> list[bool]:
        with httpx.Client() as http:
            return [
                http.post(f"{url}/v1/select", json=asked(pool)).json()["answer"] == MajorityVote().decide(pool).answer
                for pool in POOLS[number % 5 :: 2]
            ]

    with ThreadPoolExecutor(16) as clients:
        assert all(all(answers) for answers in clients.map(client, range(16)))


def test_an_explanation_says_what_the_candidates_rest_on(url: str) -> None:
    pool = POOLS[0]
    reply = post(url, "/v1/explain", asked(pool)).json()
    decision = MajorityVote().decide(pool)
    assert reply["decision"]["answer"] == decision.answer
    assert reply["candidates"][0]["sample_id"] == decision.sample_id
    assert (reply["has_weights"], reply["reasons"]) == (False, [])
    texts = {seen.text for rollout in pool.rollouts for search in rollout.searches for seen in search.evidence}
    shown = [seen for candidate in reply["candidates"] for seen in candidate["evidence"]]
    assert shown
    assert all(seen["text"] in texts and seen["weight"] is None for seen in shown)


class Choosy:
    """A vote that fails on one answer."""

    name = "choosy"

    def decide(self, pool: Pool) -> Decision:
        if any(rollout.answer == "bad" for rollout in pool.rollouts):
            raise OverflowError("math range error")
        return MajorityVote().decide(pool)


@pytest.mark.parametrize("path", ["/v1/select", "/v1/explain", "/v1/view"])
def test_a_pool_on_which_the_method_fails_gets_a_clean_error_and_its_company_an_answer(path: str) -> None:
    with served(select_app(Choosy(), "1")) as address, ThreadPoolExecutor(8) as clients:
        bodies = [{"answers": ["bad" if number == 3 else "Paris"], "question": "Q?"} for number in range(8)]
        replies = list(clients.map(lambda body: post(address, path, body), bodies))
    assert [reply.status_code for reply in replies] == [500 if number == 3 else 200 for number in range(8)]
    assert "not decided: OverflowError: math range error" in replies[3].json()["detail"]


def test_that_another_method_was_asked_is_told_with_its_cost_and_what_is_missing() -> None:
    with served(select_app(Escalating(load_selector(), Judge("Rome"), 1.0), "1")) as url:
        body = {"question": "What is the capital of France?", "rollouts": ROLLOUTS}
        found = post(url, "/v1/select", body).json()
        explained = post(url, "/v1/explain", body).json()["decision"]
    assert found["answer"] == "Rome"
    told = found["escalated"]
    assert (told["method"], told["outcome"], told["below"], told["answer"]) == ("judge", "changed", 1.0, "Paris")
    assert told["usage"] == found["usage"] == {"prompt_tokens": 30, "completion_tokens": 2, "calls": 1}
    assert found["missing"]["note"]
    assert explained["escalated"] == told


def test_a_decision_that_was_not_escalated_says_so(url: str) -> None:
    found = post(url, "/v1/select", {"question": "Q?", "rollouts": ROLLOUTS}).json()
    assert (found["escalated"], found["missing"]) == (None, None)
