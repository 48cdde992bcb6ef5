"""Which turn of a chat is the question."""

import json
from typing import Any

import pytest

from tracerank.readers import read_pools

ASKED = "Which river flows through Vienna?"


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def searched() -> list[dict[str, Any]]:
    call = {"name": "search", "arguments": '{"query": "Vienna"}'}
    found = json.dumps([{"title": "Vienna", "url": "https://a.org", "snippet": "On the Danube."}])
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c", "content": found},
        agent("Danube"),
    ]


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ([user(ASKED)], ASKED),
        ([user("Hello"), agent("Hi! How can I help?"), user(ASKED)], ASKED),
        ([user("Hello"), user(ASKED)], ASKED),
        ([user("Good morning!"), agent("Hi!"), user(ASKED), agent("One moment."), user("OK, go on")], ASKED),
        (
            [user("Tell me about Vienna."), agent("A city in Austria."), user("Which river is there?")],
            "Tell me about Vienna.\n\nWhich river is there?",
        ),
        ([user(ASKED), user("Answer in one word.")], ASKED),
        ([user(ASKED), agent("In Austria?"), user(f"{ASKED} The one in Austria.")], ASKED),
        ([user("Hello")], "Hello"),
    ],
)
@pytest.mark.parametrize("work", [searched, lambda: [agent("Danube")]])
def test_the_question_is_what_was_asked_before_the_work_began(before: list[Any], question: str, work: Any) -> None:
    (pool,) = read_pools([{"messages": [*before, *work()]}])
    assert pool.question.text == question
    assert [rollout.answer for rollout in pool.rollouts] == ["Danube"]


def test_what_is_said_after_the_work_is_no_question() -> None:
    (pool,) = read_pools([{"messages": [user(ASKED), *searched(), user("And who lives there?"), agent("Many.")]}])
    assert pool.question.text == ASKED


def test_two_chats_that_open_with_hello_are_two_questions() -> None:
    hello = [user("Hello"), agent("Hi!")]
    chats = [[*hello, user(text), *searched()] for text in (ASKED, "Which river flows through Rome?")]
    assert len(read_pools([{"messages": chat} for chat in chats])) == 2
