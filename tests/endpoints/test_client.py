"""What holds for every server: retries, time, size, keys, and which failures end a run."""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.model_server import Pieces, Reply, Server, called, error, said
from tracerank.endpoints.chat import ChatMessage, ChatModel, ChatReply, Sampling
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat, chat_config
from tracerank.endpoints.server import Address, read_address
from tracerank.errors import ChatError, UsageError

Make = Callable[..., HttpChat]
KEY = "sk-very-secret-0123456789"
PAUSE = 20.0
"""Seconds for which no test waits."""


def ask(chat: ChatModel, seed: int = 3) -> ChatReply:
    return chat.reply([ChatMessage("user", "Hello?")], Sampling(5, seed=seed))


def failure(chat: ChatModel) -> ChatError:
    with pytest.raises(ChatError) as caught:
        ask(chat)
    assert "\n" not in str(caught.value)
    return caught.value


# Retries


def test_a_busy_server_is_asked_again_when_it_wishes(server: Server, make: Make, slept: list[float]) -> None:
    server.planned = [
        error(429, "slow down", Retry_After="7.5"),
        error(503, "loading"),
        error(500, "oops", Retry_After="soon"),
    ]
    assert ask(make()).text == "Hi."
    assert slept[0] == 7.5
    assert 1.0 <= slept[1] <= 1.5 <= 2.0 <= slept[2] <= 2.5
    server.planned = [error(500, "oops")] * 3
    assert "gave up after 3 attempts: HTTP 500: oops" in str(failure(make(retries=2)))


@pytest.mark.parametrize("cut", [Reply(body={"choices": []}, cut=True), Reply(body=b'{"choices": ['), Reply(body=b"")])
def test_a_reply_that_is_cut_is_asked_for_again(server: Server, make: Make, slept: list[float], cut: Reply) -> None:
    server.planned = [cut]
    assert ask(make()).text == "Hi."
    assert len(slept) == 1


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (error(429, "tomorrow", Retry_After="86400"), r"asks to wait 86400 s, more than 60 s (HTTP 429: tomorrow)"),
        (Reply(429, {"error": {"message": "pay first", "code": "insufficient_quota"}}), "HTTP 429: pay first"),
        (error(501, "not here"), "HTTP 501: not here"),
        (Reply(307, {}, Location="http://elsewhere.invalid"), "HTTP 307"),
        (Reply(body=b'{"a":' * 100_000), "nested too deeply"),
        (Reply(body=b"\x1f\x8b", Content_Encoding="gzip"), "'gzip', although uncompressed was asked for"),
        (Pieces(*[b" " * 100_000] * 20), "answered with more than 1 MB"),
        (Pieces(PAUSE), "no answer within 0.3 s; --chat-time allows more"),
        (Pieces(*(b" ", 0.02) * 100), "no answer within 0.3 s; --chat-time allows more"),
    ],
)
def test_what_no_retry_repairs_is_an_error_at_once(
    server: Server, make: Make, slept: list[float], monkeypatch: pytest.MonkeyPatch, reply: Reply, words: str
) -> None:
    monkeypatch.setattr(ChatConfig, "most_bytes", 1_000_000)
    server.rule = lambda _: reply
    began = time.monotonic()
    found = failure(make(timeout=0.3 if "0.3 s" in words else 60))
    assert time.monotonic() - began < PAUSE / 2
    assert words in str(found)
    assert not found.ends_all
    assert slept == []
    assert len(server.requests) == 1


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
    "key",
    [f"{KEY} x", f"{KEY}é"],
)
def test_a_key_that_cannot_be_sent_is_named_by_its_variable(
    make: Make, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("TRACERANK_API_KEY", key)
    message = str(failure(make()))
    assert "the key in $TRACERANK_API_KEY holds a character no key has" in message
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
    for ending in ("", "/", "/v1", "/v1/", "/v1/chat/completions"):
        assert ChatConfig(f"http://host{ending}", "m").endpoint == "http://host/v1/chat/completions"


@pytest.mark.parametrize("text", ["soon", "1,2", "0", "-1", "nan", "inf", ""])
def test_seconds_for_a_reply_are_a_positive_number(text: str) -> None:
    assert chat_config("http://host#m", "90").timeout == 90
    with pytest.raises(UsageError, match="expected the seconds that a reply may take"):
        chat_config("http://host#m", text)
