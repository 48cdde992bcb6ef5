"""What holds for every server: retries, time, size, keys, and which failures end a run."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.model_server import DONE, Reply, Server, Stream, called, delta, error, said
from tracerank.endpoints.chat import ChatMessage, ChatModel, ChatReply, Sampling
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat, chat_config
from tracerank.endpoints.client import retry_after
from tracerank.endpoints.spelling import Address, ChatTime, read_address, read_chat_time
from tracerank.errors import ChatError, UsageError

Make = Callable[..., HttpChat]
KEY = "sk-very-secret-0123456789"
HI = (delta(role="assistant", content=None), delta(content="H"), delta(content="i."), delta("stop"))
PING = b": ping\n\n"
PAUSE = 20.0
"""Seconds for which no test waits."""


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    found._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are the point
    yield found
    found.close()


def ask(chat: ChatModel, seed: int = 3) -> ChatReply:
    return chat.reply([ChatMessage("user", "Hello?")], Sampling(5, seed=seed))


def failure(chat: ChatModel) -> ChatError:
    with pytest.raises(ChatError) as caught:
        ask(chat)
    assert "\n" not in str(caught.value)
    return caught.value


# Retries


def test_a_busy_server_is_asked_again_when_it_wishes(server: Server, make: Make, slept: list[float]) -> None:
    server.planned = [error(429, "slow down", Retry_After="7"), error(503, "loading"), error(500, "oops")]
    assert ask(make()).text == "Hi."
    assert slept[0] == 7.0
    assert 1.0 <= slept[1] <= 1.5 <= 2.0 <= slept[2] <= 2.5


@pytest.mark.parametrize(
    "cut",
    [
        Reply(body={"choices": []}, cut=True),
        Reply(body=b'{"choices": ['),
        Stream(delta(content="H")),
        Stream(delta(content="H"), ends=False),
        Stream(delta(content="H"), b"data: {broken\n\n", *HI, DONE),
        Stream(delta(content="H"), b"data: [1]\n\n", *HI, DONE),
        Stream(delta(content="H"), b"data: " + b"[" * 100_000 + b"\n\n", *HI, DONE),
        Stream(b""),
        Stream(PING),
    ],
)
def test_a_reply_that_is_cut_or_broken_is_asked_for_again(
    server: Server, make: Make, slept: list[float], cut: Reply
) -> None:
    server.planned = [cut]
    assert ask(make()).text == "Hi."
    assert len(slept) == 1


def test_a_server_that_stays_broken_is_given_up(server: Server, make: Make, slept: list[float]) -> None:
    server.planned = [error(500, "oops")] * 3
    assert "gave up after 3 attempts: HTTP 500: oops" in str(failure(make(retries=2)))
    assert len(slept) == 2


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (error(429, "tomorrow", Retry_After="86400"), r"asks to wait 86400 s, more than 60 s (HTTP 429: tomorrow)"),
        (Reply(429, {"error": {"message": "pay first", "code": "insufficient_quota"}}), "HTTP 429: pay first"),
        (error(501, "not here"), "HTTP 501: not here"),
        (Reply(307, {}, Location="http://elsewhere.invalid"), "HTTP 307"),
        (Reply(body=b'{"a":' * 100_000), "nested too deeply"),
        (Reply(body=b"\x1f\x8b", Content_Encoding="gzip"), "'gzip', although uncompressed was asked for"),
    ],
)
def test_what_no_retry_repairs_is_an_error_at_once(
    server: Server, make: Make, slept: list[float], reply: Reply, words: str
) -> None:
    server.rule = lambda _: reply
    assert words in str(failure(make()))
    assert slept == []
    assert len(server.requests) == 1


def test_retry_after_may_be_a_date_or_nonsense() -> None:
    assert 0.0 == retry_after(None) == retry_after("soon") == retry_after("Wed, 21 Oct 2015 07:28:00 GMT")
    assert retry_after("1.5") == 1.5
    assert retry_after("Wed, 21 Oct 2099 07:28:00 GMT") > 1e9


# Time and size


@pytest.mark.parametrize(
    ("stream", "settings", "words"),
    [
        (Stream(PAUSE, *HI), {"timeout": 0.2}, "no answer within 0.2 s; --chat-time allows more"),
        (Stream(HI[1], PAUSE, *HI), {"timeout": 0.2}, "no answer within 0.2 s"),
        (Stream(HI[1], *(PING, 0.02) * 100, *HI), {"timeout": 0.4}, "no token for 0.4 s; --chat-time allows more"),
        (Stream(*(delta(content="la "), 0.01) * 100, *HI), {"whole": 0.1}, "not finished within 0.1 s"),
        (Stream(*(b"x", 0.01) * 100, *HI), {"whole": 0.1}, "not finished within 0.1 s"),
    ],
)
def test_a_stuck_or_endless_server_is_given_up_after_another_try_with_another_seed(
    server: Server, make: Make, slept: list[float], stream: Stream, settings: dict[str, float], words: str
) -> None:
    server.rule = lambda _: stream
    began = time.monotonic()
    found = failure(make(**settings))
    assert time.monotonic() - began < PAUSE / 2
    assert f"gave up after 2 attempts: {words}" in str(found)
    assert not found.ends_all
    first, second = (request["seed"] for request in server.requests)
    assert (first, first != second) == (3, True)


def test_a_slow_server_may_take_longer_than_it_may_be_silent(server: Server, make: Make) -> None:
    pieces = (piece for word in range(20) for piece in (delta(content=f"{word} "), 0.06))
    server.planned = [Stream(*pieces, delta("stop"), DONE)]
    assert ask(make(timeout=1)).text.split() == [str(word) for word in range(20)]


def test_a_finished_reply_is_used_although_the_server_stays_connected(server: Server, make: Make) -> None:
    server.rule = lambda _: Stream(*HI, DONE, PAUSE)
    began = time.monotonic()
    assert ask(make()).text == "Hi."
    assert time.monotonic() - began < PAUSE / 2
    server.rule = lambda _: Stream(*HI, PAUSE)  # without an end mark
    assert ask(make(timeout=0.5)).text == "Hi."
    assert len(server.requests) == 2


def test_an_answer_without_end_is_given_up_at_once(
    server: Server, make: Make, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChatConfig, "most_bytes", 1_000_000)
    server.rule = lambda _: Stream(*(delta(content="la " * 1000) for _ in range(1000)))
    assert "answered with more than 1 MB" in str(failure(make()))
    assert slept == []


# Which failures end a run


@pytest.mark.parametrize("refusal", [error(401, "who are you"), error(404, "model not found")])
def test_what_ends_all_does_so_only_before_the_first_reply(server: Server, make: Make, refusal: Reply) -> None:
    chat = make()
    for is_first in (True, False):
        server.planned = [refusal]
        assert failure(chat).ends_all is is_first
        ask(chat)


def test_a_dead_server_ends_all_and_a_refused_request_does_not(server: Server, make: Make) -> None:
    found = failure(make(url="http://127.0.0.1:9", retries=0))
    assert "gave up after 1 attempt: no connection" in str(found)
    assert found.ends_all
    server.planned = [error(400, "bad request")]
    assert not failure(make()).ends_all


# Keys


def test_a_key_that_a_server_repeats_appears_nowhere(
    server: Server, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TRACERANK_API_KEY", KEY)
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
    call = {"id": KEY, "function": {"name": "search", "arguments": json.dumps({"query": KEY})}}
    escaping = json.dumps({"choices": [{"message": {"content": "You are @."}}]}).replace("@", escaped).encode()
    server.planned = [said(f"You are {KEY}."), called(call, text=f"{KEY}!"), Reply(body=escaping)]
    http = make(retries=0)
    chat = CachedChat(http, tmp_path)
    replies = [ask(chat, seed) for seed in range(3)]
    assert [reply.text for reply in replies] == ["You are ***.", "***!", "You are ***."]
    echo = f"you sent Bearer {KEY}, why?"
    server.planned = [error(status, echo) for status in (400, 401, 403, 404, 413, 418, 429, 500)]
    server.planned += [Reply(body={"error": echo}), Reply(500, f"{'x' * 290}{KEY}".encode())]
    messages = [str(failure(http)) for _ in range(10)]
    assert "you sent Bearer ***" in messages[0]
    assert "refuses the key in $TRACERANK_API_KEY (HTTP 401)" in messages[1]
    assert set(server.authorizations) == {f"Bearer {KEY}"}
    shown = [*messages, repr(replies), repr(http), repr(http.config), http.name, str(vars(http)), caplog.text]
    assert not [text for text in shown if KEY[:8] in text]
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_what_stands_for_no_key_may_stand_in_an_answer(
    server: Server, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACERANK_API_KEY", "none")
    server.planned = [said("There is none.")]
    assert ask(make()).text == "There is none."


def test_the_key_of_openai_goes_to_openai_only(server: Server, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ask(make())
    assert server.authorizations == [None]
    assert ChatConfig("https://api.openai.com/v1", "m").key_source == "OPENAI_API_KEY"
    assert ChatConfig("https://api.openai.com.evil.example/v1", "m").key_source is None


@pytest.mark.parametrize(
    ("key", "words"),
    [("", "$MY_KEY is not set"), (f"{KEY} x", "holds a character no key has"), (f"{KEY}é", "holds a character")],
)
def test_a_key_that_cannot_be_sent_is_named_by_its_variable(
    make: Make, monkeypatch: pytest.MonkeyPatch, key: str, words: str
) -> None:
    monkeypatch.setenv("MY_KEY", key)
    message = str(failure(make(key_variable="MY_KEY")))
    assert words in message
    assert KEY not in message


# Spelling


@pytest.mark.parametrize(
    "url",
    ["host:80", "ftp://host", "", "http://", "http://[::1", f"http://me:{KEY}@host", f"http://host/v1?api-key={KEY}"],
)
def test_what_is_no_address_is_refused_without_repeating_a_key(url: str) -> None:
    with pytest.raises(ChatError, match="server") as caught:
        ChatConfig(url, "m")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://host/v1#Qwen/Qwen3-8B", Address("http://host/v1", "Qwen/Qwen3-8B")),
        (" http://host # m ", Address("http://host", "m")),
        ("http://host", Address("http://host", "default")),
        ("http://host#", Address("http://host", "default")),
    ],
)
def test_a_server_and_its_model_are_written_in_one_way(text: str, address: Address) -> None:
    assert read_address(text) == address
    assert (chat_config(text).url, chat_config(text).model) == address


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(None, ChatTime()), ("1200", ChatTime(1200)), (",90", ChatTime(whole=90)), ("1, 2.5", ChatTime(1, 2.5))],
)
def test_seconds_that_are_left_out_keep_their_default(text: str | None, wanted: ChatTime) -> None:
    config = chat_config("http://host#m", text)
    assert (config.timeout, config.whole) == wanted == read_chat_time(str(wanted))


@pytest.mark.parametrize("text", ["soon", "1,2,3", "0", "-1", "nan", ",inf"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected seconds SILENCE,WHOLE, for example 600,3600"):
        read_chat_time(text)
