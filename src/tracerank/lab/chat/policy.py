"""The chat agent: K rollouts of a question by any chat model.

A rollout is a conversation, replies and tool returns in turn, until an answer or a limit; at a limit the answer is
demanded. It draws from (seed, question, sample) alone, so any of them can be made again later; how repeatable a reply
is, is up to the server.
"""

import hashlib
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from math import exp, fsum, isnan

from tracerank.answers.meaning.rightness import is_right
from tracerank.endpoints.chat import ChatMessage, ChatModel, ChatReply, EmptyReply, PromptTooLong, Sampling, Usage
from tracerank.errors import ChatError, UsageError
from tracerank.lab.chat.prompts import NAMES, prompt_text
from tracerank.lab.chat.session import Session, demanding
from tracerank.lab.chat.styles import Style
from tracerank.lab.corpus.base import Retriever
from tracerank.pools.types import Question, Rollout
from tracerank.sampling.run_log import FAILED


@dataclass(frozen=True, slots=True)
class Limits:
    """What one rollout may use; at a limit the model is asked for its answer."""

    turns: int = 8
    """Replies before the answer is demanded, misses included."""
    misses: int = 3
    """Of these, in a row, such that bring nothing new: empty ones, malformed calls and calls made before."""
    calls: int = 16
    """Tool calls, failed ones included."""
    reply_tokens: int = 4096
    """Tokens that the model may write in one reply, thinking included: models that think need thousands."""
    return_characters: int = 6000
    """What one tool return shows, without the header of a page."""
    conversation_characters: int = 100_000
    """Length of the conversation from which no reply but the last is asked for: a server's context is finite."""

    def __post_init__(self) -> None:
        if min(astuple(self)) < 1:
            raise UsageError(f"the limits of a rollout must be at least 1, got {self}")

    def within(self, context: int) -> "Limits":
        """The same for a model that holds so many tokens: a quarter for a reply, three characters a token."""
        reply = max(1, context // 4)
        return replace(
            self,
            reply_tokens=min(self.reply_tokens, reply),
            return_characters=min(self.return_characters, max(1, context // 2)),
            conversation_characters=min(self.conversation_characters, max(1, 3 * (context - 2 * reply))),
        )


DEFAULT_LIMITS = Limits()
_DEMANDS = 2
"""How often the answer is demanded of a model that goes on searching or says nothing."""
_TAG = "<answer>"


def answer_confidence(reply: ChatReply, answer: str | None) -> float | None:
    """exp of the mean log probability of the tokens that hold a character of the answer.

    The answer is looked for behind the last ``<answer>``, without a tag at its last occurrence in the reply. None: the
    server gives no log probabilities, or the answer does not stand literally in the reply.
    """
    tokens = reply.logprobs or ()
    said = "".join(token.token for token in tokens)
    tag = said.rfind(_TAG)
    start = said.find(answer or "", tag + len(_TAG)) if tag >= 0 else said.rfind(answer or "")
    if not answer or start < 0:
        return None
    held: list[float] = []
    at = 0
    for token in tokens:
        if at < start + len(answer) and at + len(token.token) > start:
            held.append(token.logprob)
        at += len(token.token)
    mean = fsum(held) / len(held)
    return None if isnan(mean) else min(1.0, exp(mean))


@dataclass(slots=True)
class Conversation:
    """A conversation while it is held."""

    chat: ChatModel
    session: Session
    limits: Limits
    draw: Callable[[int], Sampling]
    """How the reply with this number is drawn."""
    messages: tuple[ChatMessage, ...] = ()
    usage: Usage | None = field(default=Usage(0, 0, 0))
    """Summed over the replies; None: the server does not count."""
    last: ChatReply | None = None
    """The last reply; None: the model said nothing."""
    thought_in_vain: int = 0
    """Replies whose tokens were used up before anything was said."""
    _replies: int = 0
    _calls: int = 0

    def hold(self) -> None:
        """From the question to the answer."""
        self.messages = self.session.opening()
        fitted: tuple[ChatMessage, ...] = ()
        misses = 0
        before: set[tuple[str, str]] = set()
        while misses < self.limits.misses and self._has_room():
            try:
                reply = self._ask()
            except PromptTooLong:
                if not fitted:
                    raise
                self.messages = fitted  # the model never saw what came after
                break
            fitted = self.messages
            if reply is None:  # asked again, the same with another seed
                misses += 1
                continue
            turn = self.session.read(reply)
            if turn.is_kept:
                self.messages += (replace(turn.message, reasoning=reply.reasoning),)
            if turn.is_final:
                return
            wanted = {(call.name, call.arguments) for call in turn.calls}
            misses = 0 if wanted - before else misses + 1
            before |= wanted
            if turn.calls:
                self.messages += self.session.returns(turn.calls, self.limits.calls - self._calls)
                self._calls += len(turn.calls)
            else:
                self.messages = demanding(self.messages, turn.reminder)
        self._demand_answer()

    def _demand_answer(self) -> None:
        for _ in range(_DEMANDS):
            self.messages = demanding(self.messages, prompt_text(self.session.last_turn))
            try:
                reply = self._ask(is_last=True)
            except PromptTooLong:  # will not fit the next time either: a rollout without an answer
                self.last = None
                return
            if reply is None:
                continue
            turn = self.session.read(reply, is_last=True)
            if turn.message.content:
                self.messages += (replace(turn.message, reasoning=reply.reasoning),)
            if turn.is_final:
                return

    def _has_room(self) -> bool:
        limits, length = self.limits, sum(len(message.content) for message in self.messages)
        return self._replies < limits.turns and self._calls < limits.calls and length < limits.conversation_characters

    def _ask(self, is_last: bool = False) -> ChatReply | None:
        """The next reply; None: the model said nothing."""
        sampling = replace(self.draw(self._replies), stop=self.session.stop)
        try:
            reply = self.chat.reply(self.messages, sampling, () if is_last else tuple(self.session.tools.values()))
        except EmptyReply as silence:
            reply = silence.reply
            self.thought_in_vain += reply.is_cut
        self._replies += 1
        self.usage = None if self.usage is None or reply.usage is None else self.usage + reply.usage
        self.last = reply if reply.text.strip() or reply.tool_calls else None
        return self.last


class ChatPolicy:
    """Answers questions with a chat model; a rollout whose server fails says so, and raises where all others would."""

    def __init__(
        self,
        chat: ChatModel,
        style: Style,
        retriever: Retriever,
        limits: Limits = DEFAULT_LIMITS,
        *,
        temperature: float = 1.0,
        top_p: float | None = None,
    ) -> None:
        """``retriever``: a ``Library`` for the style ``browser``."""
        self.chat = chat
        self.style = style
        self.retriever = retriever
        self.limits = limits
        self.temperature = temperature
        self.top_p = top_p

    @property
    def name(self) -> str:
        """Model and style, and a digest of all else that determines a rollout: prompts, tools, sampling and limits."""
        prompts = [prompt_text(name) for name in NAMES]
        determinants = (prompts, self.style.tools, self.temperature, self.top_p, self.limits)
        return f"chat:{self.chat.name}:{self.style.name}@{_digest(*determinants).hex()[:8]}"

    def rollout(self, question: Question, sample: int, seed: int = 0) -> Rollout:
        """The rollout with this sample id; ``lab/run.py`` makes several at once."""

        def draw(turn: int) -> Sampling:
            # 31 bits: some servers take no more.
            drawn = int.from_bytes(_digest(seed, question.text, sample, turn)[:4], "big") >> 1
            return Sampling(self.limits.reply_tokens, self.temperature, self.top_p, drawn)

        session = self.style.session(question.text, self.style.begin(self.retriever, self.limits.return_characters))
        held = Conversation(self.chat, session, self.limits, draw)
        problem = None
        try:
            held.hold()
        except ChatError as error:
            if error.ends_all:
                raise
            problem = f"{FAILED}{error}"
        found = self.style.read(question.text, held.messages)
        made = replace(found, sample_id=sample, label=None, source=None, messages=held.messages, usage=held.usage)
        if problem:
            return replace(made, answer=None, problem=problem)
        if not made.answer and held.thought_in_vain:
            problem = (
                f"no answer: {held.thought_in_vain} of the replies used up their {self.limits.reply_tokens:,} tokens "
                "before they said anything; allow more with --max-tokens"
            )
        return replace(
            made,
            label=float(is_right(question.text, made.answer, question.references)) if question.references else None,
            confidence=None if held.last is None else answer_confidence(held.last, made.answer),
            problem=problem,
        )


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass")).digest()
