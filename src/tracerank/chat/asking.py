"""How chat models are asked: texts of others quoted so that none can pass for ours, replies read, tokens counted.

Pages and answers are hostile. As JSON strings they cannot end their own block; what chat templates and our own rules
read as marks (``<answer>``, ``</tool_response>``, ``<|im_end|>``, ``[INST]``) is written with an escape of JSON, so
that no tokenizer and no extraction meets it in a prompt. Replies that must say one definite thing are read strictly,
asked for again when they do not, and never guessed.
"""

import json
import re
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeVar

from tracerank.answers.extraction import extract_answer
from tracerank.answers.scripts import UNSPACED
from tracerank.endpoints.chat import (
    ChatMessage,
    ChatModel,
    ChatReply,
    ChatTool,
    EmptyReply,
    Sampling,
    Usage,
    sendable,
)
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Retained
from tracerank.votes.base import Decision, recorded

_MARK = re.compile(r"<(?=[/|!?｜▁a-zA-Z])|\[(?=/?[A-Z_]{3,}\])")
_WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]{{1,40}}")


@dataclass(frozen=True, slots=True)
class Room:
    """What one request may take of a model's context."""

    max_tokens: int
    """Of the reply."""
    prompt_words: int
    """Words of others in the prompt; longer texts are cut where a mark says so. A word takes up to two tokens."""
    context: int | None = None
    """Tokens that the model holds; None: enough."""

    def within(self, context: int | None, max_tokens: int | None = None) -> "Room":
        """The same for a model that holds ``context`` tokens and replies in ``max_tokens``; None: as it is."""
        quarter = sys.maxsize if context is None else context // 4
        tokens = min(self.max_tokens, quarter) if max_tokens is None else max_tokens
        return Room(tokens, min(self.prompt_words, quarter), context)


def quoted(value: object) -> str:
    """The value as JSON on one line, whose strings hold no mark."""
    text = sendable(json.dumps(value, ensure_ascii=False))
    return _MARK.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def count_words(text: str) -> int:
    """Words; a character of a script without spaces counts as one, and so do 40 characters without a space."""
    return sum(1 for _ in _WORD.finditer(text))


def cut_words(text: str, most: int) -> str:
    """The beginning of the text, with a mark that says how many words are missing."""
    end = 0
    for count, word in enumerate(_WORD.finditer(text)):
        if count == most:
            return f"{text[:end]} […cut here: {count_words(text[end:]):,} more words]".lstrip()
        end = word.end()
    return text


def fit_words(texts: Sequence[str], budget: int) -> list[str]:
    """The texts cut so that they share the budget: short ones stay whole, long ones are cut at one common length."""
    counts = [count_words(text) for text in texts]
    if sum(counts) <= budget:
        return list(texts)
    left, level = budget, 0
    for index, count in enumerate(sorted(counts)):
        level = left // (len(counts) - index)
        if count > level:
            break
        left -= count
    return [cut_words(text, level) for text in texts]


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


Item = TypeVar("Item")
Made = TypeVar("Made")


class CountedChat:
    """A chat model that sums its tokens, also those of empty replies, and asks nothing more once ``stop`` is set."""

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
        with self._lock:
            self._usage = Usage.total((self._usage, reply.usage))


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


def all_of(ask: Callable[[Item], Made], items: Sequence[Item], window: int) -> list[Made]:
    """What is asked about each item of one question, several at once."""
    return list(in_order(ask, items, max(1, min(window, len(items))), threading.Event()))


class AskingMethod(ABC):
    """A method that asks a chat model about the retained rollouts of a pool."""

    name: str
    room: ClassVar[Room]
    """What its requests take at most."""

    def __init__(self, chat: ChatModel, room: Room | None = None, *, concurrency: int = 4) -> None:
        """``room``: cut to the model's context; ``concurrency``: questions under way at once, and requests of each."""
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        self.chat = chat
        self.given = room or self.room
        self.concurrency = concurrency

    @abstractmethod
    def ask(self, pool: Pool, retained: Retained, chat: CountedChat) -> Decision:
        """The decision on a pool that retains at least one rollout."""

    def decide(self, pool: Pool) -> Decision:
        return self._decided(CountedChat(self.chat), pool)

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions in the order of the pools, several of them under way at once; a failed one costs only itself."""
        stop = threading.Event()

        def decided(pool: Pool) -> Decision:
            chat = CountedChat(self.chat, stop)
            decision = recorded(partial(self._decided, chat), pool)
            return decision if decision.problem is None else replace(decision, usage=chat.usage)

        yield from in_order(decided, pools, self.concurrency, stop)

    def _decided(self, chat: CountedChat, pool: Pool) -> Decision:
        retained = pool.retained()
        if not retained.kept:
            return Decision(pool.question.id, None, None, dropped=retained.dropped)
        return self.ask(pool, retained, chat)
