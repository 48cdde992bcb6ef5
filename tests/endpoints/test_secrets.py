"""A server that repeats the key gets it into no reply, and so into no cache and no output."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import Reply, Server, called, said
from tracerank.endpoints.chat import ChatMessage, ChatModel, ChatReply, Sampling
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.endpoints.client import without_secret

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def ask(chat: ChatModel, seed: int = 0) -> ChatReply:
    return chat.reply([ChatMessage("user", "Hello?")], Sampling(5, seed=seed))


def test_a_key_that_is_repeated_is_kept_nowhere(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRACERANK_API_KEY", KEY)
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
    call = {"id": KEY, "function": {"name": "search", "arguments": json.dumps({"query": KEY})}}
    escaping = json.dumps({"choices": [{"message": {"content": "You are @."}}]}).replace("@", escaped).encode()
    server.planned = [said(f"You are {KEY}."), called(call, text=f"{KEY}!"), Reply(body=escaping)]
    http = HttpChat(ChatConfig(server.url, "m"))
    chat = CachedChat(http, tmp_path)
    replies = [ask(chat, seed) for seed in range(3)]
    http.close()
    assert [reply.text for reply in replies] == ["You are ***.", "***!", "You are ***."]
    assert KEY not in repr(replies)
    assert server.authorizations == [f"Bearer {KEY}"] * 3
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_what_stands_for_no_key_may_stand_in_an_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACERANK_API_KEY", "none")
    server.planned = [said("There is none.")]
    http = HttpChat(ChatConfig(server.url, "m"))
    assert ask(http).text == "There is none."
    http.close()


def test_keys_are_taken_out_wherever_they_stand_and_however_deep() -> None:
    deep: object = f"a {KEY}"
    for _ in range(5000):
        deep = [deep]
    found = without_secret({"x": {KEY: [KEY, 1, None]}, "y": deep}, KEY)
    assert found["x"] == {"***": ["***", 1, None]}
    for _ in range(5000):
        [deep] = deep  # type: ignore[misc]
    assert deep == "a ***"
    assert without_secret("no key", None) == "no key"
