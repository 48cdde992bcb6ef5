"""The chat agent: K rollouts of a question by any chat model, several under way at once.

Each rollout draws from (seed, question, sample) alone, so any of them can be made again later; how repeatable a reply
is, is up to the server.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from tracerank.agents.chat.confidence import answer_confidence
from tracerank.agents.chat.conversation import Conversation
from tracerank.agents.chat.limits import DEFAULT_LIMITS, Limits
from tracerank.agents.chat.style import Style
from tracerank.answers.exact import exact_match
from tracerank.endpoints.chat import ChatModel, Sampling
from tracerank.errors import UsageError
from tracerank.pools.types import Question, Rollout

CONCURRENCY = 4


class ChatPolicy:
    """Answers questions with a chat model; a failed request raises, and what was finished by then is still given."""

    def __init__(
        self,
        chat: ChatModel,
        style: Style,
        limits: Limits = DEFAULT_LIMITS,
        *,
        temperature: float = 1.0,
        top_p: float | None = None,
        concurrency: int = CONCURRENCY,
    ) -> None:
        if concurrency < 1:
            raise UsageError(f"at least one rollout must be under way, got a concurrency of {concurrency}")
        self.chat = chat
        self.style = style
        self.limits = limits
        self.temperature = temperature
        self.top_p = top_p
        self.concurrency = concurrency

    @property
    def name(self) -> str:
        """Model and style, and a digest of all else that settles a rollout: prompts, tools, sampling and limits."""
        settles = (self.style.prompts, self.temperature, self.top_p, self.limits)
        return f"chat:{self.chat.name}:{self.style.name}@{_digest(*settles).hex()[:8]}"

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, in their order."""
        stop = Event()
        if self.concurrency == 1:  # a caller with threads of its own can abandon them; an executor's are waited for
            yield from (self._rollout(question, sample, seed, stop) for sample in samples)
            return
        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="tracerank-chat") as workers:
            futures = [workers.submit(self._rollout, question, sample, seed, stop) for sample in samples]
            try:
                for place, future in enumerate(futures):
                    try:
                        rollout = future.result()
                    except Exception:
                        stop.set()
                        yield from _finished(futures[place + 1 :])
                        raise
                    yield rollout
            finally:
                stop.set()
                for future in futures:
                    future.cancel()

    def _rollout(self, question: Question, sample: int, seed: int, stop: Event) -> Rollout:
        def draw(turn: int) -> Sampling:
            # 31 bits: some servers take no more.
            drawn = int.from_bytes(_digest(seed, question.text, sample, turn)[:4], "big") >> 1
            return Sampling(self.limits.reply_tokens, self.temperature, self.top_p, drawn)

        held = Conversation(self.chat, self.style, self.limits, draw, stop)
        held.hold(question.text)
        found = self.style.read(question.text, held.messages)
        return Rollout(
            sample_id=sample,
            answer=found.answer,
            searches=found.searches,
            label=exact_match(found.answer, question.references) if question.references else None,
            confidence=None if held.last is None else answer_confidence(held.last, found.answer),
            setting=self.style.setting,
            views=found.views,
            messages=held.messages,
            usage=held.usage,
        )


def _finished(futures: Sequence[Future[Rollout]]) -> Iterator[Rollout]:
    """Rollouts that were under way and came to their end: they have been paid for."""
    for future in futures:
        if not future.cancel() and future.exception() is None:
            yield future.result()


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass")).digest()
