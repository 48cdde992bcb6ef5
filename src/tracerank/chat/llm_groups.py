"""Groups of equal answers by a chat model, on top of the default level's groups, which are merged and never split.

The model is asked for both answers in short, which rules then compare; its verdict is for what rules do not decide.
"""

import re
from collections.abc import Sequence

from tracerank.answers.meaning.grouping import same_answer
from tracerank.answers.text_keys import readable
from tracerank.chat.asking import UNSAID, Room, quoted, short_answer, strict_reply
from tracerank.chat.prompts import prompt_text
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, ChatReply, Sampling
from tracerank.votes.answer_units import AnswerUnit, answer_units, merged_groups

_VERDICT = re.compile(r"\b(NOT (?:\w+ )?SAME|SAME|DIFFERENT)\b")


class LlmGroups:
    """Merges default groups that give the same answer; wrap the chat in a ``CachedChat`` to ask about a pair once."""

    name = "llm"
    room = Room(VERDICT_TOKENS, prompt_words=2000)

    def __init__(self, chat: ChatModel, room: Room = room) -> None:
        self.chat = chat
        self.given = room

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        """Asks about n(n-1)/2 pairs of n default groups at most, less those that rules decide."""

        def are_same(one: AnswerUnit, other: AnswerUnit) -> bool:
            # Units are in the order of their texts, so a pair is always asked in the same words.
            return (one.is_name or other.is_name) and self.are_same(question, one.texts[0], other.texts[0])

        return merged_groups(question, answers, are_same)

    def are_same(self, question: str, a: str, b: str) -> bool:
        """Whether two answers are the same."""
        low, high = sorted((a, b))
        if same_answer(question, low, high):
            return True
        short, is_same = self._asked("same_answer", question, low, high)
        if short is None:
            return is_same
        if UNSAID in short:
            return False
        if same_answer(question, *short):
            return True
        one, other = answer_units((0, 1), short, question).values()
        if not one.may_equal(other) or not is_same:
            return False
        # A model that has just written two things down is too ready to call them one: it is asked about them alone.
        return self._asked("same_short_answer", question, *short)[1]

    def _asked(self, prompt: str, question: str, a: str, b: str) -> tuple[tuple[str, str] | None, bool]:
        """Both answers in short, where the model wrote them down, and its verdict."""
        characters = self.given.prompt_words  # of each text, which are fewer tokens than words of all three would be
        question, a, b = (quoted(readable(text)[:characters]) for text in (question, a, b))
        text = prompt_text(prompt).format(question=question, a=a, b=b)
        sampling = Sampling(self.given.max_tokens, seed=0)
        return strict_reply(self.chat, text, sampling, _comparison, "both short answers and SAME or DIFFERENT")


def _comparison(reply: ChatReply) -> tuple[tuple[str, str] | None, bool] | None:
    """None: unreadable. Without a verdict two short answers count as the same until rules have compared them."""
    found = _VERDICT.findall(reply.spoken.upper())
    a, b = short_answer(reply, "A"), short_answer(reply, "B")
    if a is not None and b is not None:
        return (a, b), not found or found[-1] == "SAME"
    return (None, found[-1] == "SAME") if found else None
