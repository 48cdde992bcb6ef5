"""Streamed replies in the dialects of servers, and servers that are slow, silent, endless, malformed or gone."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.model_server import DONE, USAGE, Reply, Server, Stream, delta, error, event, said
from tracerank.endpoints.chat import ChatMessage, ChatReply, EmptyReply, PromptTooLong, Sampling, ToolCall
from tracerank.endpoints.chat_http import HttpChat
from tracerank.endpoints.streaming import lines_of

ASKED = [ChatMessage("user", "Hello?")]
HI = (delta(role="assistant", content=None), delta(content="H"), delta(content="i."), delta("stop"))
"""Seconds for which no test waits: its limit is a tenth of them, at most."""


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    found._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up are the point
    yield found
    found.close()


def ask(chat: HttpChat, **settings: Any) -> ChatReply:
    return chat.reply(ASKED, Sampling(**{"max_tokens": 5, "seed": 3} | settings))


# Dialects.


@pytest.mark.parametrize(
    "stream",
    [
        Stream(*HI, USAGE, DONE),
        Stream(*HI, USAGE),  # without an end mark
        Stream(*HI, USAGE, ends=False),  # nor an end
        Stream(b": keep-alive\n\n", *HI[:2], b": ping\n\n", b"data:\n\n", *HI[2:], USAGE, DONE),
        Stream(b"".join((*HI, USAGE, DONE)).replace(b"\n\n", b"\n")),  # no empty lines
        Stream(b"".join((*HI, USAGE, DONE)).replace(b"\n", b"\r\n").replace(b"data: ", b"data:")),
        Stream(*(bytes([byte]) for byte in b"".join((*HI, USAGE, DONE)))),  # cut anywhere
        Stream(*HI, USAGE, DONE, content_type="application/json"),  # under a wrong name
        Stream(b"event: message\nid: 1\nretry: 5\n", *HI, USAGE, DONE),
        Stream(json.dumps(json.loads(said("Hi.").body)).encode(), content_type="application/json"),  # not streamed
        said("Hi."),
    ],
)
def test_a_reply_is_the_same_in_every_dialect(server: Server, make: Callable[..., HttpChat], stream: Reply) -> None:
    server.planned = [stream]
    assert ask(make()) == ChatReply("Hi.", 7, 2)
    assert (server.requests[0]["stream"], server.requests[0]["stream_options"]) == (True, {"include_usage": True})


def test_pieces_of_calls_are_put_together_by_index(server: Server, make: Callable[..., HttpChat]) -> None:
    def piece(index: int, arguments: str, **more: Any) -> dict[str, Any]:
        name = {"name": more.pop("name")} if "name" in more else {}
        return {"index": index, "function": name | {"arguments": arguments}} | more

    server.planned = [
        Stream(
            delta(content="I "),
            delta(tool_calls=[piece(0, "", id="a", name="search")]),
            delta(content="look."),
            delta(tool_calls=[piece(0, '{"q": "x'), piece(1, "{", id="b", name="open")]),
            delta(tool_calls=[piece(1, "}")]),
            delta(tool_calls=[piece(0, '"}')]),
            delta("tool_calls"),
            DONE,
        )
    ]
    reply = ask(make())
    assert reply.text == "I look."
    assert reply.tool_calls == (ToolCall("a", "search", '{"q": "x"}'), ToolCall("b", "open", "{}"))


@pytest.mark.parametrize(("index", "ids"), [({"index": 0}, ("a", "b")), ({}, ("a", "b")), ({}, (None, None))])
def test_calls_of_servers_that_number_them_wrongly_stay_apart(
    server: Server, make: Callable[..., HttpChat], index: dict[str, int], ids: tuple[str | None, str | None]
) -> None:
    calls = [
        {"id": identity, "function": {"name": "search", "arguments": f'{{"q": {number}}}'}} | index
        for number, identity in enumerate(ids)
    ]
    server.planned = [Stream(*(delta(tool_calls=[call]) for call in calls), delta("tool_calls"), DONE)]
    assert [call.arguments for call in ask(make()).tool_calls] == ['{"q": 0}', '{"q": 1}']


def test_a_name_and_an_id_that_come_with_every_piece_count_once(server: Server, make: Callable[..., HttpChat]) -> None:
    pieces = [{"index": 0, "id": "a", "function": {"name": "search", "arguments": part}} for part in ("{", "}")]
    server.planned = [Stream(*(delta(tool_calls=[piece]) for piece in pieces), delta("stop"), DONE)]
    assert ask(make()).tool_calls == (ToolCall("a", "search", "{}"),)


@pytest.mark.parametrize("names", [("reasoning_content",), ("reasoning",), ("reasoning", "reasoning_content")])
def test_thinking_is_kept_apart_and_once(server: Server, make: Callable[..., HttpChat], names: tuple[str, ...]) -> None:
    thought = [delta(**dict.fromkeys(names, part)) for part in ("Let ", "me see.")]
    server.planned = [Stream(*thought, *HI, USAGE, DONE)]
    assert ask(make()) == ChatReply("Hi.", 7, 2, reasoning="Let me see.")


def test_thoughts_go_back_with_a_call_under_the_servers_own_name_and_never_otherwise(
    server: Server, make: Callable[..., HttpChat]
) -> None:
    server.planned = [Stream(delta(reasoning="Hm."), *HI, DONE)]
    chat = make()
    ask(chat)
    calls = (ToolCall("a", "search", "{}"),)
    turns = [ChatMessage("assistant", "x", reasoning="A"), ChatMessage("assistant", "", calls, reasoning="B")]
    chat.reply([*ASKED, *turns], Sampling(5))
    assert [turn.get("reasoning") for turn in server.requests[1]["messages"]] == [None, None, "B"]
    assert not any("reasoning_content" in turn for turn in server.requests[1]["messages"])
    server.planned = [error(400, "messages[2]: unknown field `reasoning`")]
    chat.reply([*ASKED, *turns], Sampling(5))
    assert not any("reasoning" in turn for turn in server.requests[-1]["messages"])


def test_log_probabilities_come_token_by_token(server: Server, make: Callable[..., HttpChat]) -> None:
    rows = [{"token": "H", "logprob": -0.5, "top_logprobs": [{"token": "H", "logprob": -0.5}]}]
    server.planned = [
        Stream(
            delta(content="H", logprobs=rows),
            delta(content="i", logprobs=[{"token": "i", "logprob": -1}]),
            delta("stop"),
            DONE,
        ),
        said("Hi", logprobs={"content": [*rows, {"token": "i", "logprob": -1}]}),
    ]
    chat = make(wants_logprobs=True)
    assert (streamed := ask(chat).logprobs) == ask(chat).logprobs
    assert [token.logprob for token in streamed or ()] == [-0.5, -1.0]


def test_the_tokens_of_thinking_that_never_ends_are_said_to_be_that(
    server: Server, make: Callable[..., HttpChat]
) -> None:
    chat = make()
    for stream in (
        Stream(delta(reasoning_content="Let me"), delta("length"), USAGE, DONE),
        Stream(delta(content="<think>Let me"), delta("length"), USAGE, DONE),
    ):
        server.planned = [stream]
        with pytest.raises(EmptyReply, match=r"thought until the 5 tokens .* were used up; allow more \(--max-tokens"):
            ask(chat)
    server.planned = [Stream(delta(reasoning_content="Let me"), delta("stop"), USAGE, DONE)]
    with pytest.raises(EmptyReply, match="thought, but said nothing") as caught:
        ask(chat)
    assert caught.value.reply == ChatReply("", 7, 2, reasoning="Let me")


# Servers that do not stream, or not everything.


def test_a_server_that_refuses_a_stream_is_asked_without_one_from_then_on(
    server: Server, make: Callable[..., HttpChat]
) -> None:
    server.planned = [error(400, "stream_options is not permitted"), error(422, "Streaming is not supported")]
    chat = make()
    assert ask(chat).text == ask(chat).text == "Hi."
    assert [("stream" in one, "stream_options" in one) for one in server.requests] == [
        (True, True),
        (True, False),
        (False, False),
        (False, False),
    ]


def test_a_reply_longer_than_the_context_leaves_room_for_is_asked_shorter(
    server: Server, make: Callable[..., HttpChat]
) -> None:
    words = "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 "
    server.planned = [error(400, words + "tokens and your request has 48 input tokens (4096 > 2048 - 48).")]
    assert ask(make(), max_tokens=4096).text == "Hi."
    assert server.requests[1]["max_tokens"] == 2000
    server.planned = [error(400, words + "tokens and your request has 1990 input tokens.")]
    with pytest.raises(PromptTooLong):
        ask(make(), max_tokens=4096)


# Errors within a stream.


@pytest.mark.parametrize(
    "failure",
    [
        event({"error": {"message": "the context size is too long", "code": 400}}),
        b'error: {"code": 400, "message": "the context size is too long"}\n\n',
        event({"object": "error", "message": "the context size is too long", "code": 400}),
        event({"error": {"message": "the context size is too long", "code": "400"}}),
    ],
)
def test_an_error_within_a_stream_is_what_it_would_be_before_it(
    server: Server, make: Callable[..., HttpChat], slept: list[float], failure: bytes
) -> None:
    server.planned = [Stream(delta(content="H"), failure, DONE)]
    with pytest.raises(PromptTooLong, match="HTTP 400: the context size is too long"):
        ask(make())
    assert slept == []


def test_a_call_that_the_server_cannot_read_is_a_reply_that_says_nothing(
    server: Server, make: Callable[..., HttpChat], slept: list[float]
) -> None:
    words = "The model produced output that does not match the expected peg-native format"
    server.planned = [Stream(delta(content="H"), event({"error": {"code": 500, "message": words}}))]
    with pytest.raises(EmptyReply, match="called a tool in a form of its own"):
        ask(make())
    assert slept == []


def test_an_error_that_says_nothing_of_its_kind_is_tried_again(
    server: Server, make: Callable[..., HttpChat], slept: list[float]
) -> None:
    server.planned = [Stream(delta(content="H"), event({"error": "overloaded"}), DONE)]
    assert ask(make()).text == "Hi."
    assert len(slept) == 1


# Time.


# Size.


def test_lines_are_found_wherever_the_bytes_are_cut() -> None:
    text = b"one\r\ntwo\n\nthree"
    for size in range(1, len(text) + 1):
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        assert list(lines_of(pieces)) == [b"one", b"two", b"", b"three"]


# Whether any other call could work.


# Spelling.
