"""A real small model behind a real llama.cpp server settles pools: weak answers, true protocol, true counts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.builders import pool_of, ranked, rollout
from tests.llama import llama_server
from tracerank.chat.aggagent import AggAgent
from tracerank.chat.asked_confidence import AskedConfidence
from tracerank.chat.asking import AskingMethod, Room
from tracerank.chat.solagg import SolAgg, SummAgg
from tracerank.chat.verifier import Verifier
from tracerank.endpoints.chat_cache import CachedChat
from tracerank.endpoints.chat_http import ChatConfig, HttpChat
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.votes.base import ASKED_AGAIN, Decision

Made = TypeVar("Made")

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


def settle(method: AskingMethod, pools: list[Pool]) -> list[Decision]:
    decisions = list(method.iter_decisions(pools))
    assert [decision.question_id for decision in decisions] == [pool.question.id for pool in pools]
    return decisions


@pytest.mark.parametrize(("kind", "pools", "calls"), [(SolAgg, POOLS, 1), (SummAgg, POOLS[1:], 2)])
def test_a_real_model_integrates_and_is_never_asked_twice(
    http: HttpChat, tmp_path: Path, kind: type[SolAgg] | type[SummAgg], pools: list[Pool], calls: int
) -> None:
    chat = CachedChat(http, tmp_path)
    first = settle(kind(chat, ROOM, concurrency=2), pools)
    for decision in first:
        made = calls + decision.counts.get(ASKED_AGAIN, 0)
        assert decision.answer  # its own, or the vote's
        assert decision.reply
        assert decision.usage is not None
        assert decision.usage.calls == made
        assert decision.usage.prompt_tokens > 200 * made
        assert 0 < decision.usage.completion_tokens <= 8 * made
    asked = chat.asked
    assert asked == sum(calls + decision.counts.get(ASKED_AGAIN, 0) for decision in first)
    assert settle(kind(chat, ROOM, concurrency=2), pools) == first
    assert chat.asked == asked


def test_a_real_model_goes_through_the_tool_loop_and_is_made_to_finish(http: HttpChat, tmp_path: Path) -> None:
    [decision] = settle(AggAgent(CachedChat(http, tmp_path), ROOM, token_cap=1), POOLS[:1])
    assert decision.usage is not None
    assert decision.usage.calls == 2
    assert "made to finish after 1 steps" in (decision.note or "")


def attempt(work: Callable[[], Made]) -> Made | ChatError:
    """What is made, or the error: so small a model may say anything."""
    try:
        return work()
    except ChatError as error:
        return error


def test_a_real_model_verifies_with_the_probability_of_its_token(http: HttpChat, tmp_path: Path) -> None:
    verifier = Verifier(CachedChat(http, tmp_path), ROOM)
    decision = attempt(lambda: verifier.decide(POOLS[1]))
    if isinstance(decision, ChatError):
        assert "YES or NO" in str(decision)
    else:
        assert set(decision.scores) == {0}
        assert all(0 < score < 1 for score in decision.scores.values())  # 0 or 1: no log-probability was read


def test_a_real_model_states_a_confidence_or_is_not_believed(http: HttpChat, tmp_path: Path) -> None:
    source = AskedConfidence(CachedChat(http, tmp_path), ROOM)
    found = attempt(lambda: source(POOLS[1].question.text, POOLS[1].rollouts[0]))
    if isinstance(found, ChatError):
        assert "Confidence: N" in str(found)
    else:
        assert found is not None
        assert 0 <= found.value <= 1
        assert found.usage is not None
