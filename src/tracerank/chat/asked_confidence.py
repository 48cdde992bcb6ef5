"""Confidence that a chat model states after reading a rollout, for weighted votes (App. A.2)."""

import re

from tracerank.chat.asking import CountedChat, Room, cut_words, quoted, strict_reply
from tracerank.chat.prompts import prompt_text
from tracerank.chat.transcripts import steps_of, transcript_lines
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, ChatReply, Sampling
from tracerank.pools.types import Rollout
from tracerank.votes.weighted import Estimate

_STATED = re.compile(r"\bconfidence[ *]{0,4}:[ *]{0,4}([0-9]{1,3})(?![0-9/]|[.,][0-9])", re.I)
_BARE = re.compile(r"\s*([0-9]{1,3})\s*%?\s*")
_ANSWER_WORDS = 300


class AskedConfidence:
    """A source of confidences; wrap the chat in a ``CachedChat`` to ask about a rollout once."""

    room = Room(VERDICT_TOKENS, prompt_words=15_300)  # about 20,000 tokens

    def __init__(self, chat: ChatModel, room: Room = room) -> None:
        self.chat = chat
        self.given = room

    def __call__(self, question: str, rollout: Rollout) -> Estimate | None:
        """The stated number between 0 and 1; None: the rollout has no answer."""
        if not rollout.answer:
            return None
        chat = CountedChat(self.chat)
        answer_words = min(_ANSWER_WORDS, self.given.prompt_words // 4)
        prompt = prompt_text("confidence").format(
            question=quoted(question),
            transcript=transcript_lines(steps_of(rollout), self.given.prompt_words - answer_words),
            answer=quoted(cut_words(rollout.answer, answer_words)),
        )
        wanted = "a line 'Confidence: N' with N between 0 and 100"
        value = strict_reply(chat, prompt, Sampling(self.given.max_tokens, seed=0), percentage, wanted)
        return Estimate(value, chat.usage)


def percentage(reply: ChatReply) -> float | None:
    """The last number stated as asked, between 0 and 1; None: there is none, or it lies outside 0 to 100."""
    said = reply.spoken
    bare = _BARE.fullmatch(said)
    found = [bare[1]] if bare else _STATED.findall(said)
    return int(found[-1]) / 100 if found and int(found[-1]) <= 100 else None
