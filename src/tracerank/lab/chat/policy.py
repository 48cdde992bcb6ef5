"""The chat agent: K rollouts of a question by any chat model.

A rollout is a conversation, replies and tool returns in turn, until an answer or a limit; at a limit the answer is
demanded. It draws from (seed, question, sample) alone, so any of them can be made again later; how repeatable a reply
is, is up to the server.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from math import exp, fsum, isnan

from tracerank.answers.meaning.rightness import is_right
from tracerank.endpoints.chat import ChatMessage, ChatModel, ChatReply, EmptyReply, PromptTooLong, Sampling, Usage
from tracerank.errors import ChatError, RetrieveError, UsageError
from tracerank.lab.chat.style import demanding
from tracerank.lab.chat.tags import TagSession, TagStyle
from tracerank.lab.chat.tools import ToolSession, ToolStyle
from tracerank.pools.types import Question, Rollout
from tracerank.sampling.run_log import FAILED

Style = TagStyle | ToolStyle
"""A way to speak to a chat model."""
Session = TagSession | ToolSession
"""One rollout's side of the conversation."""


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
    rollout_tokens: int = 32_768
    """Tokens that it may write in all replies together, the last one included."""
    answer_tokens: int = 2048
    """Of these, what is kept back for the demanded answer."""
    return_characters: int = 6000
    """What one tool return shows, without the header of a page."""
    conversation_characters: int = 100_000
    """Length of the conversation from which no reply but the last is asked for: a server's context is finite."""

    def __post_init__(self) -> None:
        if min(astuple(self)) < 1:
            raise UsageError(f"the limits of a rollout must be at least 1, got {self}")
        if self.answer_tokens >= self.rollout_tokens:
            raise UsageError(
                f"{self.rollout_tokens} tokens a rollout leave nothing beside the {self.answer_tokens} for its answer; "
                "allow more for the rollout or fewer for the answer"
            )

    def within(self, context: int) -> "Limits":
        """The same for a model that holds so many tokens: a quarter for a reply, three characters a token."""
        reply = max(1, context // 4)
        return replace(
            self,
            reply_tokens=min(self.reply_tokens, reply),
            answer_tokens=min(self.answer_tokens, reply),
            return_characters=min(self.return_characters, max(1, context // 2)),
            conversation_characters=min(self.conversation_characters, max(1, 3 * (context - 2 * reply))),
        )


DEFAULT_LIMITS = Limits()
_DEMANDS = 2
"""How often the answer is demanded of a model that goes on searching or says nothing."""

_TAG = "<answer>"


def answer_confidence(reply: ChatReply, answer: str | None) -> float | None:
    """exp of the mean log probability of the tokens that hold a character of the answer.

    The answer is looked for behind the last ``<answer>``, without a tag at its last place in the reply. None: the
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
    style: Style
    limits: Limits
    draw: Callable[[int], Sampling]
    """How the reply with this number is drawn, before limits."""
    messages: tuple[ChatMessage, ...] = field(default=(), init=False)
    usage: Usage | None = field(default=Usage(0, 0, 0), init=False)
    """Summed over the replies; None: the server does not count."""
    last: ChatReply | None = field(default=None, init=False)
    """The last reply; None: the model said nothing."""
    is_forced: bool = field(default=False, init=False)
    """The answer had to be demanded."""
    _hidden: set[int] = field(default_factory=set, init=False)
    """Places of messages that the model is not shown again."""
    thought_in_vain: int = field(default=0, init=False)
    """Replies whose tokens were used up before anything was said."""
    _asked: int = field(default=0, init=False)
    _called: int = field(default=0, init=False)
    _written: int = field(default=0, init=False)
    """Tokens of the model; those that it was allowed, where the server does not count."""

    def hold(self, question: str) -> None:
        """From the question to the answer."""
        self.messages = self.style.opening(question)
        session = self.style.session(question, self.limits.return_characters)
        fitted: tuple[ChatMessage, ...] = ()
        misses = 0
        before: set[tuple[str, str]] = set()
        while misses < self.limits.misses and (room := self._room()) > 0:
            try:
                reply = self._ask(room)
            except PromptTooLong:
                if not fitted:
                    raise
                self.messages = fitted  # the model never saw what came after
                self._hidden = {place for place in self._hidden if place < len(fitted)}
                break
            fitted = self.messages
            if reply is None:  # asked again, the same with another seed
                misses += 1
                continue
            heard = session.hear(reply)
            self.messages += (replace(heard.message, reasoning=reply.reasoning),)
            if heard.is_final:
                return
            if heard.is_hidden:
                self._hide(len(self.messages) - 1)
            wanted = {(call.name, call.arguments) for call in heard.calls}
            misses = 0 if wanted - before else misses + 1
            before |= wanted
            self.messages += session.answer(heard, self.limits.calls - self._called)
            self._called += len(heard.calls)
        self._demand_answer(session)

    def _demand_answer(self, session: Session) -> None:
        for _ in range(_DEMANDS):
            left = self.limits.rollout_tokens - self._written  # not every server keeps to what it is allowed
            if self.is_forced and left < 1:
                return
            if self.messages[-1].role == "assistant" or not self.is_forced:
                self.messages = self.style.last_turn(self.messages)
            self.is_forced = True
            try:
                reply = self._ask(min(self.limits.answer_tokens, max(1, left)), is_last=True)
            except PromptTooLong:  # will not fit the next time either: a rollout without an answer
                self.last = None
                return
            if reply is None:
                continue
            heard = session.hear(reply, is_last=True)
            if heard.message.content:
                self.messages += (replace(heard.message, reasoning=reply.reasoning),)
            if heard.is_final:
                return

    def _room(self) -> int:
        """Tokens that the next reply may take; 0: a limit is reached."""
        limits = self.limits
        length = sum(len(message.content) for message in self.messages)
        if self._asked >= limits.turns or self._called >= limits.calls or length >= limits.conversation_characters:
            return 0
        return min(limits.reply_tokens, limits.rollout_tokens - limits.answer_tokens - self._written)

    def _ask(self, max_tokens: int, is_last: bool = False) -> ChatReply | None:
        """The next reply; None: the model said nothing."""
        sampling = replace(self.draw(self._asked), max_tokens=max_tokens, stop=self.style.stop)
        try:
            reply = self.chat.reply(self._shown(), sampling, () if is_last else self.style.tools)
        except EmptyReply as silence:
            reply = silence.reply
            self.thought_in_vain += reply.is_cut
        self._asked += 1
        self._written += max_tokens if reply.completion_tokens is None else reply.completion_tokens
        self.usage = None if self.usage is None or reply.usage is None else self.usage + reply.usage
        self.last = reply if reply.text.strip() or reply.tool_calls else None
        return self.last

    def _hide(self, place: int) -> None:
        """A reply, and what was said to another one right before it: said once, it is enough."""
        self._hidden.add(place)
        if place - 2 in self._hidden:
            self._hidden.add(place - 1)

    def _shown(self) -> tuple[ChatMessage, ...]:
        """The conversation without what is hidden; a user's turns that follow each other are one."""
        shown: list[ChatMessage] = []
        for place, message in enumerate(self.messages):
            if place in self._hidden:
                continue
            if shown and message.role == shown[-1].role == "user":
                shown = list(demanding(shown, message.content))
            else:
                shown.append(message)
        return tuple(shown)


class ChatPolicy:
    """Answers questions with a chat model; a rollout whose server fails says so, and raises where all others would."""

    def __init__(
        self,
        chat: ChatModel,
        style: Style,
        limits: Limits = DEFAULT_LIMITS,
        *,
        temperature: float = 1.0,
        top_p: float | None = None,
    ) -> None:
        self.chat = chat
        self.style = style
        self.limits = limits
        self.temperature = temperature
        self.top_p = top_p

    @property
    def name(self) -> str:
        """Model and style, and a digest of all else that settles a rollout: prompts, tools, sampling and limits."""
        settles = (self.style.prompts, self.temperature, self.top_p, self.limits)
        return f"chat:{self.chat.name}:{self.style.name}@{_digest(*settles).hex()[:8]}"

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, in their order; ``lab/sample.py`` makes several at once."""
        return (self._rollout(question, sample, seed) for sample in samples)

    def _rollout(self, question: Question, sample: int, seed: int) -> Rollout:
        def draw(turn: int) -> Sampling:
            # 31 bits: some servers take no more.
            drawn = int.from_bytes(_digest(seed, question.text, sample, turn)[:4], "big") >> 1
            return Sampling(self.limits.reply_tokens, self.temperature, self.top_p, drawn)

        held = Conversation(self.chat, self.style, self.limits, draw)
        problem = None
        try:
            held.hold(question.text)
        except (ChatError, RetrieveError) as error:
            if error.ends_all:
                raise
            problem = f"{FAILED}{error}"
        found = self.style.read(question.text, held.messages)
        answer = None if problem else found.answer
        if not answer and not problem and held.thought_in_vain:
            problem = (
                f"no answer: {held.thought_in_vain} of the replies used up their {self.limits.reply_tokens:,} tokens "
                "before they said anything; allow more with --max-tokens"
            )
        has_label = bool(question.references) and not (problem or "").startswith(FAILED)
        return Rollout(
            sample_id=sample,
            answer=answer,
            searches=found.searches,
            label=float(is_right(question.text, answer, question.references)) if has_label else None,
            confidence=None if held.last is None else answer_confidence(held.last, answer),
            setting=self.style.setting,
            views=found.views,
            problem=problem,
            messages=held.messages,
            usage=held.usage,
        )


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass")).digest()
