"""Grades by letter: expected values, written letters, and what is no grade."""

import json
import math
from typing import Any

import pytest

from tests.chat.scripted import served
from tests.model_server import DONE, USAGE, Reply, Stream, delta, said
from tracerank.chat.grades import Grade, grades_in, mean_grade
from tracerank.endpoints.chat import ChatMessage, ChatReply, Sampling, TokenLogprob
from tracerank.errors import ChatError


def token(text: str, **chances: float) -> TokenLogprob:
    """A token with what might have stood in its place."""
    likely = tuple(TokenLogprob(one, math.log(chance)) for one, chance in chances.items())
    return TokenLogprob(text, likely[0].logprob if likely else 0.0, likely)


def test_a_grade_is_the_mean_over_letters_by_their_chances() -> None:
    reply = ChatReply("Grade: A", logprobs=(token("Grade"), token(":"), token(" A", A=0.6, T=0.3, Task=0.1)))
    assert grades_in(reply, ["Grade"]) == (Grade(pytest.approx(0.6 / 0.9), True),)  # "Task" is no T


def test_the_letter_alone_counts_where_no_log_probabilities_came() -> None:
    assert grades_in(ChatReply("**Grade:** K"), ["Grade"]) == (Grade(1 - 10 / 19, False),)
    assert grades_in(ChatReply("T"), ["Grade"]) == (Grade(0.0, False),)
    assert grades_in(ChatReply("First: A\nSecond: T"), ["First", "Second"]) == (Grade(1.0, False), Grade(0.0, False))


@pytest.mark.parametrize(
    "text",
    [
        "Grade: a letter from A to T",
        "Grade: I think it is right",
        "Grade: Z",
        "Grade: 17",
        "The answer is right.",
        "I would say A",
        "<think>Grade: A</think>",
        "",
    ],
)
def test_what_is_no_grade_is_none_and_never_a_half(text: str) -> None:
    assert grades_in(ChatReply(text), ["Grade"]) is None


def test_one_grade_of_two_is_not_enough() -> None:
    assert grades_in(ChatReply("First: A\nSecond:"), ["First", "Second"]) is None


def test_a_cut_reply_that_was_still_weighing_has_no_grade() -> None:
    reply = ChatReply("It could be\nGrade: A\nor perhaps", is_cut=True)
    assert grades_in(reply, ["Grade"]) is None
    assert grades_in(ChatReply("Grade: A", is_cut=True), ["Grade"]) == (Grade(1.0, False),)


def test_tokens_of_the_thinking_tell_nothing_of_the_grade() -> None:
    thinking = (token("Grade:"), token(" J", J=0.5, K=0.5))
    assert grades_in(ChatReply("Grade: B", logprobs=thinking, reasoning="Grade: J"), ["Grade"]) == (
        Grade(1 - 1 / 19, False),
    )


def test_zeros_for_logarithms_are_no_chances() -> None:
    likely = (TokenLogprob("A", 0.0), TokenLogprob("T", 0.0))
    reply = ChatReply("A", logprobs=(TokenLogprob("A", 0.0, likely),))
    assert grades_in(reply, ["Grade"]) == (Grade(1.0, False),)


def test_a_space_that_is_a_token_of_its_own_changes_nothing() -> None:
    reply = ChatReply("Grade: A", logprobs=(token("Grade:"), token(" ", A=0.1), token("A", A=0.5, T=0.5)))
    assert grades_in(reply, ["Grade"]) == (Grade(pytest.approx(0.5), True),)


def test_a_mean_is_expected_only_where_all_its_parts_are() -> None:
    assert mean_grade([Grade(1.0, True), Grade(0.0, True)]) == Grade(0.5, True)
    assert not mean_grade([Grade(1.0, True), Grade(0.0, False)]).is_expected


def rows(*parts: tuple[str, dict[str, float]], with_ids: bool) -> list[dict[str, Any]]:
    """Log-probabilities as OpenAI lists them; llama.cpp adds ids and bytes."""

    def row(number: int, text: str, chance: float) -> dict[str, Any]:
        own = {"id": number, "bytes": list(text.encode())} if with_ids else {"bytes": None}
        return {**own, "token": text, "logprob": math.log(chance)}

    return [
        {
            **row(number, text, next(iter(likely.values()), 1.0)),
            "top_logprobs": [row(place, one, chance) for place, (one, chance) in enumerate(likely.items())],
        }
        for number, (text, likely) in enumerate(parts)
    ]


PARTS = (("Grade", {"Grade": 1.0}), (":", {":": 1.0}), (" B", {" B": 0.5, " C": 0.5}))


def openai_reply() -> Reply:
    return said("Grade: B", logprobs={"content": rows(*PARTS, with_ids=False)})


def llama_reply() -> Reply:
    made = [delta(content=text, logprobs=rows((text, likely), with_ids=True)) for text, likely in PARTS]
    return Stream(delta(role="assistant", content=None), *made, delta("stop"), USAGE, DONE)


@pytest.mark.parametrize("reply", [openai_reply(), llama_reply()], ids=["OpenAI", "llama.cpp stream"])
def test_servers_of_both_shapes_give_expected_grades(reply: Reply) -> None:
    with served(reply) as (chat, server):
        found = chat.reply([ChatMessage("user", "Grade it.")], Sampling(8, top_logprobs=20))
    assert grades_in(found, ["Grade"]) == (Grade(pytest.approx(1 - 1.5 / 19), True),)
    assert server.requests[0]["top_logprobs"] == 20


def test_a_reasoning_parser_that_takes_the_whole_reply_leaves_no_grade() -> None:
    message = {"role": "assistant", "content": None, "reasoning_content": "Grade: J"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    with served(Reply(body=json.loads(json.dumps(body)))) as (chat, _), pytest.raises(ChatError, match="said nothing"):
        chat.reply([ChatMessage("user", "Grade it.")], Sampling(8, top_logprobs=20))
