"""Groups of equal answers by vectors or by a chat model, on top of the default level's groups.

Both merge default groups and never part them. What rules understand, rules decide: two numbers, two dates, or yes and
no are never merged, nor answers with different digits, nor a denial with what it denies. A chat model is asked for both
answers in short, which rules then compare; its verdict is for what rules do not settle.
"""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.asked import Asked, read_question
from tracerank.answers.english import NEGATIONS
from tracerank.answers.equivalence import DEFAULT, NO_GROUP, Aliases, group_answers
from tracerank.answers.meaning.grouping import same_answer
from tracerank.answers.readings import NAME, read_answer
from tracerank.answers.text_keys import readable, tokens_of
from tracerank.chat.asking import UNSAID, quoted, room_in, short_answer, strict_reply
from tracerank.chat.prompts import prompt_text
from tracerank.embedding.base import Embedder, check_vectors
from tracerank.endpoints.chat import VERDICT_TOKENS, ChatModel, ChatReply, Sampling

Similarity = NDArray[np.float32]

THRESHOLD = 0.95
"""Cosine from which two answers are one to the default encoder; measured by ``studies/quality/answer_equality.py``."""
_VERDICT = re.compile(r"\b(NOT (?:\w+ )?SAME|SAME|DIFFERENT)\b")


@dataclass(frozen=True, slots=True)
class _Unit:
    """One default group, seen without the order of the answers."""

    texts: tuple[str, ...]
    """Distinct, the shortest first: it stands for the group."""
    numbers: frozenset[str]
    denies: bool
    is_name: bool
    """False: a number, a date, yes or no."""

    def may_equal(self, other: "_Unit") -> bool:
        return self.is_name and other.is_name and self.numbers == other.numbers and self.denies == other.denies


class SemanticGroups:
    """Merges default groups while every pair of their answers is as similar as the threshold asks."""

    name = "semantic"

    def __init__(self, embedder: Embedder, threshold: float = THRESHOLD, aliases: Aliases = ()) -> None:
        if not -1 <= threshold <= 1:
            raise ValueError(f"threshold must lie between -1 and 1, got {threshold}")
        self.embedder = embedder
        self.threshold = threshold
        self.aliases = aliases

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        base = group_answers(answers, question, DEFAULT, self.aliases)
        units = _units(base, answers, read_question(question))
        similarity = self._similarity(list(units.values()))
        return _renumbered(base, dict(zip(units, complete_linkage(similarity, self.threshold), strict=True)))

    def _similarity(self, units: Sequence[_Unit]) -> Similarity:
        """The least cosine between any two answers of two units; -1 where they must stay apart."""
        owner = np.array([place for place, unit in enumerate(units) for _ in unit.texts], dtype=np.int64)
        texts = [text for unit in units for text in unit.texts]
        found = np.full((len(units), len(units)), 2.0, dtype=np.float32)
        if texts:
            vectors = check_vectors(
                self.embedder.embed(texts), len(texts), self.embedder.width, self.embedder.name, texts
            )
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
            np.minimum.at(found, (owner[:, None], owner[None, :]), vectors @ vectors.T)
        return _kept_apart(found, units)


RULES, SHORT_ANSWERS, VERDICT = "rules", "short answers", "verdict"
"""What settles a pair: rules on the answers as they are, rules on what the model writes of them, its own verdict."""


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """How a chat model is asked about two answers."""

    max_tokens: int = VERDICT_TOKENS
    shown: int = 2000
    """Characters of an answer or a question in a prompt."""

    def within(self, context: int) -> "LlmConfig":
        """The same for a model that holds so many tokens; the prompt has three texts."""
        room = room_in(context)
        return LlmConfig(min(self.max_tokens, room.reply_tokens), min(self.shown, room.prompt_words))

    def show(self, text: str) -> str:
        """The text as it stands in a prompt."""
        return quoted(readable(text)[: self.shown])


class LlmGroups:
    """Merges default groups that give the same answer, by what a chat model writes down of them.

    Each unordered pair is one request in the same words: put the chat into a ``CachedChat`` to ask it once.
    """

    name = "llm"

    def __init__(self, chat: ChatModel, aliases: Aliases = (), config: LlmConfig | None = None) -> None:
        self.chat = chat
        self.config = config or LlmConfig()
        self.aliases = aliases
        self.settled: Counter[str] = Counter()
        """Pairs by what settled them."""
        self._lock = threading.Lock()

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        """Asks about n(n-1)/2 pairs of n default groups, less those that rules decide."""
        base = group_answers(answers, question, DEFAULT, self.aliases)
        units = _units(base, answers, read_question(question))
        listed = list(units.values())
        similarity = np.zeros((len(listed), len(listed)), dtype=np.float32)
        for first, one in enumerate(listed):
            for second in range(first):
                # Units are in the order of their texts, so a pair has one direction whatever the pool's order.
                other = listed[second]
                if one.is_name or other.is_name:
                    similarity[first, second] = self.are_same(question, other.texts[0], one.texts[0])
        similarity = np.maximum(similarity, similarity.T)
        return _renumbered(base, dict(zip(units, complete_linkage(similarity, 0.5), strict=True)))

    def are_same(self, question: str, a: str, b: str) -> bool:
        """Whether two answers are one, asked in the order of their texts."""
        low, high = sorted((a, b))
        is_same, by = True, RULES
        if not same_answer(question, low, high):
            is_same, by = self._asked(question, low, high)
        with self._lock:
            self.settled[by] += 1
        return is_same

    def _asked(self, question: str, low: str, high: str) -> tuple[bool, str]:
        """Whether they are the same, and what settled it."""
        show = self.config.show
        prompt = prompt_text("same_answer").format(question=show(question), a=show(low), b=show(high))
        sampling = Sampling(self.config.max_tokens, seed=0)
        said = strict_reply(self.chat, prompt, sampling, _Comparison.of, "both short answers and SAME or DIFFERENT")
        if said.short is None:
            return said.is_same, VERDICT
        by_rules = _by_rules(question, *said.short)
        if by_rules is not None:
            return by_rules, SHORT_ANSWERS
        if not said.is_same:
            return False, VERDICT
        # A model that has just written two things down is too ready to call them one: it has to say so of them alone.
        a, b = said.short
        prompt = prompt_text("same_short_answer").format(question=show(question), a=show(a), b=show(b))
        return strict_reply(self.chat, prompt, sampling, _verdict, "SAME or DIFFERENT"), VERDICT


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What a model says of two answers."""

    short: tuple[str, str] | None
    """What each gives; None: it did not write both down."""
    is_same: bool
    """Its verdict; True without one, where there are short answers to look at."""

    @classmethod
    def of(cls, reply: ChatReply) -> "_Comparison | None":
        verdict = _verdict(reply)
        a, b = short_answer(reply, "A"), short_answer(reply, "B")
        if a is None or b is None:
            return None if verdict is None else cls(None, verdict)
        return cls((a, b), verdict is not False)


def _by_rules(question: str, a: str, b: str) -> bool | None:
    """Whether two short answers are one; None: rules do not know."""
    if UNSAID in (a, b):  # what gives no answer is the same as nothing
        return False
    if same_answer(question, a, b):
        return True
    return False if _told_apart(question, a, b) else None


def _told_apart(question: str, a: str, b: str) -> bool:
    """Whether rules are sure that two short answers differ."""
    units = list(_units((0, 1), (a, b), read_question(question)).values())
    return not units[0].may_equal(units[1])


def _verdict(reply: ChatReply) -> bool | None:
    """The last verdict outside the thinking; None: there is none."""
    found = _VERDICT.findall(reply.spoken.upper())
    return bool(found[-1] == "SAME") if found else None


def _units(base: Sequence[int], answers: Sequence[str | None], asked: Asked) -> dict[int, _Unit]:
    """Each default group as a unit, in the order of their texts and not of the pool."""
    texts: dict[int, set[str]] = {}
    kinds: dict[int, set[str]] = {}
    for group, answer in zip(base, answers, strict=True):
        if group != NO_GROUP and answer is not None:
            texts.setdefault(group, set()).add(readable(answer))
            kinds.setdefault(group, set()).add(read_answer(answer, asked).kind)
    units = {}
    for group, found in texts.items():
        ordered = tuple(sorted(found, key=lambda text: (len(text), text)))
        tokens = tokens_of(ordered[0])
        numbers = frozenset(token for token in tokens if token[0].isdigit())
        units[group] = _Unit(ordered, numbers, not NEGATIONS.isdisjoint(tokens), kinds[group] == {NAME})
    return dict(sorted(units.items(), key=lambda item: item[1].texts))


def _kept_apart(similarity: Similarity, units: Sequence[_Unit]) -> Similarity:
    for first, one in enumerate(units):
        for second, other in enumerate(units):
            if first != second and not one.may_equal(other):
                similarity[first, second] = -1.0
    return similarity


def complete_linkage(similarity: Similarity, threshold: float) -> list[int]:
    """Clusters whose members are all at least that similar to each other: the closest pair merges first.

    Ties go to the pair that comes first in the matrix, whose order the caller makes independent of the pool's.
    """
    count = len(similarity)
    labels = list(range(count))
    linked = similarity.astype(np.float64, copy=True)
    np.fill_diagonal(linked, -np.inf)
    while count > 1:
        place = int(np.argmax(linked))
        first, second = sorted(divmod(place, len(linked)))
        if linked[first, second] < threshold:
            break
        labels = [first if label == second else label for label in labels]
        linked[first] = linked[:, first] = np.minimum(linked[first], linked[second])
        linked[second] = linked[:, second] = -np.inf
        linked[first, first] = -np.inf
        count -= 1
    return labels


def _renumbered(base: Sequence[int], merged: dict[int, int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if group == NO_GROUP else numbers.setdefault(merged[group], len(numbers)) for group in base)
