"""What rollouts searched for and saw, and how that supports an answer: where it stands, and what leads to it.

Everything is the best over texts, so that copies of a text, under whatever address or rank, count once. Sets of texts
are the bits of one integer, so that the texts of a rollout, or those with some words, are one operation. How answers
are grouped is not known here.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from tracerank.answers.english import QUESTION_WORDS
from tracerank.answers.scripts import has_unspaced
from tracerank.evidence.forms import Form, near
from tracerank.evidence.text import FUNCTION_WORDS, Line, TextLines, subject_of, terms
from tracerank.pools.types import Rollout

MAX_TEXTS = 400
"""Distinct texts of a pool that are searched; further ones of a very long browsing pool are ignored."""
ALL_TEXTS = -1
"""The set of all texts, as bits."""
ECHO, _RUN, _RUN_OF_CHARACTERS = 2 / 3, 3, 8
"""Share of the question that a text repeats word for word, in runs of at least so many words, or characters where they
are the words, from which it is an echo of the question: the runs say nothing about an answer beside them."""


class Trail(NamedTuple):
    """What one rollout searched for and saw."""

    queries: tuple[str, ...]
    """Distinct, as written."""
    texts: int
    """A bit for each text that is searched."""


class Support(NamedTuple):
    """How texts lead from the question to a meaning, also in two steps; the columns of ``table.py``."""

    bridge_near: float = 0.0
    chain_recall: float = 0.0


class Sources:
    """The texts that rollouts saw, in order, of which the first ``MAX_TEXTS`` are searched; and the queries."""

    def __init__(self, question: str, rollouts: Sequence[Rollout], lines: TextLines) -> None:
        self._lines, self._line = lines, lines.of(question)
        numbers: dict[str, int] = {}
        self._trails = [_trail(rollout, numbers) for rollout in rollouts]
        self.texts = [lines.of(text) for text in islice(numbers, MAX_TEXTS)]
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
        self._blank_echoes()

    def _blank_echoes(self) -> None:
        """Takes the question out of texts that repeat it nearly whole."""
        levels = _levels(map(self._texts_with, self.subject))
        least = math.ceil(ECHO * len(self.subject))
        echoes = levels[least - 1] if 0 < least <= len(levels) else 0
        for number in _numbers_of(echoes):
            blanked = without_echo(self.texts[number], self._line)
            if blanked is not None:
                self.texts[number] = blanked
                self._holding.clear()

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

    def holding(self, form: Form) -> int:
        """The texts that hold a form."""
        held = 0
        for number in _numbers_of(self._texts_with(form.words[0])):  # few texts
            if form.line in self.texts[number].text:
                held |= 1 << number
        return held

    def support(self, forms: Iterable[Form], texts: int = ALL_TEXTS) -> Support:
        """The best over the forms, their rollouts' queries and those of some texts; more of any never lowers it."""
        best = Support()
        for form in forms:
            held = 0 if form.is_polar else self.holding(form) & texts  # texts hold no yes or no
            if held:
                best = Support(*map(max, best, self._support(form, held, texts)))
        return best

    def _support(self, form: Form, holding: int, texts: int) -> Support:
        """Of each text that holds the answer and each query, once: rollouts often do the same."""
        through: dict[tuple[int, str], int] = {}
        reading = 0
        for index in form.rollouts:
            trail = self._trails[index]
            if held := trail.texts & holding:
                reading |= held
                for number in _numbers_of(held):
                    for query in trail.queries:
                        through[number, query] = through.get((number, query), 0) | trail.texts & texts
        if not reading:
            return Support()
        own = frozenset(terms(form.words))
        asked = self.subject - own
        around = {number: near(self.texts[number], form.line) for number in _numbers_of(reading)}
        here = {number: asked & words for number, words in around.items()}
        recall = max(map(len, here.values()))
        bridge_near = 0.0
        for (number, query), steps in through.items():
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
                    steps &= self._texts_with(word)
                there = _levels(self._texts_with(word) & steps for word in asked - here[number])
                recall = max(recall, len(here[number]) + len(there))
        return Support(bridge_near, recall / len(asked) if asked else 0.0)

    def searched_by_others(self, forms: Iterable[Form], members: Sequence[int]) -> float:
        """Whether rollouts with another answer than the members' searched for it; nothing is said of yes and no."""
        for form in forms:
            line = form.line
            if form.is_polar:
                continue
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
    texts = 0
    for search in rollout.searches:
        if search.query:
            queries[search.query] = None
        for evidence in search.evidence:
            number = numbers.setdefault(evidence.text, len(numbers))
            if number < MAX_TEXTS:
                texts |= 1 << number
    return Trail(tuple(queries), texts)


def without_echo(text: Line, question: Line) -> Line | None:
    """The text without its runs of the question's words; None: it does not repeat the question.

    A statement shares most words with a question, too, but not those that ask.
    """
    words, asked = text.text.split(), question.text.split()
    size = _RUN_OF_CHARACTERS if has_unspaced(question.text) else _RUN
    runs = _runs(asked, size)
    at = next((index for index, word in enumerate(asked) if word in QUESTION_WORDS), None)
    asking = set(runs) if at is None else set(runs[min(at, len(runs) - 1) :][:1])
    known = set(runs)
    found = [index for index, run in enumerate(_runs(words, size)) if run in known]
    repeated = {tuple(words[index : index + size]) for index in found}
    if not runs or not asking <= repeated or len(repeated) < ECHO * len(known):
        return None
    echoed = {index + step for index in found for step in range(size)}
    return Line([word for index, word in enumerate(words) if index not in echoed])


def _runs(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(size)), strict=False))


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
