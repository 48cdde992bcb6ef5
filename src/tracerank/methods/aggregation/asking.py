"""How aggregators ask: tokens summed per question, several questions under way at once, decisions in order."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from tracerank.answers.exact import normalize_answer
from tracerank.endpoints.chat import ChatModel, ChatReply, ChatTool, EmptyReply, Sampling
from tracerank.endpoints.messages import ChatMessage, Usage
from tracerank.errors import ChatError
from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained, RetentionRule

Item = TypeVar("Item")
Made = TypeVar("Made")


class CountedChat:
    """A chat model whose tokens are summed, also those of empty replies, and which stops asking when it is told to."""

    def __init__(self, chat: ChatModel, stop: threading.Event | None = None) -> None:
        self._chat = chat
        self._stop = stop or threading.Event()
        self._lock = threading.Lock()
        self._usage: Usage | None = None

    @property
    def name(self) -> str:
        return self._chat.name

    @property
    def usage(self) -> Usage | None:
        """The sum so far; None: nothing was asked, or the server does not count."""
        return self._usage

    def reply(self, messages: Sequence[ChatMessage], sampling: Sampling, tools: Sequence[ChatTool] = ()) -> ChatReply:
        if self._stop.is_set():
            raise ChatError(f"{self.name}: not asked, because another question failed")
        try:
            reply = self._chat.reply(messages, sampling, tools)
        except EmptyReply as error:
            self._count(error.reply)
            raise
        self._count(reply)
        return reply

    def _count(self, reply: ChatReply) -> None:
        if (usage := reply.usage) is not None:
            with self._lock:
                self._usage = usage if self._usage is None else self._usage + usage


def in_order(work: Callable[[Item], Made], items: Iterable[Item], window: int, stop: threading.Event) -> Iterator[Made]:
    """What the work makes of each item, in order, with at most that many under way and unread.

    A failure, or a reader that stops reading, sets ``stop``, cancels what has not begun and waits for the rest.
    """
    waiting: deque[Future[Made]] = deque()
    workers = ThreadPoolExecutor(window, thread_name_prefix="tracerank-ask")
    try:
        for item in items:
            waiting.append(workers.submit(work, item))
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if waiting:
            stop.set()
        workers.shutdown(wait=True, cancel_futures=True)


class AskingMethod(ABC):
    """A method that asks a chat model about the retained rollouts of a pool."""

    def __init__(self, chat: ChatModel, concurrency: int, rule: RetentionRule | None) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        self.chat = chat
        self.concurrency = concurrency
        self.rule = rule

    @abstractmethod
    def settle(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        """The decision on a pool that retains at least one rollout."""

    def decide(self, pool: Pool) -> Decision:
        return self._settle(CountedChat(self.chat), pool)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions in the order of the pools, several of them under way at once."""
        stop = threading.Event()
        yield from in_order(
            lambda pool: self._settle(CountedChat(self.chat, stop), pool), pools, self.concurrency, stop
        )

    def _settle(self, chat: CountedChat, pool: Pool) -> Decision:
        retained = pool.retained(self.rule)
        if not retained.kept:
            return Decision(pool.question.id, None, None, dropped=retained.dropped)
        return self.settle(pool, retained, chat)


def all_of(ask: Callable[[Item], Made], items: Sequence[Item], window: int) -> list[Made]:
    """What is asked about each item of one question, several at once."""
    return list(in_order(ask, items, max(1, min(window, len(items))), threading.Event()))


def written_decision(
    pool: Pool, retained: Retained, answer: str | None, usage: Usage | None, note: str | None
) -> Decision:
    """A decision on an answer that a model wrote; it belongs to the rollouts that gave the same one."""
    key = normalize_answer(answer)
    same = tuple(rollout.sample_id for rollout in retained.kept if key and normalize_answer(rollout.answer) == key)
    first = same[0] if same else None
    return Decision(pool.question.id, answer, first, {}, retained.dropped, same, usage=usage, note=note)
