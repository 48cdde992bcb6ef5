"""Replies on disk: what makes a request the same, what is kept, and who may write at once."""

import sqlite3
from pathlib import Path

import pytest

from tests.scripted_chat import FakeChat
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatReply,
    ChatTool,
    EmptyReply,
    Sampling,
    TokenLogprob,
    ToolCall,
    Usage,
)
from tracerank.endpoints.chat_cache import FILE_NAME, CachedChat, request_key
from tracerank.errors import ChatError

ASKED = [ChatMessage("user", "Hello?")]
FULL = ChatReply(
    "half \ud83d",
    7,
    2,
    (TokenLogprob("h", -0.5, (TokenLogprob("h", -0.5), TokenLogprob("H", -1.5))),),
    (ToolCall("c1", "search", "{broken"),),
    is_cut=True,
    reasoning="Hm.",
)


def test_everything_in_a_reply_is_kept_and_still_tells_what_it_cost(tmp_path: Path) -> None:
    fake = FakeChat(lambda asked: FULL)
    assert CachedChat(fake, tmp_path).reply(ASKED, Sampling(5)) == FULL
    again = CachedChat(fake, tmp_path)
    assert again.reply(ASKED, Sampling(5)) == FULL
    assert again.reply(ASKED, Sampling(5)).usage == Usage(7, 2, 1)
    assert (len(fake.asked), again.asked) == (1, 0)


TOOL = ChatTool("search", "Finds.", {"type": "object", "properties": {}})


def test_whatever_changes_the_reply_asks_again() -> None:
    usual = ("m", ASKED, Sampling(5))
    others = [
        ("other", ASKED, Sampling(5)),
        ("m", [ChatMessage("system", "Hello?")], Sampling(5)),
        ("m", [*ASKED, *ASKED], Sampling(5)),
        ("m", ASKED, Sampling(6)),
        ("m", ASKED, Sampling(5, seed=1)),
        ("m", ASKED, Sampling(5, temperature=1.0)),
        ("m", ASKED, Sampling(5, top_logprobs=5)),
        ("m", ASKED, Sampling(5), [TOOL]),
        ("m", [ChatMessage("assistant", "Hello?", (ToolCall("1", "search", "{}"),))], Sampling(5)),
    ]
    keys = [request_key(*request) for request in [usual, *others]]
    assert len(set(keys)) == len(keys)
    assert request_key(*usual) == keys[0]


@pytest.mark.parametrize("failure", [ChatError("down"), EmptyReply("nothing", ChatReply(""))])
def test_failures_are_never_kept(tmp_path: Path, failure: ChatError) -> None:
    fails = True

    def rule(asked: str) -> str:
        if fails:
            raise failure
        return "Hi."

    chat = CachedChat(FakeChat(rule), tmp_path)
    with pytest.raises(ChatError):
        chat.reply(ASKED, Sampling(5))
    fails = False
    assert chat.reply(ASKED, Sampling(5)).text == "Hi."


def test_a_reply_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    chat = CachedChat(FakeChat(lambda asked: "Hi."), tmp_path)
    chat.reply(ASKED, Sampling(5))
    with sqlite3.connect(tmp_path / FILE_NAME) as file:
        file.execute("UPDATE replies SET reply = '{\"text\": 3}'")
    file.close()
    assert chat.reply(ASKED, Sampling(5)).text == "Hi."
    assert chat.asked == 2
