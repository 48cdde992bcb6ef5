"""Statements with one true answer that is a name, "founded by A", "born in B", and statements that deny.

What a relation is said of is a subject in the same sentence, or the last name that began one. Rather no relation than
a wrong one.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracerank.answers.english import MONTHS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.reports.index import SentenceIndex
from tracerank.reports.sentences import Span
from tracerank.reports.statements import Report
from tracerank.reports.values import read_words, stem

NAME = (
    r"[^\W\d_a-zß-ÿ][\w'’.&-]*"
    r"(?:\s+(?:(?:of|the|de|da|van|von|del|la)\s+){0,2}[^\W\d_a-zß-ÿ][\w'’.&-]*)*"
)
_MADE = words(
    "founded created invented discovered written authored directed composed painted designed built constructed opened "
    "established acquired killed assassinated won commissioned succeeded preceded defeated coined developed owned led"
)
_PLACED = ("born", "died", "buried", "headquartered", "based", "located")
_DATED = r"(?:(?:on |in )?[\w, ]{0,24}?\d{4}\)?,?\s+)?"
_MONTH = "|".join(month.title() for month in MONTHS)
_RELATION = lazy_pattern(
    rf"\b(?:(?P<made>(?i:{'|'.join(_MADE)}))\s+{_DATED}by\s+(?:(?!of\b|in\b)[a-z]+\s+){{0,3}}"
    rf"(?P<makers>{NAME}(?:(?:,|,?\s+and)\s+{NAME})*)"
    rf"|(?P<placed>(?i:{'|'.join(_PLACED)}))\s+{_DATED}(?:in|at|near)\s+(?:the\s+)?"
    rf"(?P<places>(?!(?:{_MONTH})\b){NAME}(?:,\s+{NAME})*))"
)
_STEMS = frozenset(stem(verb) for verb in (*_MADE, *_PLACED))
_SEPARATOR = lazy_pattern(r",\s+(?:and\s+)?|\s+and\s+")
_SUBJECT_STARTS = lazy_pattern(r"[,;:(–—]|\b(?:who|which|that|and|but|where)\b")
_BEGINS_WITH = lazy_pattern(
    rf"(?:The|A|An)\s+([a-z][\w ]{{0,40}}?)\s+(?:is|was|are|were|has|had)\b|(?:The\s+)?({NAME})"
)
_POSSESSIVE = lazy_pattern(r"(?:His|Her|Its|Their|My|Our)\b|[^,.;]{1,60}['’]s\s")
_SAME = {"us": "states", "usa": "states", "america": "states", "uk": "kingdom", "britain": "kingdom"}
_SAME_KIND = {"headquartered": "based", "located": "based", "established": "founded", "created": "founded"}
_SAME_KIND |= {"constructed": "built", "authored": "written"}
_GENERIC = frozenset(stem(noun) for noun in words("company firm organisation organization group band agency business"))
"""Stand for the last name, as "it" does."""
_DENIED = lazy_pattern(
    r"(?i)\b(?:(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would)(?:\s+not|n['’]t)|cannot|never"
    r"|no longer)\s+(?!only\b|just\b|merely\b|simply\b|necessarily\b|always\b|all\b|every\b|until\b)"
    r"(?:(?:an?|the|be|been|ever|yet)\s+)*(\w+)"
)
_HEDGED = lazy_pattern(
    r"(?i)\b(?:some|many|most|few|several|certain|often|usually|sometimes|may|might|if|when|unless)\b"
)
_CAPITALISED = lazy_pattern(r"(?<=[\w,;'’)]\s)[^\W\d_a-zß-ÿ]\w+")

Key = tuple[str, frozenset[str]]


class Relation(NamedTuple):
    """A name in a relation that holds for one name, or for one list of names."""

    kind: str
    """Such as "founded" (by) or "born" (in)."""
    subject: frozenset[str]
    """What it is said of, in content words; empty: no name came before it."""
    names: tuple[frozenset[str], ...]
    """In stemmed words; of a place, the exact one before the wider ones."""
    text: str
    """The names as they are written; of a place, the exact one."""
    start: int
    sentence: Span

    def excludes(self, other: "Relation") -> bool:
        """Whether another one of its kind names something else; "Frankfurt" is a part of "Frankfurt, Germany"."""
        own, others = frozenset().union(*self.names), frozenset().union(*other.names)
        if own.isdisjoint(others):
            return True
        are_exact = self.kind in _PLACED and len(self.names) > 1 and len(other.names) > 1
        return are_exact and self.names[0].isdisjoint(others) and other.names[0].isdisjoint(own)


class PoolRelations:
    """The relations in the reports of a pool, by their kind and what they are said of."""

    def __init__(self, reports: Sequence[Report], topic: frozenset[str], index: SentenceIndex) -> None:
        self._index = index
        self._said: list[list[tuple[int, Key, Relation]]] = []
        self._by_key: dict[Key, dict[int, Relation | None]] = {}
        for number, report in enumerate(reports):
            self._said.append([])
            for one in relations(report):
                is_of_topic = 2 * len(one.subject & topic) >= len(one.subject)
                key = one.kind, frozenset() if is_of_topic else one.subject
                self._said[-1].append((one.start, key, one))
                of_key = self._by_key.setdefault(key, {})
                first = of_key.setdefault(number, one)
                if first is not None and first.excludes(one):
                    of_key[number] = None  # of several things, or one that may have several names

    def against(self, owner: int, span: Span) -> Iterator[tuple[int, Relation, Relation]]:
        """The reports that name something else than a part of the owner's, with both relations."""
        said = self._said[owner]
        first, last = (bisect_left(said, (offset,)) for offset in span)
        for _, key, here in said[first:last]:
            of_key = self._by_key[key]
            for other, there in of_key.items() if of_key[owner] is not None else ():
                if there is not None and here.excludes(there) and not self._index.holds(here.names[0] | there.names[0]):
                    yield other, here, there


def relations(report: Report) -> Iterator[Relation]:
    """The relations in a report, in their order."""
    current: frozenset[str] = frozenset()
    for sentence in report.sentences:
        span = sentence.span
        text = report.plain[span.start : span.end]
        begins = _BEGINS_WITH.match(text)
        current = (_content(begins[1] or begins[2]) - _GENERIC if begins else None) or current
        may_relate = not _STEMS.isdisjoint(sentence.tokens) or "based" in text  # "based" is no content word
        if not may_relate or _POSSESSIVE.match(text):
            continue
        for found in _RELATION.finditer(text):
            group = "makers" if found["made"] else "places"
            listed = _SEPARATOR.split(found[group])
            if names := tuple(filter(None, map(_content, listed))):
                subject = _subject(text, found.start(), found.end()) - _GENERIC or current
                said = " ".join((found[group] if found["made"] else listed[0]).rstrip(".").split())
                start = span.start + found.start(group)
                kind = (found["made"] or found["placed"]).lower()
                yield Relation(_SAME_KIND.get(kind, kind), subject, names, said, start, span)


def _subject(text: str, start: int, end: int) -> frozenset[str]:
    """The content words before a relation in its clause, or the first ones behind one that begins the sentence."""
    if not text[:start].strip():
        return frozenset(read_words(text[end : end + 60]).content[:2])
    return _content(_SUBJECT_STARTS.split(text[:start])[-1])


def _content(text: str) -> frozenset[str]:
    """The stems of a name, or of any words."""
    return frozenset(_SAME.get(word, word) for word in read_words(text.replace(".", "")).content)


def proper_words(text: str) -> frozenset[str]:
    """The stems of the capitalised words in a text, but for its first word."""
    return frozenset(read_words(" ".join(_CAPITALISED.findall(text))).content)


def opposed(one: str, other: str) -> tuple[str, str] | None:
    """Where one of two texts denies what the other says, the words of both: "was not opened", "opened"."""
    if (found := _opposed(one, other)) is not None:
        return found
    return None if (found := _opposed(other, one)) is None else (found[1], found[0])


def _opposed(denying: str, stating: str) -> tuple[str, str] | None:
    found = list(_DENIED.finditer(denying))
    if len(found) != 1 or any(map(_HEDGED.search, (denying, stating))):
        return None
    denied = stem(found[0][1].lower())
    return next(((found[0][0], word) for word in stating.split() if stem(word.lower().strip(".,;")) == denied), None)
