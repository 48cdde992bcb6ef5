"""The chat proxy asked by OpenAI's own client, with a scripted server behind it."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.llama import llama_server
from tests.model_server import Reply, Server, called, error, said
from tests.served import awaited, served

pytest.importorskip("fastapi")
pytest.importorskip("prometheus_client")
pytest.importorskip("openai", reason="the extra readers-test has it")

import openai

from tracerank.methods import load_selector
from tracerank.pools.pool import Pool
from tracerank.serving.app import create_app
from tracerank.serving.settings import MAX_SAMPLES, ServiceSettings
from tracerank.votes.base import Decision, Method
from tracerank.votes.voting import MajorityVote

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

KEY = "sk-of-the-client-0123456789"
QUESTION: Any = [{"role": "user", "content": "What is the capital of France?"}]
TOOLS: Any = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]


class Behind:
    """The endpoint, the server behind it, and a client before it."""

    def __init__(self, upstream: Server, url: str) -> None:
        self.upstream = upstream
        self.url = url
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)

    def ask(self, messages: Any = QUESTION, **options: Any) -> Any:
        return self.client.chat.completions.create(model="small", messages=messages, **options)


def app_of(upstream: str, method: Method | None = None, best_of: int = 4, **settings: Any) -> Any:
    return create_app(method or load_selector(), ServiceSettings(upstream=upstream, best_of=best_of, **settings))


@contextmanager
def behind(model: str = "#small", **options: Any) -> Iterator[Behind]:
    upstream = Server()
    with served(app_of(f"{upstream.url}{model}", **options)) as url:
        yield Behind(upstream, url)
    upstream.close()


@pytest.fixture
def chat() -> Iterator[Behind]:
    with behind() as made:
        yield made


def in_turn(*replies: Reply) -> Callable[[dict[str, Any]], Reply]:
    """Replies by sample, whichever arrives first: seeds, which begin at 0, identify them."""
    return lambda request: replies[request["seed"]]


def call(arguments: str, name: str = "search") -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_the_most_supported_completion_is_returned_unchanged(chat: Behind) -> None:
    texts = ["Lyon", "It is **Paris**.", "Paris", "Answer: Paris"]
    chat.upstream.rule = in_turn(*map(said, texts))
    reply = chat.ask(temperature=0.7, seed=0, extra_body={"best_of": 4, "stop": 0.999})
    about = reply.tracerank
    assert about["chosen"] > 0
    assert reply.choices[0].message.content == texts[about["chosen"]]
    assert (about["n"], about["saved"], about["failed"], about["groups"], about["agree"]) == (4, 0, 0, [3, 1], 3)
    assert about["cost"] == {"prompt_tokens": 28, "completion_tokens": 8, "calls": 4}
    assert 0 < about["rank_score"] < 1
    assert reply.usage.prompt_tokens == 7  # the chosen one's own
    sent = {"model": "small", "messages": QUESTION, "temperature": 0.7}
    assert sorted(one["seed"] for one in chat.upstream.requests) == [0, 1, 2, 3]
    assert all(one == {**sent, "seed": one["seed"]} for one in chat.upstream.requests)
    assert 'tracerank_samples_total{outcome="used"} 4.0' in httpx.get(f"{chat.url}/metrics").text


def test_sampling_stops_at_the_confidence_asked_for() -> None:
    with behind(best_of=16, stop=0.5) as chat:
        chat.upstream.rule = lambda request: said("Paris")
        about = chat.ask().tracerank
        assert about["n"] < 5
        assert about["rank_score"] >= 0.5
        assert about["saved"] >= 8
        assert chat.ask(extra_body={"best_of": 1}, stop=["\n"]).tracerank["n"] == 1
        # Those of the first that were no longer needed may still be on their way.
        assert [one["stop"] for one in chat.upstream.requests if "stop" in one] == [["\n"]]


def test_tool_messages_of_the_conversation_and_citations_are_evidence(chat: Behind) -> None:
    searched = [
        *QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call('{"query": "capital of France"}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "Paris is the capital of France."},
    ]
    chat.upstream.rule = lambda request: said("Paris")
    assert chat.ask(searched).tracerank["note"] is None
    assert "no evidence" in chat.ask().tracerank["note"]
    cited = {"url": "https://example.org/paris", "title": "Paris", "start_index": 0, "end_index": 5}
    annotation = {"type": "url_citation", "url_citation": cited}
    message = {"role": "assistant", "content": "Paris", "annotations": [annotation]}
    chat.upstream.rule = lambda request: Reply(body={"choices": [{"message": message, "finish_reason": "stop"}]})
    assert chat.ask().tracerank["note"] is None
    listed = {"search_results": [{"url": "https://example.org", "title": "P", "snippet": "Paris is the capital."}]}
    plain = {"choices": [{"message": {"role": "assistant", "content": "Paris"}, "finish_reason": "stop"}]}
    chat.upstream.rule = lambda request: Reply(body={**plain, **listed})
    assert chat.ask().tracerank["note"] is None


def test_calls_are_compared_by_tool_and_arguments() -> None:
    with behind(best_of=6) as chat:
        chat.upstream.rule = in_turn(
            called(call('{"query": "Lyon"}')),
            called(call('{"page": 1, "query": "Paris"}')),
            said("Paris"),
            called(call('{"query":"Paris","page":1}')),
            called(call('{"url": "x"}', "open")),
            called(call('{"query": "Nice"}')),
        )
        reply = chat.ask(tools=TOOLS, seed=0, extra_body={"stop": 1})
        assert json.loads(reply.choices[0].message.tool_calls[0].function.arguments) == {"page": 1, "query": "Paris"}
        assert reply.choices[0].finish_reason == "tool_calls"
        about = reply.tracerank
        assert (about["chosen"], about["agree"], about["groups"]) == (1, 2, [2, 1, 1, 1, 1])
        assert about["confidence"] is None


def test_samples_that_call_the_same_tool_are_soon_enough() -> None:
    with behind(best_of=16) as chat:
        numbers = iter(range(100))
        chat.upstream.rule = lambda request: called(call(json.dumps({"query": f"way {next(numbers)}"})))
        about = chat.ask(tools=TOOLS).tracerank
        assert (about["n"], about["chosen"]) == (3, 0)


def test_answers_outvote_a_call(chat: Behind) -> None:
    chat.upstream.rule = in_turn(called(call("{}")), said("Paris"), said("Paris"), said("Paris"))
    assert chat.ask(tools=TOOLS, seed=0, extra_body={"stop": 1}).choices[0].message.content == "Paris"


def test_a_stream_comes_after_the_decision_and_is_put_together_as_any_other(chat: Behind) -> None:
    chat.upstream.rule = lambda request: said("Paris")
    with chat.client.chat.completions.stream(
        model="small", messages=QUESTION, stream_options={"include_usage": True}
    ) as stream:
        pieces = [one.chunk for one in stream if one.type == "chunk"]
        whole = stream.get_final_completion()
    assert whole.choices[0].message.content == "Paris"
    assert whole.usage.completion_tokens == 2
    assert pieces[-2].tracerank["n"] >= 1
    assert "stream" not in chat.upstream.requests[0]
    chat.upstream.rule = lambda request: called(call('{"query": "Paris"}'), call("{}", "open"))
    with chat.client.chat.completions.stream(model="small", messages=QUESTION, tools=TOOLS) as stream:
        calls = stream.get_final_completion().choices[0].message.tool_calls
    assert [(one.function.name, one.function.arguments) for one in calls] == [
        ("search", '{"query": "Paris"}'),
        ("open", "{}"),
    ]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "BadRequestError"),
        (401, "AuthenticationError"),
        (403, "PermissionDeniedError"),
        (404, "NotFoundError"),
        (422, "UnprocessableEntityError"),
    ],
)
def test_a_refusal_of_the_server_reaches_the_client_at_once(chat: Behind, status: int, kind: str) -> None:
    chat.upstream.rule = lambda request: Reply(status, {"error": {"message": "no way", "code": "x1"}}, x_request_id="r")
    with pytest.raises(getattr(openai, kind)) as refused:
        chat.ask(extra_body={"best_of": 16})
    assert (refused.value.code, refused.value.message.count("no way"), refused.value.request_id) == ("x1", 1, "r")
    assert len(chat.upstream.requests) <= 4


def test_a_server_that_asks_for_a_pause_gets_one(chat: Behind) -> None:
    chat.upstream.rule = lambda request: error(429, "slow down", retry_after="7")
    with pytest.raises(openai.RateLimitError) as refused:
        chat.ask(extra_body={"best_of": 16})
    assert refused.value.response.headers["retry-after"] == "7"
    assert len(chat.upstream.requests) <= 4


def test_samples_that_fail_cost_only_themselves(chat: Behind) -> None:
    chat.upstream.planned = [error(500, "oops"), said("Paris"), error(409, "busy"), Reply(body={"choices": []})]
    chat.upstream.rule = lambda request: said("Paris")
    about = chat.ask(extra_body={"stop": 1}).tracerank
    assert (about["n"], about["failed"]) == (1, 3)


@pytest.mark.parametrize(("reply", "status"), [(error(503, "no"), 503), (Reply(body=b"<html>"), 502)])
def test_when_all_samples_fail_the_client_may_retry(chat: Behind, reply: Reply, status: int) -> None:
    chat.upstream.rule = lambda request: reply
    with pytest.raises(openai.InternalServerError) as refused:
        chat.ask()
    assert refused.value.status_code == status


@pytest.fixture(scope="module")
def unreachable() -> Iterator[str]:
    with served(app_of("http://127.0.0.1:9#small")) as url:
        yield url


def test_an_unreachable_server_is_reported_without_its_address(unreachable: str) -> None:
    reply = httpx.post(f"{unreachable}/v1/chat/completions", json={"messages": QUESTION})
    assert reply.status_code == 502
    assert "127.0.0.1" not in reply.text


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": ["x"]}, "messages"),
        ({"messages": QUESTION, "n": 2}, "n"),
        ({"messages": QUESTION, "best_of": 0}, "best_of"),
        ({"messages": QUESTION, "best_of": MAX_SAMPLES + 1}, "best_of"),
        ({"messages": QUESTION, "best_of": True}, "best_of"),
        ({"messages": QUESTION, "stop": 1.5}, "stop"),
        ({"messages": QUESTION, "model": 3}, "model"),
        ([], None),
    ],
)
def test_mistakes_are_refused_before_anything_is_sampled(unreachable: str, body: Any, param: str | None) -> None:
    reply = httpx.post(f"{unreachable}/v1/chat/completions", json=body)
    error = reply.json()["error"]
    assert (reply.status_code, error["type"], error["param"]) == (400, "invalid_request_error", param)


def test_a_greedy_request_is_sent_once_and_seeds_differ_otherwise(chat: Behind) -> None:
    about = chat.ask(temperature=0).tracerank
    assert (about["n"], about["note"].split(":")[0]) == (1, "temperature 0")
    chat.upstream.requests.clear()
    chat.ask(seed=5, extra_body={"best_of": 3, "stop": 1})
    assert sorted(one["seed"] for one in chat.upstream.requests) == [5, 6, 7]


def test_empty_replies_come_back_as_they_are(chat: Behind) -> None:
    chat.upstream.rule = lambda request: said(None, "length")
    reply = chat.ask()
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == (None, "length")
    assert reply.tracerank["note"].startswith("no sample has an answer")


def test_only_the_model_that_was_named_is_there(chat: Behind) -> None:
    assert [one.id for one in chat.client.models.list()] == ["small"]
    with pytest.raises(openai.NotFoundError) as refused:
        chat.client.chat.completions.create(model="other", messages=QUESTION)
    assert refused.value.code == "model_not_found"


def test_without_a_named_model_requests_and_lists_are_passed_on() -> None:
    with behind(model="") as chat:
        chat.upstream.models = Reply(body={"object": "list", "data": [{"id": "big", "object": "model"}]})
        assert [one.id for one in chat.client.models.list()] == ["big"]
        chat.client.chat.completions.create(model="big", messages=QUESTION)
        assert chat.upstream.requests[0]["model"] == "big"


def test_the_clients_key_is_passed_on_where_the_service_has_none(
    chat: Behind, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        chat.ask()
        chat.upstream.rule = lambda request: error(500, f"key {KEY} broke")
        with pytest.raises(openai.InternalServerError):
            chat.ask()
    assert set(chat.upstream.authorizations) == {f"Bearer {KEY}"}
    assert KEY not in caplog.text


def test_the_services_own_key_is_sent_and_never_repeated_and_its_token_is_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = "sk-of-the-service-0123456789"
    with behind(token="let-me-in") as chat:
        chat.client = chat.client.with_options(api_key="let-me-in")
        chat.ask(extra_body={"best_of": 1})
        assert chat.upstream.authorizations == [None]
        chat.upstream.authorizations.clear()
        monkeypatch.setenv("TRACERANK_API_KEY", own)
        chat.upstream.rule = lambda request: said(f"Your key is {own}")
        assert chat.ask().choices[0].message.content == "Your key is ***"
        assert set(chat.upstream.authorizations) == {f"Bearer {own}"}
        chat.upstream.rule = lambda request: error(401, f"Incorrect API key provided: {own}")
        with pytest.raises(openai.InternalServerError) as refused:
            chat.ask()
        assert own not in str(refused.value.body)
        chat.upstream.rule = lambda request: error(429, "slow", x_request_id=f"r-{own}", x_ratelimit_key=own)
        with pytest.raises(openai.RateLimitError) as slow:
            chat.ask()
        assert slow.value.response.headers["x-request-id"] == "r-***"
        assert own not in str(slow.value.response.headers)
        with pytest.raises(openai.AuthenticationError):
            chat.client.with_options(api_key="wrong").chat.completions.create(model="small", messages=QUESTION)


def test_after_its_time_a_request_gets_what_there_is_or_504() -> None:
    held = threading.Event()
    with behind(upstream_seconds=1.0) as chat:
        chat.upstream.planned = [said("Paris")]
        chat.upstream.rule = lambda request: (held.wait(20), said("Late"))[1]
        about = chat.ask(extra_body={"stop": 1}).tracerank
        assert (about["n"], about["stopped"]) == (1, "1 s are over")
        with pytest.raises(openai.InternalServerError) as late:
            chat.ask()
        held.set()
        assert late.value.status_code == 504


def test_no_more_requests_are_taken_than_may_wait() -> None:
    with behind(waiting=1) as chat:
        held = threading.Event()
        chat.upstream.rule = lambda request: (held.wait(10), said("Paris"))[1]
        first = threading.Thread(target=chat.ask)
        first.start()
        while not chat.upstream.requests:
            time.sleep(0.005)
        with pytest.raises(openai.RateLimitError) as refused:
            chat.ask()
        held.set()
        first.join(10)
        assert refused.value.response.headers["retry-after"] == "1"


class Alone:
    """A method that must not be used by two threads at once."""

    name = "alone"

    def __init__(self) -> None:
        self.entered = self.most = 0

    def decide(self, pool: Pool) -> Decision:
        self.entered += 1
        self.most = max(self.most, self.entered)
        time.sleep(0.02)
        self.entered -= 1
        return MajorityVote().decide(pool)


def test_completions_and_decisions_share_a_method_that_is_not_thread_safe() -> None:
    alone = Alone()
    with behind(method=alone) as chat, ThreadPoolExecutor(4) as clients:
        chat.upstream.rule = lambda request: said("Paris")
        body = {"question": "Q?", "rollouts": ["Paris"]}
        completions = [clients.submit(chat.ask, extra_body={"best_of": 8, "stop": 1}) for _ in range(2)]
        decisions = [clients.submit(httpx.post, f"{chat.url}/v1/select", json=body) for _ in range(10)]
        assert {one.result(20).status_code for one in decisions} == {200}
        assert {one.result(20).choices[0].message.content for one in completions} == {"Paris"}
    assert alone.most == 1


class Waiting:
    """A server that answers nobody, and notes who leaves."""

    def __init__(self) -> None:
        self.came = self.left = 0

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        self.came += 1
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left += 1


def test_a_client_that_leaves_ends_what_is_under_way_for_it() -> None:
    silent = Waiting()
    with served(silent, lifespan="off") as upstream, served(app_of(f"{upstream}#small")) as url:

        async def gives_up() -> None:
            client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
            asking = asyncio.create_task(client.chat.completions.create(model="small", messages=QUESTION))
            while silent.came < 4:
                await asyncio.sleep(0.01)
            asking.cancel()
            await asyncio.wait([asking])
            await client.close()
            for _ in range(500):
                if silent.left == 4:
                    break
                await asyncio.sleep(0.01)

        awaited(gives_up())
        assert (silent.came, silent.left) == (4, 4)


@pytest.mark.slow  # sixteen seconds
def test_a_llama_server_is_sampled() -> None:
    with llama_server() as address, served(app_of(f"{address}#smollm2", best_of=3)) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        asked: Any = [{"role": "user", "content": "Answer in one word: what is the capital of France?"}]
        reply = client.chat.completions.create(model="smollm2", messages=asked, max_tokens=8, temperature=0.8, seed=1)
        assert reply.choices[0].message.content
        assert 1 <= reply.tracerank["n"] <= 3
        assert reply.tracerank["cost"]["completion_tokens"] > 0
        pieces = client.chat.completions.create(
            model="smollm2", messages=asked, max_tokens=4, stream=True, extra_body={"best_of": 1}
        )
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="smollm2", messages=[{"role": "user", "content": "word " * 3000}])


CITY: Any = {"type": "function", "function": {"name": "city", "parameters": {"type": "object"}}}
FORCED = [
    {"type": "function", "function": {"name": "city"}},  # instructor, and LangChain's function_calling
    "required",
]


@pytest.mark.parametrize("choice", FORCED, ids=["named", "required"])
def test_arguments_of_a_function_that_the_request_forces_are_the_answer(chat: Behind, choice: Any) -> None:
    said_so = ['{"name": "Lyon"}', '{"name": "Paris", "why": "known"}', '{"why": "it is", "name": "paris"}']
    chat.upstream.rule = in_turn(*(called(call(text, "city")) for text in (*said_so, '{"name": "Paris, France"}')))
    reply = chat.ask(tools=[CITY], tool_choice=choice, seed=0, extra_body={"stop": 1})
    assert "aris" in reply.choices[0].message.tool_calls[0].function.arguments
    assert reply.tracerank["rank_score"] is not None
    other = chat.ask(tools=[CITY, *TOOLS], tool_choice="required", seed=0, extra_body={"stop": 1})
    assert other.tracerank["rank_score"] is None  # a choice of tools is a step


@pytest.mark.parametrize("function", [None, 3, "city", ["city"]])
def test_a_choice_of_tools_that_is_malformed_is_left_to_the_server(chat: Behind, function: Any) -> None:
    chat.upstream.rule = lambda request: said("Paris")
    reply = chat.ask(tool_choice={"type": "function", "function": function})
    assert reply.choices[0].message.content == "Paris"


def test_replies_by_a_schema_are_compared_by_their_fields(chat: Behind) -> None:
    texts = ['{"city": "Lyon", "year": 1}', '{"city": "Paris", "year": 1}', '{"year": 1, "city": "paris"}', "{}"]
    chat.upstream.rule = in_turn(*map(said, texts))
    form: Any = {"type": "json_schema", "json_schema": {"name": "city", "schema": {"type": "object"}}}
    reply = chat.ask(response_format=form, seed=0, extra_body={"stop": 1})
    assert (reply.choices[0].message.content, reply.tracerank["agree"]) == (texts[1], 2)


def responded(*items: Any) -> Reply:
    used = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    return Reply(body={"id": "r", "object": "response", "created_at": 0, "model": "small", "status": "completed"} | {
        "output": list(items), "usage": used, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []
    })  # fmt: skip


def spoken(text: str) -> dict[str, Any]:
    content = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [content]}


def test_responses_are_sampled_like_completions(chat: Behind) -> None:
    numbers = iter(range(100))
    texts = ["Lyon", "It is Paris.", "Paris", "Paris"]
    chat.upstream.rule = lambda request: responded(spoken(texts[next(numbers) % 4]))
    options: Any = {"model": "small", "input": "What is the capital of France?", "extra_body": {"stop": 1}}
    reply = chat.client.responses.create(**options)
    about: Any = reply.model_extra
    assert "Paris" in reply.output_text
    assert about["tracerank"]["groups"] == [3, 1]
    assert about["tracerank"]["cost"] == {"prompt_tokens": 20, "completion_tokens": 8, "calls": 4}
    assert set(chat.upstream.paths) == {"/v1/responses"}
    with chat.client.responses.stream(**options) as stream:
        assert "Paris" in "".join(one.delta for one in stream if one.type == "response.output_text.delta")
        assert "Paris" in stream.get_final_response().output_text
    asked = {"type": "function_call", "id": "f", "call_id": "c", "name": "search", "arguments": '{"query": "x"}'}
    chat.upstream.rule = lambda request: responded(asked)
    with chat.client.responses.stream(**options) as stream:
        [item] = stream.get_final_response().output
    assert (item.type, getattr(item, "arguments", None)) == ("function_call", '{"query": "x"}')
    searched: Any = [
        {"role": "user", "content": "What is the capital of France?"},
        asked,
        {"type": "function_call_output", "call_id": "c", "output": "Paris is the capital of France."},
    ]
    chat.upstream.rule = lambda request: responded({"type": "reasoning", "id": "t", "summary": []}, spoken("Paris"))
    extra: Any = chat.client.responses.create(**{**options, "input": searched}).model_extra
    assert extra["tracerank"]["note"] is None
    chat.upstream.rule = lambda request: said("Paris")
    with pytest.raises(openai.InternalServerError):
        chat.client.responses.create(**options)
    with pytest.raises(openai.BadRequestError) as refused:
        chat.client.responses.create(model="small", input=[])
    assert refused.value.param == "input"


def test_what_is_not_served_is_refused_as_openai_refuses_it(chat: Behind) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        chat.client.embeddings.create(model="small", input="x")
    assert (refused.value.code, refused.value.type) == ("unknown_url", "invalid_request_error")
    assert httpx.get(f"{chat.url}/v1/chat/completions").json()["error"]["type"] == "invalid_request_error"
    assert "detail" in httpx.get(f"{chat.url}/nowhere").json()
    with behind(token="let-me-in") as closed, pytest.raises(openai.AuthenticationError) as unknown:
        closed.ask()
    assert unknown.value.code == "invalid_api_key"


def test_a_stream_bears_calls_that_are_none_and_repeats_no_long_field(chat: Behind) -> None:
    whole = {
        "choices": [{"message": {"content": None, "tool_calls": [call("{}"), None]}}],
        "citations": ["x" * 200_000],
    }
    chat.upstream.rule = lambda request: Reply(body=whole)
    body = {"model": "small", "messages": QUESTION, "stream": True, "stream_options": {"include_usage": True}}
    reply = httpx.post(f"{chat.url}/v1/chat/completions", json=body)
    pieces = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
    assert [one["index"] for one in pieces[0]["choices"][0]["delta"]["tool_calls"]] == [0]
    assert len(reply.content) < 250_000
    assert pieces[1]["citations"]


def test_a_reply_of_very_many_choices_is_refused(chat: Behind) -> None:
    message = {"message": {"role": "assistant", "content": "Paris"}}
    chat.upstream.rule = lambda request: Reply(body={"choices": [message] * 1000})
    with pytest.raises(openai.InternalServerError):
        chat.ask()
