"""Who does something to whom: the first two names of a text with the verb or the comparison between them.

"A was beaten by B" and "B beat A" give the same; a closed list makes verbs and their inverses one.
"""

import re
from typing import NamedTuple

from tracerank.answers.english import words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.values import tokens
from tracerank.answers.meaning.words import STOP, stem

_CAP = r"(?:[A-ZÀ-Þ][\w'’.-]*)"
_NAME = rf"(?:the )?{_CAP}(?: (?:of|de|von|van|the) {_CAP}| {_CAP})*"
_TRIPLE = lazy_pattern(rf"(?P<first>{_NAME}),? (?P<verb>(?:[a-z'-]+ ){{1,6}}?)(?P<second>{_NAME})")
_COMPARED = lazy_pattern(
    r"(?:the |a )?(?P<first>[\w'-]+(?: [\w'-]+){0,3}?) (?:is|was|are|were)(?: \w+)? (?P<verb>\w+er|more \w+|less \w+)"
    r" than (?:the |a )?(?P<second>[\w'-]+(?: [\w'-]+){0,3})",
    re.I,
)
_RELATIONS = {
    "beat": ("beat beaten beats defeated defeats won overcame outscored eliminated", "lost loses"),
    "buy": ("bought acquired purchased buys acquires took takeover", "sold"),
    "teach": ("teacher taught mentor mentored tutor teaches", "pupil student studied disciple"),
    "parent": ("father mother parent", "son daughter child"),
    "precede": ("preceded predecessor", "succeeded followed replaced successor"),
    "more": (
        "higher taller larger bigger older longer greater heavier deeper faster more wider earlier richer stronger",
        "lower shorter smaller younger lighter shallower slower less fewer narrower later poorer weaker",
    ),
}
_RELATION_OF = {
    word: (name, sign)
    for name, pair in _RELATIONS.items()
    for sign, row in zip((1, -1), pair, strict=True)
    for word in row.split()
}
_PASSIVE = frozenset(words("was were is are been being got"))


class Relation(NamedTuple):
    """Who does something to whom."""

    name: str
    first: frozenset[str]
    second: frozenset[str]


def read_relation(text: str) -> Relation | None:
    """The first two names of a text with the verb or comparison between them, the doer first."""
    if " than " in text and (compared := _COMPARED.search(text)):
        return _relation(compared, ["is", *compared["verb"].lower().split()])
    for found in _TRIPLE.finditer(text):
        if made := _relation(found, found["verb"].split()):
            return made
    return None


def _relation(found: re.Match[str], verb: list[str]) -> Relation | None:
    name, sign = next((_RELATION_OF[word] for word in verb if word in _RELATION_OF), ("", 1))
    is_passive = not _PASSIVE.isdisjoint(verb) and verb[-1] == "by"
    if not name:
        told = [word for word in verb if word not in STOP and not word.endswith("ly")]
        if not told or verb[-1] in ("and", "or", "with"):
            return None
        name = stem(told[0])
    first, second = (frozenset(tokens(found[side])) - STOP for side in ("first", "second"))
    if is_passive != (sign < 0):
        first, second = second, first
    return Relation(name, first, second) if first and second else None
