"""One rollout's conversation: replies and tool returns in turn, until an answer, a limit or silence."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event

from tracerank.agents.chat.limits import Limits
from tracerank.agents.chat.style import Session, Style
from tracerank.endpoints.chat import ChatModel, ChatReply, EmptyReply, PromptTooLong, Sampling
from tracerank.endpoints.messages import ChatMessage, Usage


class Stopped(Exception):
    """Another rollout failed, or nobody wants this one any more."""


@dataclass(slots=True)
class Conversation:
    """A conversation while it is held."""

    chat: ChatModel
    style: Style
    limits: Limits
    draw: Callable[[int], Sampling]
    """How the reply with this number is drawn, before limits."""
    stop: Event
    """Set: no further request is made."""
    messages: tuple[ChatMessage, ...] = field(default=(), init=False)
    usage: Usage | None = field(default=Usage(0, 0, 0), init=False)
    """Summed over the replies; None: the server does not count."""
    last: ChatReply | None = field(default=None, init=False)
    """The last reply; None: the model said nothing."""
    _asked: int = field(default=0, init=False)
    _called: int = field(default=0, init=False)
    _written: int = field(default=0, init=False)
    """Tokens of the model; those that it was allowed, where the server does not count."""

    def hold(self, question: str) -> None:
        """From the question to the answer."""
        self.messages = self.style.opening(question)
        session = self.style.session(self.limits.return_characters)
        fitted: tuple[ChatMessage, ...] = ()
        while (room := self._room()) > 0:
            try:
                reply = self._ask(room)
            except PromptTooLong:
                if not fitted:
                    raise
                self.messages = fitted  # the model never saw what came after
                break
            if reply is None:
                return
            fitted = self.messages
            heard = session.hear(reply)
            self._say(heard.message)
            if heard.is_final:
                return
            self._say(*session.answer(heard, self.limits.calls - self._called))
            self._called += len(heard.calls)
        self._demand_answer(session)

    def _demand_answer(self, session: Session) -> None:
        self.messages = self.style.last_turn(self.messages)
        left = max(1, self.limits.rollout_tokens - self._written)  # not every server keeps to what it is allowed
        try:
            reply = self._ask(min(self.limits.answer_tokens, left), is_last=True)
        except PromptTooLong:  # will not fit the next time either: a rollout without an answer
            self.last = None
            return
        if reply is not None and (said := session.hear(reply, is_last=True).message).content:
            self._say(said)

    def _room(self) -> int:
        """Tokens that the next reply may take; 0: a limit is reached."""
        limits = self.limits
        length = sum(len(message.content) for message in self.messages)
        if self._asked >= limits.turns or self._called >= limits.calls or length >= limits.conversation_characters:
            return 0
        return min(limits.reply_tokens, limits.rollout_tokens - limits.answer_tokens - self._written)

    def _ask(self, max_tokens: int, is_last: bool = False) -> ChatReply | None:
        """The next reply; None: the model said nothing."""
        if self.stop.is_set():
            raise Stopped
        sampling = replace(self.draw(self._asked), max_tokens=max_tokens, stop=self.style.stop)
        try:
            reply = self.chat.reply(self.messages, sampling, () if is_last else self.style.tools)
        except EmptyReply as silence:
            reply = silence.reply
        self._asked += 1
        self._written += max_tokens if reply.completion_tokens is None else reply.completion_tokens
        self.usage = None if self.usage is None or reply.usage is None else self.usage + reply.usage
        self.last = reply if reply.text.strip() or reply.tool_calls else None
        return self.last

    def _say(self, *messages: ChatMessage) -> None:
        self.messages += messages
