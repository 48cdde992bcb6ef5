"""Every style against a real small model behind a real llama.cpp server: weak answers, a true loop."""

from collections.abc import Iterator, Sequence

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tests.llama import llama_server
from tests.scripted_chat import calling, turn_of
from tracerank.endpoints.chat import ChatMessage, ChatReply, ChatTool, Sampling
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.lab.chat.policy import ChatPolicy, Limits
from tracerank.lab.chat.styles import STYLES
from tracerank.lab.corpus.index import Corpus
from tracerank.pools.types import Question

QUESTION = Question("1", "Who charted the Velm River?", ("Ada Korn",))
LIMITS = Limits(turns=1, reply_tokens=8, return_characters=800)


@pytest.fixture(scope="module")
def rivers(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus_of(tmp_path_factory.mktemp("rivers"), RIVERS)


@pytest.fixture(scope="module")
def chat() -> Iterator[HttpChat]:
    with (
        llama_server(embeds=False, context=4096) as address,
        HttpChat(ChatConfig(address, "smollm2", wants_logprobs=True, retries=0, timeout=600)) as model,
    ):
        yield model


class Nudged:
    """The real model, whose first reply in every conversation is given: so small a model seldom thinks of a tool."""

    def __init__(self, chat: HttpChat, first: ChatReply) -> None:
        self.name = chat.name
        self._chat = chat
        self._first = first

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        return self._chat.reply(messages, sampling, tools) if turn_of(messages) else self._first


@pytest.mark.parametrize(("style", "samples"), [("tags", 2), ("tools", 1), ("browser", 1)])
def test_a_real_model_is_held_to_the_limits_and_counted(
    chat: HttpChat, rivers: Corpus, style: str, samples: int
) -> None:
    policy = ChatPolicy(chat, STYLES[style], rivers, LIMITS, temperature=0.7)
    made = list(policy.rollouts(QUESTION, range(samples), seed=1))
    assert [each.sample_id for each in made] == list(range(samples))
    for each in made:
        assert each.usage is not None
        assert 1 <= each.usage.calls <= 3  # the answer is demanded twice at most
        assert 0 < each.usage.completion_tokens <= 3 * LIMITS.reply_tokens
        assert each.usage.prompt_tokens > 30
        assert each.label in (0.0, 1.0)
        assert each.confidence is None or 0 < each.confidence <= 1
        assert sum(message.role == "assistant" for message in each.messages) <= each.usage.calls


@pytest.mark.parametrize(
    ("style", "first"),
    [
        ("tags", ChatReply("<search>Velm River", 0, 0)),
        ("tools", calling(("search", '{"query": "Velm River"}'), ("search", "{broken"))),
        ("browser", calling(("browser_search", '{"query": "Velm River"}'), ("browser_open", '{"id": 0}'))),
    ],
)
def test_a_real_server_goes_on_from_returns_and_malformed_calls(
    chat: HttpChat, rivers: Corpus, style: str, first: ChatReply
) -> None:
    [made] = ChatPolicy(Nudged(chat, first), STYLES[style], rivers, LIMITS).rollouts(QUESTION, [0])
    assert "Ada Korn" in str(made.searches[0].evidence)
    assert made.usage is not None
    assert 2 <= made.usage.calls <= 3
    assert made.usage.prompt_tokens > 100
