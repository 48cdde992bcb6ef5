"""A real small model behind a real llama.cpp server settles pools: weak answers, true protocol, true counts."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.builders import pool_of, ranked, rollout
from tests.llama import llama_server
from tracerank.chat.asking import Room
from tracerank.chat.solagg import SolAgg
from tracerank.chat.verifier import Verifier
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.errors import ChatError
from tracerank.votes.base import ASKED_AGAIN

ROOM = Room(max_tokens=8, prompt_words=1_000)
FRANCE = ranked("capital of France", "Paris is the capital of France.", "Lyon is a city in France.")
POOLS = [
    pool_of(rollout("Paris", FRANCE), rollout("Lyon", FRANCE), question="What is the capital of France?"),
    pool_of(
        rollout("Rome", ranked("Italy", "Rome is the capital of Italy.")), question="What is the capital of Italy?"
    ),
]


@pytest.fixture(scope="module")
def http() -> Iterator[HttpChat]:
    with (
        llama_server(embeds=False, context=8192) as address,
        HttpChat(ChatConfig(address, "smollm2", retries=0, timeout=600)) as chat,
    ):
        yield chat


def test_a_real_model_integrates_and_is_never_asked_twice(http: HttpChat, tmp_path: Path) -> None:
    chat = CachedChat(http, tmp_path)
    first = list(SolAgg(chat, ROOM, concurrency=2).iter_decisions(POOLS))
    assert [decision.question_id for decision in first] == [pool.question.id for pool in POOLS]
    for decision in first:
        made = 1 + decision.counts.get(ASKED_AGAIN, 0)
        assert decision.answer  # its own, or the vote's
        assert decision.usage is not None
        assert decision.usage.calls == made
        assert decision.usage.prompt_tokens > 200 * made
        assert 0 < decision.usage.completion_tokens <= 8 * made
    asked = chat.asked
    assert list(SolAgg(chat, ROOM, concurrency=2).iter_decisions(POOLS)) == first
    assert chat.asked == asked


def test_a_real_model_verifies_with_the_probability_of_its_token(http: HttpChat, tmp_path: Path) -> None:
    with suppress(ChatError):  # so small a model may give no verdict
        decision = Verifier(CachedChat(http, tmp_path), ROOM).decide(POOLS[1])
        assert set(decision.scores) == {0}
        assert all(0 < score < 1 for score in decision.scores.values())  # 0 or 1: no log-probability was read
