"""The service behind a real server: decisions, wrong requests, overload, failures."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.served import served
from tests.serving.held import BODY, Held, asked, post
from tracerank.errors import ChatError, EmbeddingError, TraceRankError
from tracerank.lab.worlds.presets import PRESETS, iter_world
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.voting import MajorityVote

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")

from tracerank.serving.app import create_app
from tracerank.serving.settings import MAX_ROLLOUTS, ServiceSettings
from tracerank.serving.wire import verdict_on

POOLS = list(iter_world(PRESETS["paper"]["webqa"], 20, 3, 6))
ROLLOUTS = BODY["rollouts"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(create_app(MajorityVote(), ServiceSettings(body_bytes=200_000))) as address:
        yield address


def test_many_clients_get_the_decisions_of_the_method(url: str) -> None:
    def client(number: int) -> None:
        with httpx.Client() as http:
            for pool in POOLS[number % 5 :: 2]:
                reply = http.post(f"{url}/v1/select", json=asked(pool)).json()
                decision = MajorityVote().decide(pool)
                assert (reply["answer"], reply["sample_id"]) == (decision.answer, decision.sample_id)
                assert {int(name): score for name, score in reply["scores"].items()} == decision.scores
                assert reply["question"] == pool.question.text

    with ThreadPoolExecutor(16) as clients:
        list(clients.map(client, range(16)))


def test_texts_are_answers(url: str) -> None:
    texts = ["Rome", "    Paris\n    (France)", "Paris (France)"]
    for body in ({"rollouts": texts}, {"rollouts": [texts[0], {"answer": texts[1]}, texts[2]]}):
        reply = post(url, "/v1/select", {"question": "Q?", **body}).json()
        assert (reply["answer"], reply["group"], reply["problems"]) == (texts[1], [1, 2], [])
    said = [{"said": {"last": text}} for text in texts]
    reply = post(url, "/v1/select", {"question": "Q?", "rollouts": said, "map": {"answer": "said.last"}}).json()
    assert (reply["answer"], reply["problems"]) == (texts[1], [])


def decided(scores: dict[int, float], group: tuple[int, ...], confidence: float | None, rank: float | None) -> Decision:
    return Decision("q", "Paris", 0, scores, group=group, confidence=confidence, rank_score=rank)


@pytest.mark.parametrize(
    ("decision", "verdict"),
    [
        (decided({0: 2.0, 1: 1.0}, (0,), 0.9, None), "approve"),
        (decided({0: 2.0, 1: 1.0}, (0,), None, 0.7), "approve"),
        (decided({0: 2.0, 1: 1.0}, (0,), 0.6, 0.9), "redo"),
        (decided({0: 2.0, 1: 1.0}, (0,), None, 0.2), "redo"),
        (decided({}, (), None, None), "redo"),
        (decided({0: 2.0, 1: 1.0}, (0,), 0.4, 0.9), "reject"),
        (decided({0: 2.0, 1: 2.0}, (0,), 0.9, None), "tie"),
        (decided({0: 2.0, 1: 2.0}, (0, 1), 0.9, None), "approve"),
        (Decision("q", None, None), "abstain"),
    ],
)
def test_a_decision_has_a_verdict_for_routers(decision: Decision, verdict: str) -> None:
    assert verdict_on(decision) == verdict


def test_chat_messages_are_understood_and_k_limits_them(url: str) -> None:
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
        ({"question": "Q?"}, 422, "body.rollouts: Field required"),
        ({"rollouts": []}, 422, "rollouts"),
        ({"rollouts": ["a"] * (MAX_ROLLOUTS + 1)}, 422, f"at most {MAX_ROLLOUTS} items"),
        ({"rollouts": [{"nothing": 1}]}, 422, "no known format"),
        ({"rollouts": [{"answer": 3, "searches": []}]}, 200, "expected a string"),
        ({"rollouts": ROLLOUTS, "reader": "nonsense"}, 422, "nonsense"),
        ({"rollouts": ROLLOUTS, "unknown": 1}, 422, "unknown"),
        ({"rollouts": ROLLOUTS, "k": True}, 422, "body.k"),
        ({"question": 3, "rollouts": "x" * 100_000}, 422, "body.question: "),
        ({"rollouts": [{"question_id": "a", **ROLLOUTS[0]}, {"question_id": "b", **ROLLOUTS[1]}]}, 422, "2 questions"),
        (b"[" * 100_000 + b'"\\ud800"', 400, "parsing the body"),
    ],
)
def test_a_wrong_request_gets_one_line_about_what_is_wrong(url: str, body: Any, status: int, reason: str) -> None:
    reply = post(url, "/v1/select", body)
    assert reply.status_code == status
    assert reason in reply.text
    assert len(reply.content) < 600
    assert "\n" not in reply.text


def test_a_body_of_another_content_type_and_an_unknown_address_are_refused_with_a_way_out(url: str) -> None:
    reply = httpx.post(f"{url}/v1/select", content=json.dumps(BODY), headers={"content-type": "text/plain"})
    assert (reply.status_code, "content-type: application/json" in reply.json()["detail"]) == (422, True)
    missing = httpx.post(f"{url}/v1/chat/completions", json={}).json()["error"]
    assert (missing["code"], "--upstream" in missing["message"]) == ("unknown_url", True)


def test_lone_surrogates_of_a_page_do_no_harm(url: str) -> None:
    reply = post(url, "/v1/select", {"question": "Q \ud800?", "rollouts": [{"answer": "Paris \udfff"}]})
    assert (reply.status_code, reply.json()["answer"]) == (200, "Paris ?")


def test_an_explanation_says_what_the_candidates_rest_on(url: str) -> None:
    pool = POOLS[0]
    reply = post(url, "/v1/explain", asked(pool)).json()
    decision = MajorityVote().decide(pool)
    assert reply["decision"]["answer"] == decision.answer
    assert reply["candidates"][0]["sample_id"] == decision.sample_id
    assert any(seen["same_text"] for each in reply["candidates"] for seen in each["evidence"])


class Contrary:
    """A method whose choice has not the highest score."""

    name = "contrary"

    def decide(self, pool: Pool) -> Decision:
        scores = {0: 2000.0, 1: 0.0}
        return Decision(pool.question.id, pool.rollouts[1].answer, 1, scores, {2: "no candidate"})


def test_the_chosen_rollout_comes_first_whatever_the_scores() -> None:
    with served(create_app(Contrary())) as address:
        explained = post(address, "/v1/explain", BODY).json()
        ranked = post(address, "/v2/rerank", {"query": "Q?", "documents": ["Paris", "Rome", "Nice"]}).json()
        page = httpx.get(f"{address}/metrics").text
    assert [one["sample_id"] for one in explained["candidates"]] == [1, 0]
    assert [one["index"] for one in ranked["results"]] == [1, 0, 2]
    assert [one["relevance_score"] for one in ranked["results"]] == [0.0, 1.0, 0.0]
    assert "tracerank_rollouts_dropped_total 2.0" in page


def test_health_and_metrics_say_what_happened(url: str) -> None:
    post(url, "/v1/select", BODY)
    httpx.get(f"{url}/made/up")
    health = httpx.get(f"{url}/health").json()
    assert (health["status"], health["method"], health["waiting"]) == ("ok", "majority", 0)
    text = httpx.get(f"{url}/metrics").text
    assert 'tracerank_requests_total{path="/v1/select",status="200"}' in text
    assert 'tracerank_requests_total{path="other",status="404"}' in text
    assert "made/up" not in text
    assert "tracerank_batch_pools_count" in text


FAILURES: dict[str, tuple[Exception, int, str]] = {
    "encoder": (EmbeddingError("http://10.0.0.7/v1: connection refused"), 503, "behind this service failed"),
    "chat": (ChatError("http://10.0.0.7/v1: connection refused"), 503, "behind this service failed"),
    "request": (TraceRankError("the pool mixes settings"), 422, "mixes settings"),
    "bug": (ZeroDivisionError("a bug"), 500, "not decided: ZeroDivisionError: a bug"),
    "disk": (OSError("/etc/secret: disk full"), 500, "its log has the reason"),
}


class Failing:
    """A method that fails as the question says."""

    name = "failing"

    def decide(self, pool: Pool) -> Decision:
        raise FAILURES[pool.question.text][0]


@pytest.fixture(scope="module")
def failing() -> Iterator[str]:
    with served(create_app(Failing())) as address:
        yield address


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("path", ["/v1/select", "/v1/explain", "/v2/rerank"])
def test_the_status_says_whose_fault_it_is(failing: str, failure: str, path: str) -> None:
    _, status, detail = FAILURES[failure]
    key, items = ("query", "documents") if path == "/v2/rerank" else ("question", "rollouts")
    reply = post(failing, path, {key: failure, items: ["Paris"]})
    assert reply.status_code == status
    assert detail in reply.json()["detail"]
    assert "10.0.0.7" not in reply.text
    assert "secret" not in reply.text
    assert ("retry-after" in reply.headers) == (status == 503)
    assert httpx.get(f"{failing}/health").status_code == 200


def test_a_full_queue_gets_429_and_everything_accepted_is_answered() -> None:
    held = Held()
    with ThreadPoolExecutor(8) as clients, served(create_app(held, ServiceSettings(waiting=2))) as url:
        accepted = [clients.submit(post, url, "/v1/select", BODY)]
        assert held.begun.wait(10)
        accepted += [clients.submit(post, url, "/v1/select", BODY) for _ in range(2)]
        while httpx.get(f"{url}/health").json()["waiting"] < 2:  # a pool that takes its time does not block this
            pass
        full = post(url, "/v1/select", BODY)
        assert (full.status_code, full.headers["retry-after"]) == (429, "1")
        held.gate.set()
        assert [future.result(20).status_code for future in accepted] == [200] * 3


def test_a_decision_that_takes_too_long_gets_504() -> None:
    held = Held()
    with served(create_app(held, ServiceSettings(seconds=1.0))) as url:
        assert post(url, "/v1/select", BODY).status_code == 504
        held.gate.set()
        while httpx.get(f"{url}/health").json()["waiting"]:
            pass
        assert post(url, "/v1/select", BODY).status_code == 200


def test_a_decision_that_came_in_time_is_answered_however_late_the_event_loop_is() -> None:
    held = Held()
    app = create_app(held, ServiceSettings(seconds=1.0))

    @app.get("/busy")
    async def busy() -> None:
        held.gate.set()
        time.sleep(1.5)  # holds up the loop

    with ThreadPoolExecutor(1) as clients, served(app) as url:
        accepted = clients.submit(post, url, "/v1/select", BODY)
        assert held.begun.wait(10)
        httpx.get(f"{url}/busy")
        assert accepted.result(20).status_code == 200


def test_a_body_that_grows_over_the_limit_is_cut_off(url: str) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"rollouts": ["'
        for _ in range(10):
            yield b"x" * 50_000

    headers = {"content-type": "application/json"}
    assert httpx.post(f"{url}/v1/select", content=endless(), headers=headers).status_code == 413
    announced = post(url, "/v1/select", {"rollouts": ["x" * 200_000]})
    assert (announced.status_code, "longer than 200000 bytes" in announced.json()["detail"]) == (413, True)


def test_the_description_has_the_example_that_works(url: str) -> None:
    described = httpx.get(f"{url}/openapi.json").json()
    [example] = described["components"]["schemas"]["SelectRequest"]["examples"]
    assert post(url, "/v1/select", json.loads(json.dumps(example))).status_code == 200
    assert httpx.get(f"{url}/docs").status_code == 200
