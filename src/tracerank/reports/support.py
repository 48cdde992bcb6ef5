"""How far each statement of a report stands in the others, and where another one gives another value.

A statement stands in a report when one of its sentences holds most of the statement's words, weighed by how rare they
are in the pool, and its values. A report contests it that says most of the words around a value with other values of
the same kind, and nowhere the same ones. A value that is more exact, rounded or within a bound is no other value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracerank.reports.index import SentenceIndex, share
from tracerank.reports.relations import PoolRelations, opposed, proper_words
from tracerank.reports.sentences import Span
from tracerank.reports.statements import Report, Sentence, Statement
from tracerank.reports.values import Value, agree, as_written, exclude, read_words, same_amounts

STANDS = 0.6
"""Share of a statement's words, by weight, that a sentence of another report must hold."""
STANDS_ANYWAY = 0.85
"""The same where its values are not all there."""
MAX_VALUES = 8
"""A clause with more values is a table or a listing: its values are only looked for as they are."""
ALIKE, ALIKE_LONGER = 0.75, 0.4
"""Shares of the words of the shorter and of the longer statement that both have, where one denies the other."""
MAX_QUOTED = 400
"""Characters of a sentence that is quoted from another report."""
SAME_FRAME = 0.5
"""Share of the words around a value that another report must use with another value."""
OTHER_FRAME = 0.3
"""Share of the other's words that this one must have for it."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A sentence of another report that says a claim, or says it with another value."""

    report: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Contradiction(Elsewhere):
    """A sentence or clause with another value or name, or one that denies the claim."""

    here: tuple[str, ...]
    """The values of the claim, as they are written."""
    there: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """What the other reports say to one statement."""

    where: tuple[Elsewhere, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    score: float = 0.0
    """Mean over the other reports of how much of the statement their best sentence holds; 0 where one contests it."""


class PoolSupport:
    """The reports of a pool, ready to be asked for what each says to a statement of another."""

    def __init__(self, prompt: str, reports: Sequence[Report]) -> None:
        self.topic = frozenset(read_words(prompt).content)
        self.index = SentenceIndex(reports, self.topic)
        self._relations = PoolRelations(reports, self.topic, self.index)
        self._reports = reports
        self._others = max(1, len(reports) - 1)
        self._known: dict[tuple[int, frozenset[str], tuple[Value, ...], bool], Support] = {}
        self._quoted: dict[tuple[int, Span], Elsewhere] = {}

    def of(self, owner: int, statement: Statement) -> Support:
        """What the others say to a statement of the report ``owner``."""
        key = (owner, statement.words, statement.values, statement.is_negative)
        if key not in self._known:
            self._known[key] = self._support(owner, statement)
        return self._known[key]

    def _support(self, owner: int, statement: Statement) -> Support:
        text = self._text(owner, statement.span)
        weights = self.index.weights_of(statement.tokens)
        frame = {word: weights[word] for word in statement.words}
        is_listing = len(statement.values) > MAX_VALUES
        best: dict[int, tuple[float, int]] = {}
        agreeing: set[int] = set()
        valued: dict[int, Contradiction] = {}
        contested = {
            other: self._contradiction(other, there.sentence, [here.text], [there.text])
            for other, here, there in self._relations.against(owner, statement.span)
        }
        for at_most, index in self.index.nearest(weights, owner):
            other, sentence = self.index.owners[index], self.index.sentences[index]
            if other in best and at_most <= best[other][0] and (not statement.values or other in agreeing):
                continue
            held = share(weights, sentence.tokens)
            best[other] = max(best.get(other, (0.0, 0)), (held, -index))
            if other not in contested and held >= ALIKE_LONGER and (found := self._denial(text, statement, index)):
                contested[other] = found
            if statement.values and share(frame, sentence.tokens) >= SAME_FRAME:
                if has_values(sentence, statement):
                    agreeing.add(other)
                elif is_listing or other in valued:
                    continue
                elif found := self._conflict(text, statement, frame, index):
                    valued[other] = found
        contested |= {other: found for other, found in valued.items() if other not in agreeing}
        where = []
        for other, (held, index) in sorted(best.items()):
            span = self.index.sentences[-index].span
            if other in contested or held < STANDS:
                continue
            if stands(held, not statement.values or other in agreeing) or same_amounts(text, self._text(other, span)):
                where.append(self._elsewhere(other, span))
        score = sum(held for other, (held, _) in best.items() if other not in contested) / self._others
        return Support(tuple(where), tuple(contested[other] for other in sorted(contested)), score)

    def _conflict(
        self, text: str, statement: Statement, frame: Mapping[str, float], index: int
    ) -> Contradiction | None:
        """A clause of a sentence that has other values with the same words."""
        other = self.index.owners[index]
        for each in self.index.sentences[index].statements:
            if not 0 < len(each.values) <= MAX_VALUES or share(frame, each.words) < SAME_FRAME:
                continue
            said = self._text(other, each.span)
            if share(self.index.weights_of(each.words), statement.words) < OTHER_FRAME or self._of_others(text, said):
                continue
            for kind in dict.fromkeys(value.kind for value in statement.values):
                here, there = ([one for one in of.values if one.kind == kind] for of in (statement, each))
                if there and not any(agree(value, there) for value in here) and exclude(text, said, kind):
                    return self._contradiction(other, each.span, as_written(text, here), as_written(said, there))
        return None

    def _of_others(self, one: str, other: str) -> bool:
        """Whether each of two texts names something that the other does not: then they are about different things."""
        ours, theirs = (proper_words(text) - self.topic for text in (one, other))
        return bool(ours - theirs and theirs - ours)

    def _denial(self, text: str, statement: Statement, index: int) -> Contradiction | None:
        """A clause of a sentence that denies what this one says, or says what it denies, in the same words."""
        other = self.index.owners[index]
        for each in self.index.sentences[index].statements:
            shorter, longer = sorted((len(each.tokens - self.topic), len(statement.tokens - self.topic)))
            common = len(each.tokens & statement.tokens - self.topic)
            is_alike = common >= max(ALIKE * shorter, ALIKE_LONGER * longer, 1)
            if each.is_negative == statement.is_negative or not is_alike:
                continue
            if found := opposed(text, self._text(other, each.span)):
                return self._contradiction(other, each.span, found[:1], found[1:])
        return None

    def _text(self, report: int, span: Span) -> str:
        return self._reports[report].plain[span.start : span.end]

    def _elsewhere(self, report: int, span: Span) -> Elsewhere:
        if (report, span) not in self._quoted:
            text = self._reports[report].shown(span)[:MAX_QUOTED]
            self._quoted[report, span] = Elsewhere(report, text, *span)
        return self._quoted[report, span]

    def _contradiction(self, report: int, span: Span, here: Iterable[str], there: Iterable[str]) -> Contradiction:
        quoted = self._elsewhere(report, span)
        return Contradiction(report, quoted.text, *span, tuple(here), tuple(there))


def stands(held: float, has_all_values: bool) -> bool:
    """Whether a text that holds a share of a statement's words says it."""
    return held >= STANDS_ANYWAY or (held >= STANDS and has_all_values)


def has_values(sentence: Sentence, statement: Statement) -> bool:
    """Whether each value of the statement agrees with one of the sentence."""
    if len(statement.values) > MAX_VALUES:
        return all(value.token in sentence.tokens for value in statement.values)
    there = [value for each in sentence.statements for value in each.values[:MAX_VALUES]]
    return all(value.token in sentence.tokens or agree(value, there) for value in statement.values)
