"""How far each statement of a report stands in the others, and where another one gives another value.

A statement stands in a report when one of its sentences holds most of the statement's words, weighed by how rare they
are among the sentences of the pool; words of the prompt weigh nothing. Sentences are found by an inverted index, the
rarest words first and a bounded number of them, so that the time grows with the length of the reports.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from math import log

from tracerank.reports.sentences import Span
from tracerank.reports.statements import Report, Sentence, Statement
from tracerank.reports.values import Value, agree, read_words

STANDS = 0.6
"""Share of a statement's words, by weight, that a sentence of another report must hold."""
STANDS_ANYWAY = 0.85
"""The same where its values are not all there."""
SAME_FRAME = 0.5
"""Share of the words around a value that another report must use with another value."""
MAX_VISITS = 600
"""Sentences that are looked at for one statement, those with its rarest words first."""
MAX_READ = 12
"""Of these, how many are compared word by word."""


@dataclass(frozen=True, slots=True)
class Match:
    """A statement of one report found in a sentence of another."""

    report: int
    sentence: Span
    share: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another report says the same with another value."""

    report: int
    sentence: Span
    here: tuple[Value, ...]
    there: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """What the other reports say to one statement."""

    matches: tuple[Match, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    shares: tuple[float, ...] = ()
    """For each other report, how much of the statement its best sentence holds."""


class PoolIndex:
    """All sentences of a pool's reports by their words."""

    def __init__(self, prompt: str, reports: Sequence[Report]) -> None:
        self._reports = reports
        self._topic = frozenset(read_words(prompt).content)
        self._known: dict[tuple[int, frozenset[str], tuple[Value, ...], bool], Support] = {}
        distinct: dict[tuple[int, frozenset[str]], Sentence] = {}
        for number, report in enumerate(reports):
            for sentence in report.sentences:
                distinct.setdefault((number, sentence.tokens), sentence)
        self._owners = [number for number, _ in distinct]
        self._sentences = list(distinct.values())
        self._holding: dict[str, list[int]] = {}
        for index, sentence in enumerate(self._sentences):
            for token in sentence.tokens:
                self._holding.setdefault(token, []).append(index)

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """Token to what it weighs."""
        count = len(self._sentences) + 1
        return {
            token: 0.0 if token in self._topic else max(0.05, log(count / (len(held) + 0.5)))
            for token, held in self._holding.items()
        }

    def support(self, owner: int, statement: Statement) -> Support:
        """What the others say to a statement of the report ``owner``."""
        key = (owner, statement.words, statement.values, statement.is_negative)
        if key not in self._known:
            self._known[key] = self._support(owner, statement)
        return self._known[key]

    def _support(self, owner: int, statement: Statement) -> Support:
        weights = {token: self.weights[token] for token in statement.tokens}
        total = sum(weights.values())
        if not total:  # it only repeats the prompt
            return Support()
        best: dict[int, tuple[float, int]] = {}
        agreeing: set[int] = set()
        conflicts: dict[int, Conflict] = {}
        for index in self._candidates(owner, weights):
            other, sentence = self._owners[index], self._sentences[index]
            share = sum(weight for token, weight in weights.items() if token in sentence.tokens) / total
            if share > best.get(other, (0.0, 0))[0]:
                best[other] = (share, index)
            if statement.values and other not in agreeing:
                there = [value for each in sentence.statements for value in each.values]
                if self._frame(statement, sentence.tokens) >= SAME_FRAME:
                    if all(agree(value, there) for value in statement.values):
                        agreeing.add(other)
                    elif other not in conflicts:
                        found = self._conflict(other, statement, sentence)
                        if found is not None:
                            conflicts[other] = found
        matches = tuple(
            Match(other, self._sentences[index].span, share)
            for other, (share, index) in sorted(best.items())
            if share >= STANDS and (not statement.values or other in agreeing or share >= STANDS_ANYWAY)
        )
        shares = tuple(best.get(other, (0.0, 0))[0] for other in range(len(self._reports)) if other != owner)
        return Support(matches, tuple(each for other, each in sorted(conflicts.items()) if other not in agreeing), shares)

    def _candidates(self, owner: int, weights: Mapping[str, float]) -> list[int]:
        """The sentences of other reports that share most, as far as the rarest words tell."""
        held: Counter[int] = Counter()
        visits = 0
        for token in sorted(weights, key=lambda token: (-weights[token], token)):
            weight = weights[token]
            if not weight or visits >= MAX_VISITS:
                break
            postings = self._holding[token][: MAX_VISITS - visits]
            visits += len(postings)
            for index in postings:
                held[index] += weight  # type: ignore[assignment]
        others = [(weight, -index) for index, weight in held.items() if self._owners[index] != owner]
        return [-index for _, index in nlargest(MAX_READ * max(1, len(self._reports) - 1), others)]

    def _frame(self, statement: Statement, tokens: Iterable[str]) -> float:
        """The share of the words around a statement's values that stand among the tokens."""
        words = {word: self.weights[word] for word in statement.words}
        total = sum(words.values())
        held = set(tokens)
        return sum(weight for word, weight in words.items() if word in held) / total if total else 0.0

    def _conflict(self, other: int, statement: Statement, sentence: Sentence) -> Conflict | None:
        """The values of one kind that differ; a clause with the same words decides, before its sentence."""
        for each in sentence.statements:
            if not each.values or self._frame(statement, each.words) < SAME_FRAME:
                continue
            for kind in dict.fromkeys(value.kind for value in statement.values):
                here = tuple(value for value in statement.values if value.kind == kind)
                there = tuple(value for value in each.values if value.kind == kind)
                if there and not any(agree(value, there) for value in here):
                    return Conflict(other, each.span, here, there)
        return None
