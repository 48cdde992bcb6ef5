"""Chat models: the fake, and a real client against a server that misbehaves."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.model_server import Reply, Server, called, error, said
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatModel,
    ChatReply,
    ChatTool,
    EmptyReply,
    PromptTooLong,
    Sampling,
    TokenLogprob,
    ToolCall,
    Usage,
    message_to_record,
    record_to_message,
)
from tracerank.endpoints.chat_http import HttpChat
from tracerank.errors import ChatError

KEY = "sk-very-secret-0123456789"
SEARCH = ChatTool("search", "Finds pages.", {"type": "object", "properties": {"query": {"type": "string"}}})
ASKED = [ChatMessage("system", "You help."), ChatMessage("user", "Hello?")]


def ask(chat: ChatModel, **settings: Any) -> ChatReply:
    return chat.reply(ASKED, Sampling(**{"max_tokens": 5, "seed": 3} | settings))


def test_a_request_carries_the_messages_and_settings(server: Server, make: Callable[..., HttpChat]) -> None:
    assert ask(make()) == ChatReply("Hi.", 7, 2)
    [request] = server.requests
    assert request["messages"] == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "Hello?"},
    ]
    assert (request["model"], request["max_tokens"], request["temperature"], request["seed"]) == ("m", 5, 0.0, 3)
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (error(401, "who are you"), r"wants a key \(HTTP 401\); put it in \$TRACERANK_API_KEY"),
        (error(404, "model not found"), "no model 'm'"),
        (error(400, "bad request"), "HTTP 400: bad request"),
        (error(429, "insufficient_quota"), "HTTP 429: insufficient_quota"),
        (Reply(body=b"<html>hello"), "not JSON"),
        (Reply(body={"error": "no"}), "answered with an error: no"),
        (Reply(body={"choices": []}), "without a list 'choices'"),
        (Reply(body=["x"]), "without a list 'choices'"),
        (Reply(body={"choices": [{"message": None}]}), "without a list 'choices'"),
        (said(None), "said nothing$"),
        (said("  ", finish="length"), "until the 5 tokens that a reply may have were used up"),
    ],
)
def test_what_cannot_pass_is_an_error_in_words(
    server: Server, make: Callable[..., HttpChat], slept: list[float], reply: Reply, message: str
) -> None:
    server.planned = [reply]
    with pytest.raises(ChatError, match=message) as caught:
        ask(make())
    assert slept == []
    if isinstance(caught.value, EmptyReply):  # it cost all the same
        assert caught.value.reply.usage == Usage(7, 2)


@pytest.mark.parametrize(
    ("refusals", "left_out"),
    [
        (["Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."], {"max_tokens"}),
        (["'temperature' does not support 0.", "seed is not permitted"], {"temperature", "seed"}),
        (["Unknown parameter: 'parallel_tool_calls'."], {"parallel_tool_calls"}),
        (["logprobs is not supported by this model"], {"logprobs", "top_logprobs"}),
        (["messages[2]: unknown field `reasoning_content`"], {"reasoning_content"}),
    ],
)
def test_what_a_server_refuses_is_left_out_from_then_on(
    server: Server, make: Callable[..., HttpChat], refusals: list[str], left_out: set[str]
) -> None:
    server.planned = [error(400, words) for words in refusals]
    chat = make()
    turns = [*ASKED, ChatMessage("assistant", "", (ToolCall("1", "search", "{}"),), reasoning="Hm.")]
    for _ in range(2):
        assert chat.reply(turns, Sampling(5, seed=3, top_logprobs=2, one_call=True), [SEARCH]).text == "Hi."
    first, *_, last = server.requests
    assert len(server.requests) == len(refusals) + 2
    parts = set(first) | set(first["messages"][2]), set(last) | set(last["messages"][2])
    assert parts[0] - parts[1] == left_out
    assert last.get("max_completion_tokens") == (5 if "max_tokens" in left_out else None)


def test_the_likeliest_tokens_at_a_place_are_asked_for_and_read(server: Server, make: Callable[..., HttpChat]) -> None:
    likely = [{"token": "Hi", "logprob": -0.1}, {"token": "Ho", "logprob": -2.5}]
    rows = [likely[0] | {"top_logprobs": likely}, {"token": "?"}, None]
    server.planned = [
        said([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}, 3], logprobs={"content": rows})
    ]
    reply = ask(make(), top_logprobs=2)
    assert reply.text == "Hi"
    [token] = reply.logprobs or ()
    assert token.likely == (TokenLogprob("Hi", -0.1), TokenLogprob("Ho", -2.5))
    assert (server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (True, 2)


def test_tools_calls_and_their_returns_travel_both_ways(server: Server, make: Callable[..., HttpChat]) -> None:
    server.planned = [called({"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{"}})]
    chat = make()
    reply = chat.reply(ASKED, Sampling(5, top_p=0.9, stop=("</s>",)), [SEARCH])
    assert reply.tool_calls == (ToolCall("c1", "search", "{"),)  # as the model wrote it
    turns = [*ASKED, ChatMessage("assistant", "", reply.tool_calls), ChatMessage("tool", "found", tool_call_id="c1")]
    chat.reply(turns, Sampling(5))
    first, second = server.requests
    assert (first["top_p"], first["stop"]) == (0.9, ["</s>"])
    assert first["tools"][0]["function"]["name"] == "search"
    assert second["messages"][2]["tool_calls"][0]["function"] == {"name": "search", "arguments": "{"}
    assert second["messages"][3] == {"role": "tool", "content": "found", "tool_call_id": "c1"}
    assert "tools" not in second


def test_calls_in_the_dialects_of_servers_are_read_and_nameless_ones_left_out(
    server: Server, make: Callable[..., HttpChat]
) -> None:
    server.planned = [called({"function": {"name": "search", "arguments": {"query": "x"}}}, {"function": {}}, "search")]
    assert ask(make()).tool_calls == (ToolCall("call_0", "search", '{"query": "x"}'),)


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


def test_a_call_that_the_server_cannot_read_is_a_reply_that_says_nothing(
    server: Server, make: Callable[..., HttpChat], slept: list[float]
) -> None:
    server.planned = [error(500, "The model produced output that does not match the expected peg-native format")]
    with pytest.raises(EmptyReply, match="called a tool in a form of its own"):
        ask(make())
    assert slept == []


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thoughts_go_back_with_a_call_under_the_servers_own_name_and_never_otherwise(
    server: Server, make: Callable[..., HttpChat], name: str
) -> None:
    server.planned = [Reply(body={"choices": [{"message": {"content": "Hi.", name: "Hm."}}]})]
    chat = make()
    assert ask(chat).reasoning == "Hm."
    calls = (ToolCall("a", "search", "{}"),)
    turns = [ChatMessage("assistant", "x", reasoning="A"), ChatMessage("assistant", "", calls, reasoning="B")]
    chat.reply([*ASKED, *turns], Sampling(5))
    thoughts = [
        {key: text for key, text in turn.items() if "reasoning" in key} for turn in server.requests[1]["messages"]
    ]
    assert thoughts == [{}, {}, {}, {name: "B"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes.", "Yes."),
        ("<think>No?</think>Yes.", "Yes."),
        ("No?</think>Yes.", "Yes."),  # the template opened it
        ("<think>No? Or", ""),
        ("<think>a</think><think>b", ""),
        ("Say <think> for me.", "Say <think> for me."),
    ],
)
def test_what_is_said_follows_the_thinking(text: str, said: str) -> None:
    assert ChatReply(text).spoken == said


@pytest.mark.parametrize(
    "record",
    [
        {"reasoning_content": "Hm."},
        {"reasoning": "Hm."},
        {"reasoning": "Hm.", "reasoning_content": "Hm."},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Hi"},
            ]
        },
    ],
)
def test_thinking_is_kept_under_whichever_name_it_came(record: dict[str, Any]) -> None:
    message = record_to_message({"role": "assistant", "content": "Hi"} | record)
    assert (message.content, message.reasoning) == ("Hi", "Hm.")
    assert record_to_message(message_to_record(message)) == message
