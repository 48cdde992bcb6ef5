"""Replies in pieces: equal to unstreamed ones in every dialect of servers, and ended where a server hangs."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.model_server import Pieces, Reply, Server, error, said
from tracerank.endpoints.chat import ChatMessage, ChatReply, EmptyReply, Sampling, ToolCall
from tracerank.endpoints.chat_http import HttpChat
from tracerank.errors import ChatError

Make = Callable[..., HttpChat]
DONE = b"data: [DONE]\n\n"
PAUSE = 20.0
"""Seconds for which no test waits."""


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(finish: str | None = None, logprobs: Any = None, **parts: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": parts, "finish_reason": finish, "logprobs": logprobs}]})


def call(arguments: Any = None, **parts: Any) -> bytes:
    """A piece of a tool call; a part that is None is left out."""
    function = {"name": parts.pop("name", None), "arguments": arguments}
    given = {"function": {key: value for key, value in function.items() if value is not None}} | parts
    return delta(tool_calls=[given])


HI = (delta(role="assistant", content=None), delta(content="H"), delta(content="i."), delta("stop"))
USAGE = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def ask(chat: HttpChat, **settings: Any) -> ChatReply:
    return chat.reply([ChatMessage("user", "Hello?")], Sampling(**{"max_tokens": 5} | settings))


@pytest.mark.parametrize(
    "stream",
    [
        Pieces(*HI, USAGE, DONE),
        Pieces(*HI, USAGE),  # without an end mark
        Pieces(b": keep-alive\n\n", *HI[:2], b"event: message\nid: 1\ndata:\n\n", *HI[2:], USAGE, DONE),
        Pieces(b"".join((*HI, USAGE, DONE)).replace(b"\n\n", b"\r\n").replace(b"data: ", b"data:")),
        Pieces(*(bytes([byte]) for byte in b"".join((*HI, USAGE, DONE)))),  # cut anywhere
        said("Hi."),  # not streamed
    ],
)
def test_a_reply_is_the_same_in_every_dialect(server: Server, make: Make, stream: Reply) -> None:
    server.planned = [stream]
    assert ask(make()) == ChatReply("Hi.", 7, 2)
    assert (server.requests[0]["stream"], server.requests[0]["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.parametrize(
    "calls",
    [
        # In pieces by index, as OpenAI sends them.
        (
            *(call("", index=0, id="a", name="search"), call('{"q', index=0), call('": 0}', index=0)),
            *(call('{"q": ', index=1, id="b", name="open"), call("1}", index=1)),
        ),
        # Name and id with every piece; the pieces of two calls by turns.
        (
            *(call('{"q"', index=0, id="a", name="search"), call('{"q": ', index=1, id="b", name="open")),
            *(call(": 0}", index=0, id="a", name="search"), call("1}", index=1, id="b", name="open")),
        ),
        # One index for all calls, or none.
        (call('{"q": 0}', index=0, id="a", name="search"), call('{"q": 1}', index=0, id="b", name="open")),
        (call('{"q": 0}', id="a", name="search"), call('{"q": ', id="b", name="open"), call("1}")),
        (call({"q": 0}, id="a", name="search"), call({"q": 1}, id="b", name="open")),
    ],
)
def test_pieces_of_calls_are_put_together(server: Server, make: Make, calls: tuple[bytes, ...]) -> None:
    server.planned = [Pieces(delta(content="I look."), *calls, delta("tool_calls"), DONE)]
    reply = ask(make())
    assert reply.text == "I look."
    assert reply.tool_calls == (ToolCall("a", "search", '{"q": 0}'), ToolCall("b", "open", '{"q": 1}'))


def test_calls_without_index_and_id_stay_apart(server: Server, make: Make) -> None:
    server.planned = [Pieces(call('{"q": 0}', name="search"), call('{"q": 1}', name="search"), DONE)]
    assert [one.arguments for one in ask(make()).tool_calls] == ['{"q": 0}', '{"q": 1}']


THOUGHT = [{"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}]


@pytest.mark.parametrize(
    "thought",
    [
        [delta(reasoning_content="Let "), delta(reasoning_content="me see.")],
        [delta(reasoning=part, reasoning_content=part) for part in ("Let ", "me see.")],
        [delta(content=THOUGHT)],
    ],
)
def test_thinking_and_log_probabilities_are_joined(server: Server, make: Make, thought: list[bytes]) -> None:
    rows = [{"token": token, "logprob": -0.5, "top_logprobs": []} for token in ("H", "i")]
    pieces = [delta(content=row["token"], logprobs={"content": [row]}) for row in rows]
    server.planned = [Pieces(*thought, *pieces, delta("length"), USAGE), said("Hi", logprobs={"content": rows})]
    chat = make()
    streamed = ask(chat)
    assert (streamed.text, streamed.reasoning, streamed.is_cut) == ("Hi", "Let me see.", True)
    assert streamed.logprobs == ask(chat).logprobs != ()


def test_a_server_that_hangs_within_a_reply_is_given_up_soon(server: Server, make: Make, slept: list[float]) -> None:
    server.planned = [Pieces(0.5, *HI[:2], PAUSE), Pieces(0.5, *HI, USAGE, DONE)]
    began = time.monotonic()
    with pytest.raises(ChatError, match=r"chat/completions: sent a part of its answer, then nothing for 0\.2 s$"):
        ask(make(idle=0.2))
    assert time.monotonic() - began < PAUSE / 2
    assert ask(make(idle=0.2)).text == "Hi."  # before its first piece a server may read the prompt
    assert slept == []


@pytest.mark.parametrize(
    "stream",
    [
        Pieces(*HI[:3]),  # ends before the reply does
        Pieces(*HI[:3], b"data: {\n\n", *HI[3:], DONE),
        Pieces(event([1]), DONE),
        Pieces(event({"choices": 3}), DONE),
        Pieces(event({"error": {"message": "busy", "code": 503}}), DONE),
        Pieces(HI[0], b'error: {"message": "oops"}\n\n'),
    ],
)
def test_a_broken_stream_is_asked_for_again(server: Server, make: Make, slept: list[float], stream: Reply) -> None:
    server.planned = [stream]
    assert ask(make()).text == "Hi."
    assert len(slept) == 1


def test_an_error_in_a_stream_is_the_one_that_its_code_says(server: Server, make: Make) -> None:
    words = "The model produced output that does not match the expected peg-native format"
    server.planned = [Pieces(HI[0], event({"error": {"message": words, "code": 500}}))]
    with pytest.raises(EmptyReply, match="called a tool in a form of its own"):
        ask(make())
    server.planned = [Pieces(event({"error": {"message": "bad request", "code": 400}}))]
    with pytest.raises(ChatError, match="HTTP 400: bad request"):
        ask(make())


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ("Unknown field: stream_options", {"stream_options"}),
        ("Streaming is not supported for this model", {"stream", "stream_options"}),
        ("logprobs is not supported with tools + stream", {"stream", "stream_options"}),
    ],
)
def test_a_server_that_refuses_to_stream_is_asked_without(
    server: Server, make: Make, words: str, left_out: set[str]
) -> None:
    server.planned = [error(400, words)]
    chat = make(wants_logprobs=True)
    assert [ask(chat).text for _ in range(2)] == ["Hi."] * 2
    first, *rest = server.requests
    assert [set(first) - set(request) for request in rest] == [left_out] * 2
