"""The statements of a report: its clauses with their content words, values and polarity, before any comparison."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracerank.reports.sentences import Span, clauses, masked, sentences, shown
from tracerank.reports.values import Value, Words, read_words

MIN_CONTENT = 3
"""Content words and values that a clause needs to stand for itself; a shorter one belongs to its neighbour."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause of a report."""

    span: Span
    words: frozenset[str]
    """Content words, stemmed; values are not among them."""
    values: tuple[Value, ...]
    is_negative: bool
    tokens: frozenset[str]
    """Words and values, as they are looked up."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a report with its clauses."""

    span: Span
    statements: tuple[Statement, ...]
    tokens: frozenset[str]


@dataclass(frozen=True, slots=True)
class Report:
    """A long answer, read."""

    text: str
    plain: str
    """Without marks and citations, offset by offset the same."""
    sentences: tuple[Sentence, ...]
    counts: Counter[str]
    """How often each content word or value stands in it."""

    def shown(self, span: Span) -> str:
        """A part on one line, without marks."""
        return shown(self.plain, span)


def read_report(text: str) -> Report:
    """Cut a report into sentences and statements."""
    plain = masked(text)
    read = tuple(_sentence(plain, span) for span in sentences(text, plain))
    counts = Counter(token for sentence in read for token in sentence.tokens)
    return Report(text, plain, read, counts)


def _sentence(plain: str, span: Span) -> Sentence:
    statements = tuple(_statements([(part, read_words(plain[part.start : part.end])) for part in clauses(plain, span)]))
    return Sentence(span, statements, frozenset().union(*(each.tokens for each in statements)))


def _statements(parts: Sequence[tuple[Span, Words]]) -> Iterator[Statement]:
    """Clauses joined until each has enough to say; what is left over belongs to the last."""
    groups: list[list[tuple[Span, Words]]] = []
    said = MIN_CONTENT
    for part in parts:
        if said >= MIN_CONTENT:
            groups.append([])
            said = 0
        groups[-1].append(part)
        said += len(part[1].content) + len(part[1].values)
    if said < MIN_CONTENT and len(groups) > 1:
        rest = groups.pop()
        groups[-1] += rest
    for group in groups:
        content = frozenset(word for _, words in group for word in words.content)
        values = tuple(dict.fromkeys(value for _, words in group for value in words.values))
        yield Statement(
            Span(group[0][0].start, group[-1][0].end),
            content,
            values,
            any(words.is_negative for _, words in group),
            content.union(value.token for value in values),
        )
