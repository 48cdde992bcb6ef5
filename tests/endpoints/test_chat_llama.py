"""A real small model behind a real llama.cpp server: weak answers, a true protocol."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.llama import CALLING_TEMPLATE, llama_server
from tracerank.endpoints.chat import ChatMessage, ChatTool, Sampling, arguments_schema, text_argument
from tracerank.endpoints.chat_http import ChatConfig, HttpChat

HELLO = [ChatMessage("user", "Say hello.")]


@pytest.fixture(scope="module")
def chat() -> Iterator[HttpChat]:
    with (
        llama_server(context=4096, template=CALLING_TEMPLATE) as address,
        HttpChat(ChatConfig(address, "smollm2", wants_logprobs=True, retries=0)) as model,
    ):
        yield model


SEARCH = ChatTool("search", "Finds pages.", arguments_schema(["query"], query=text_argument("What to look for.")))


def test_a_call_of_a_real_model_is_read(chat: HttpChat) -> None:
    # So small a model calls nothing by itself; a turn that is begun for it, it goes on with.
    begun = ChatMessage("assistant", '<tool_call>\n{"name": "search", "arguments": {')
    with HttpChat(replace(chat.config, wants_logprobs=False)) as model:
        reply = model.reply([ChatMessage("user", "Search for the Velm River."), begun], Sampling(24, seed=1), [SEARCH])
    [call] = reply.tool_calls
    assert (call.name, len(call.arguments) > 10) == ("search", True)
    assert call.id


def test_a_streamed_reply_is_the_unstreamed_one_with_its_log_probabilities(chat: HttpChat) -> None:
    streamed = chat.reply(HELLO, Sampling(8, seed=1))
    assert streamed.logprobs
    assert "".join(token.token for token in streamed.logprobs).strip().startswith(streamed.text[:3])
    assert all(token.logprob <= 0 for token in streamed.logprobs)
    with_tools = chat.reply(HELLO, Sampling(8, seed=1), [SEARCH])  # which llama.cpp does not stream
    assert len(with_tools.logprobs or ()) == with_tools.completion_tokens
    assert chat.reply(HELLO, Sampling(8, seed=1)) == streamed  # nothing is streamed from then on
