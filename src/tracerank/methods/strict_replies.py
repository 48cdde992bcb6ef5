"""Replies that must say one definite thing: read strictly, asked again when they do not, never guessed."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from tracerank.answers.extraction import extract_answer
from tracerank.endpoints.chat import ChatModel, ChatReply, EmptyReply, Sampling
from tracerank.endpoints.messages import ChatMessage
from tracerank.errors import ChatError

ATTEMPTS = 3
"""How often a prompt is put; the later times with a temperature, because without one the reply would be the same."""

Value = TypeVar("Value")


def strict_reply(
    chat: ChatModel, prompt: str, sampling: Sampling, read: Callable[[ChatReply], Value | None], wanted: str
) -> Value:
    """What the first readable reply says; none in all attempts is an error."""
    said = "nothing"
    for attempt in range(ATTEMPTS):
        try:
            reply = chat.reply([ChatMessage("user", prompt)], sampling)
        except EmptyReply as error:
            said = "nothing before max_tokens were used up; allow more" if error.reply.is_cut else "nothing"
        else:
            value = read(reply)
            if value is not None:
                return value
            said = repr((extract_answer(reply.text).answer or reply.text)[:80])
        sampling = replace(sampling, temperature=1.0, seed=attempt + 1)
    raise ChatError(f"{chat.name}: asked {ATTEMPTS} times for {wanted}, last said {said}")
