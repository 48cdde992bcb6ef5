"""What rollouts searched for and saw, and how that supports an answer: where it stands, and what leads to it.

Sets of texts are the bits of one integer, so that the texts of a rollout, or those with some words, are one operation.
How answers are grouped is not known here.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from tracerank.evidence.forms import Form, Position, asked_kind_of, near, position_of
from tracerank.evidence.text import FUNCTION_WORDS, TextLines, subject_of, terms
from tracerank.pools.types import Rollout

MAX_TEXTS = 400
"""Distinct texts of a pool that are searched; further ones of a very long browsing pool are ignored."""


class Trail(NamedTuple):
    """What one rollout searched for and saw."""

    queries: tuple[str, ...]
    """As they were asked, distinct."""
    ranks: dict[int, int]
    """Number of a text to its best rank; unranked evidence counts as first."""
    texts: int
    """A bit for each text that is searched."""


class Support(NamedTuple):
    """How the evidence supports a meaning; the columns of ``table.py``."""

    best_rank: float
    window: float
    close: float
    question_recall: float
    all_texts: float
    kind_stated: float


class Chains(NamedTuple):
    """How it follows in two steps, through what its rollouts searched for; the columns of ``table.py``."""

    bridge_near: float = 0.0
    chain_recall: float = 0.0


_NO_CHAINS = Chains()


class Finds(NamedTuple):
    """Where one form was found."""

    held: int
    """The texts that hold it."""
    positions: dict[int, Position]
    """Text that holds it to how it stands there."""


class Sources:
    """The texts that rollouts saw, in order, of which the first ``MAX_TEXTS`` are searched; and the queries."""

    def __init__(self, question: str, rollouts: Sequence[Rollout], lines: TextLines) -> None:
        self._lines, self._line = lines, lines.of(question)
        self._kind = asked_kind_of(self._line.text.split())
        numbers: dict[str, int] = {}
        self._trails = [_trail(rollout, numbers) for rollout in rollouts]
        self.texts = [lines.of(text) for text in islice(numbers, MAX_TEXTS)]
        self._foreign = sum([1 << number for number, text in enumerate(self.texts) if not text.is_ascii])
        self._bridges: dict[str, frozenset[str]] = {}
        """Query to its words that the question lacks."""
        self._asking: dict[str, set[int]] = {}
        """Query as a line to the rollouts that asked it."""
        for index, trail in enumerate(self._trails):
            for query in trail.queries:
                self._asking.setdefault(lines.of(query).text, set()).add(index)
        self._all_queries = "\n".join(self._asking)
        self.subject = frozenset(subject_of(question, self.texts))
        """The content words of the question."""
        self._holding: dict[str, int] = {}
        self._levels = _levels(map(self._texts_with, self.subject))

    def _texts_with(self, word: str) -> int:
        """The texts that hold a word."""
        found = self._holding.get(word)
        if found is None:
            found, bit = 0, 1
            for text in self.texts:
                if word in text.words:
                    found |= bit
                bit <<= 1
            self._holding[word] = found
        return found

    def seen_by(self, rollouts: Iterable[int]) -> int:
        """The texts that some rollouts saw."""
        texts = 0
        for index in rollouts:
            texts |= self._trails[index].texts
        return texts

    def found(self, form: Form) -> Finds:
        """Where a form stands in the texts."""
        line = form.line
        wanted = frozenset([word for word in self.subject if f" {word} " not in line])
        held, positions = 0, {}
        # Few have its first word; where characters are words, sets hold other terms.
        for number in _numbers_of(self._texts_with(form.words[0]) | self._foreign):
            text = self.texts[number]
            if line in text.text:
                held |= 1 << number
                positions[number] = position_of(text, line, wanted, self._kind)
        return Finds(held, positions)

    def support(self, sought: Sequence[tuple[Form, Finds]], members: Sequence[int], own_texts: int) -> Support:
        """How the texts of the members, and of all rollouts, support their forms."""
        recall = _most(self._levels, own_texts) / len(self.subject) if self.subject else 0.0
        held = 0
        best_rank = window = close = 0.0
        is_kind = False
        for _, finds in sought:
            held |= finds.held
            for number, position in finds.positions.items():
                is_kind |= position.is_kind
                if own_texts >> number & 1:
                    window, close = max(window, position.window), max(close, position.close)
        if own := _numbers_of(held & own_texts):
            ranks = [self._trails[index].ranks for index in members]
            best_rank = 1 / min([known[number] for known in ranks for number in own if number in known])
        return Support(best_rank, window, close, recall, math.log1p(held.bit_count()), float(is_kind))

    def chains(self, sought: Sequence[tuple[Form, Finds]]) -> Chains:
        """The best over the forms, their rollouts' queries and texts that hold them; more of any never lowers it."""
        best = _NO_CHAINS
        for form, finds in sought:
            if finds.held and (found := self._chains(form, finds.held)) is not _NO_CHAINS:
                best = Chains(*map(max, best, found))
        return best

    def _chains(self, form: Form, holding: int) -> Chains:
        """Of each text that holds the answer and each query, once: rollouts often do the same."""
        through: dict[tuple[int, str], int] = {}
        reading = 0
        for index in form.rollouts:
            trail = self._trails[index]
            if held := trail.texts & holding:
                reading |= held
                for number in _numbers_of(held):
                    for query in trail.queries:
                        through[number, query] = through.get((number, query), 0) | trail.texts
        if not reading:
            return _NO_CHAINS
        own = frozenset(terms(form.words))
        asked = self.subject - own
        around = {number: near(self.texts[number], form.line) for number in _numbers_of(reading)}
        here = {number: asked & words for number, words in around.items()}
        recall = max(map(len, here.values()))
        bridge_near = 0.0
        for (number, query), texts in through.items():
            # The words of a query that the question lacks, and those of them that stand around the answer.
            if (lacking := self._bridges.get(query)) is None:
                lacking = self._bridges[query] = self._lines.of(query).words - FUNCTION_WORDS - self._line.words
            bridge = lacking - own
            crossed = bridge & around[number]
            if crossed:
                bridge_near = max(bridge_near, len(crossed) / len(bridge))
            # Through a text that has all bridge words which stand there: the question's words here or there.
            if crossed and recall < len(asked):
                for word in crossed:
                    texts &= self._texts_with(word)
                recall = max(recall, self._reached(texts, here[number], asked))
        return Chains(bridge_near, recall / len(asked) if asked else 0.0)

    def _reached(self, texts: int, here: frozenset[str], asked: frozenset[str]) -> int:
        """The most words of the question that stand around the answer or in one of some texts."""
        if not texts:
            return 0
        return len(here) + _most(_levels([self._texts_with(word) & texts for word in asked - here]), texts)

    def searched_by_others(self, forms: Iterable[Form], members: Sequence[int]) -> float:
        """Whether rollouts with another answer than the members' searched for it."""
        for form in forms:
            line = form.line
            # One look at all of them: most answers are not searched for. A line break is in no line. A query that
            # repeats the question contains what the question names: that is no sign of anything.
            if line in self._all_queries and line not in self._line.text:
                asking = set().union(*(asking for query, asking in self._asking.items() if line in query))
                if not asking.issubset(members):
                    return 1.0
        return 0.0


def _trail(rollout: Rollout, numbers: dict[str, int]) -> Trail:
    """What a rollout did; texts that are new get the next numbers."""
    queries: dict[str, None] = {}
    ranks: dict[int, int] = {}
    texts = 0
    for search in rollout.searches:
        if search.query:
            queries[search.query] = None
        for evidence in search.evidence:
            number = numbers.setdefault(evidence.text, len(numbers))
            rank = evidence.rank or 1
            ranks[number] = min(rank, ranks.get(number, rank))
            if number < MAX_TEXTS:
                texts |= 1 << number
    return Trail(tuple(queries), ranks, texts)


def _numbers_of(texts: int) -> list[int]:
    """The numbers of the texts in a set, in order."""
    found = []
    while texts:
        last = texts & -texts
        found.append(last.bit_length() - 1)
        texts ^= last
    return found


def _levels(holding: Iterable[int]) -> list[int]:
    """Of the texts that hold each of some words: those that hold one or more, two or more, and so on."""
    found: list[int] = []
    for texts in holding:
        for index, before in enumerate(found):
            if not texts:
                break
            found[index] = before | texts
            texts &= before
        if texts:
            found.append(texts)
    return found


def _most(levels: Sequence[int], texts: int) -> int:
    """The most words that one of these texts holds."""
    for count in range(len(levels), 0, -1):
        if levels[count - 1] & texts:
            return count
    return 0
