"""The chat agent as a policy: limits, tokens, seeds, several rollouts at once, failures."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp

import pytest

from tests.lab.tiny_corpus import WordRetriever
from tests.scripted_chat import (
    COMPLETION_TOKENS,
    PROMPT_TOKENS,
    Said,
    ScriptedChat,
    failed,
    in_turn,
    silent,
    turn_of,
)
from tracerank.endpoints.chat import ChatMessage, ChatReply, PromptTooLong, Sampling, TokenLogprob, Usage
from tracerank.errors import ChatError, UsageError
from tracerank.lab.chat.policy import ChatPolicy, Limits, answer_confidence
from tracerank.lab.chat.prompts import prompt_text
from tracerank.lab.chat.styles import STYLES
from tracerank.pools.types import Question, Rollout

QUESTION = Question("1", "Who designed the Silver Bridge of Orrin?")
SEARCH, ANSWER = "<search>Silver Bridge", "<answer>Maren Holt"


def policy(chat: ScriptedChat, **limits: int) -> ChatPolicy:
    return ChatPolicy(chat, STYLES["tags"], WordRetriever(), Limits(**limits), top_p=0.9)


def one(chat: ScriptedChat, **limits: int) -> Rollout:
    return policy(chat, **limits).rollout(QUESTION, 0)


# Limits and what is counted.


@pytest.mark.parametrize(
    ("limits", "requests"),
    [
        ({"turns": 3}, 4),
        ({"calls": 2}, 3),
        ({"conversation_characters": len(prompt_text("tags")) + 100}, 2),
    ],
)
def test_at_every_limit_the_answer_is_asked_for_once_more(limits: dict[str, int], requests: int) -> None:
    def say(messages: Sequence[ChatMessage], sampling: Sampling) -> str:
        return ANSWER if prompt_text("tags_last_turn") in messages[-1].content else SEARCH

    chat = ScriptedChat(say)
    made = one(chat, **limits)
    assert len(chat.conversations) == requests
    assert made.answer == "Maren Holt"
    assert made.usage is not None
    assert made.usage.calls == requests


def test_silence_is_not_the_end_the_same_is_asked_again_with_another_seed() -> None:
    said = iter((SEARCH, silent(), ANSWER))
    chat = ScriptedChat(lambda *_: next(said))
    made = one(chat)
    assert (made.answer, len(made.searches)) == ("Maren Holt", 1)
    assert chat.conversations[1] == chat.conversations[2]
    assert chat.samplings[1].seed != chat.samplings[2].seed
    assert made.usage == Usage(3 * PROMPT_TOKENS, 3 * COMPLETION_TOKENS, 3)


def test_after_misses_in_a_row_the_answer_is_demanded_from_what_was_found() -> None:
    def say(messages: Sequence[ChatMessage], sampling: Sampling) -> Said:
        if prompt_text("tags_last_turn") in messages[-1].content:
            return ANSWER
        return SEARCH if turn_of(messages) == 0 else silent()

    chat = ScriptedChat(say)
    assert one(chat).answer == "Maren Holt"
    assert len(chat.conversations) == 1 + Limits().misses + 1
    chat = ScriptedChat(say)
    assert one(chat, misses=1).answer == "Maren Holt"
    assert len(chat.conversations) == 3


def test_a_return_that_no_longer_fits_the_context_is_dropped_and_the_answer_is_forced() -> None:
    def say(messages: Sequence[ChatMessage], sampling: Sampling) -> Said:
        if len(messages) > 3:
            return PromptTooLong("scripted: the context is full")
        return ANSWER if prompt_text("tags_last_turn") in messages[-1].content else SEARCH

    made = one(ScriptedChat(say))
    assert made.answer == "Maren Holt"
    assert len(made.searches) == 1  # the second return was never seen
    assert made.usage is not None
    assert made.usage.calls == 3


def test_limits_that_leave_no_room_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Limits(turns=0)


# Drawing.


def test_every_reply_has_a_seed_of_its_own_that_only_seed_question_sample_and_turn_settle() -> None:
    def seeds(samples: Sequence[int], seed: int, question: Question = QUESTION) -> list[int | None]:
        chat = in_turn(SEARCH, ANSWER)
        for sample in samples:
            policy(chat).rollout(question, sample, seed)
        return [sampling.seed for sampling in chat.samplings]

    both = seeds([4, 5], 1)
    assert len(set(both)) == 4
    assert seeds([5], 1) == both[2:]
    assert seeds([5], 1, replace(QUESTION, id="another", references=("x",))) == both[2:]
    assert not set(seeds([4, 5], 2)) & set(both)
    assert not set(seeds([4, 5], 1, replace(QUESTION, text="Where?"))) & set(both)
    assert all(seed is not None and 0 <= seed < 1 << 31 for seed in both)


def test_the_name_changes_with_all_that_settles_a_rollout_and_with_nothing_else() -> None:
    chat, retriever = in_turn(ANSWER), WordRetriever()
    tags = STYLES["tags"]
    base = ChatPolicy(chat, tags, retriever)
    assert base.name.startswith("chat:scripted:tags@")
    assert ChatPolicy(chat, tags, WordRetriever()).name == base.name
    others = (
        ChatPolicy(chat, STYLES["tools"], retriever),
        ChatPolicy(chat, tags, retriever, Limits(turns=3)),
        ChatPolicy(chat, tags, retriever, temperature=0.5),
        ChatPolicy(chat, tags, retriever, top_p=0.5),
        ChatPolicy(ScriptedChat(lambda *_: ANSWER, "another"), tags, retriever),
    )
    assert len({base.name, *(other.name for other in others)}) == 6


def test_a_failed_request_costs_its_rollout_alone_which_keeps_what_was_paid_for() -> None:
    made = one(in_turn(SEARCH, failed()))
    assert (made.answer, made.label) == (None, None)
    assert made.problem == "failed: scripted: gave up after 3 attempts"
    assert [message.role for message in made.messages] == ["user", "assistant", "user"]
    assert made.searches
    assert made.usage == Usage(PROMPT_TOKENS, COMPLETION_TOKENS, 1)


def test_where_nothing_can_work_the_error_is_raised() -> None:
    hopeless = failed()
    hopeless.ends_all = True
    with pytest.raises(ChatError, match="gave up"):
        one(in_turn(hopeless))


# Confidence.


def tokens(*pairs: tuple[str, float]) -> tuple[TokenLogprob, ...]:
    return tuple(TokenLogprob(*pair) for pair in pairs)


def test_confidence_is_that_of_the_tokens_that_hold_the_answer() -> None:
    given = tokens(("Maren? ", -9), ("<answer>", -8), (" Mar", -0.5), ("en Holt", -0.1), ("</answer>", -7))
    reply = ChatReply("Maren? <answer> Maren Holt", 1, 1, given)
    assert answer_confidence(reply, "Maren Holt") == pytest.approx(exp(-0.3))
    made = one(in_turn(SEARCH, reply))
    assert made.confidence == pytest.approx(exp(-0.3))
