"""A real small model behind a real llama.cpp server: weak answers, a true protocol."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.llama import CALLING_TEMPLATE, llama_server
from tracerank.endpoints.chat import ChatMessage, ChatTool, Sampling, arguments_schema, text_argument
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.errors import ChatError
from tracerank.chat.llm_groups import LlmGroups

HELLO = [ChatMessage("user", "Say hello.")]


@pytest.fixture(scope="module")
def chat() -> Iterator[HttpChat]:
    with (
        llama_server(embeds=False, context=4096, template=CALLING_TEMPLATE) as address,
        HttpChat(ChatConfig(address, "smollm2", wants_logprobs=True, retries=0)) as model,
    ):
        yield model


def test_a_real_model_replies_the_same_to_the_same_and_counts_tokens(chat: HttpChat) -> None:
    first, second = (chat.reply(HELLO, Sampling(8, seed=1)) for _ in range(2))
    assert first.text == second.text != ""
    assert first.prompt_tokens is not None
    assert first.completion_tokens is not None
    assert 0 < first.completion_tokens <= 8 < first.prompt_tokens


def test_a_real_model_gives_the_log_probability_of_each_token(chat: HttpChat) -> None:
    reply = chat.reply(HELLO, Sampling(8, seed=1))
    assert reply.logprobs
    assert "".join(token.token for token in reply.logprobs).strip().startswith(reply.text[:3])
    assert all(token.logprob <= 0 for token in reply.logprobs)


SEARCH = ChatTool("search", "Finds pages.", arguments_schema(["query"], query=text_argument("What to look for.")))


def test_a_real_server_streams_what_it_says_unstreamed(chat: HttpChat) -> None:
    with HttpChat(chat.config) as plain:
        plain._without |= {"stream", "stream_options"}
        streamed, whole = (model.reply(HELLO, Sampling(8, seed=1, top_logprobs=2)) for model in (chat, plain))
    assert streamed == whole
    assert [len(token.likely) for token in streamed.logprobs or ()] == [2] * (streamed.completion_tokens or 0)


def test_a_call_that_a_real_server_streams_is_put_together(chat: HttpChat) -> None:
    # So small a model calls nothing by itself; a turn that is begun for it, it goes on with.
    begun = ChatMessage("assistant", '<tool_call>\n{"name": "search", "arguments": {')
    with HttpChat(replace(chat.config, wants_logprobs=False)) as model:
        reply = model.reply([ChatMessage("user", "Search for the Velm River."), begun], Sampling(24, seed=1), [SEARCH])
        assert "stream of calls" not in "".join(model._without)
    [call] = reply.tool_calls
    assert (call.name, len(call.arguments) > 10) == ("search", True)
    assert call.id


def test_log_probabilities_come_with_tools_although_the_server_streams_only_one_of_them(chat: HttpChat) -> None:
    reply = chat.reply(HELLO, Sampling(8, seed=1), [SEARCH])
    assert reply.logprobs
    assert len(reply.logprobs) == reply.completion_tokens


def test_a_real_models_verdict_is_kept_and_what_is_none_is_never_guessed(chat: HttpChat, tmp_path: Path) -> None:
    cached = CachedChat(chat, tmp_path)
    groups = LlmGroups(cached)
    for pair in (("Alan Turing", "Kurt Gödel"), ("Ada", "Ada Lovelace"), ("Rome", "Roma"), ("Oslo", "Bergen")):
        try:
            said = groups.are_same("Which one?", *pair)
        except ChatError:  # so small a model may say anything
            continue
        asked = cached.asked
        assert groups.are_same("Which one?", *reversed(pair)) is said
        assert cached.asked == asked
