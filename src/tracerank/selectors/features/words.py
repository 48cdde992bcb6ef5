"""Texts as lines of plain words, so that an answer is found in evidence by one search in a string.

Coarser than the answer layer's keys: nothing is decided here, only counted.
"""

import re
import unicodedata
from dataclasses import dataclass

from tracerank.answers.english import words as listed

LONGEST_TEXT = 40_000
"""Characters that are read of one text."""
_MARKS = re.compile("[\u0300-\u036f]")
_POSSESSIVE = re.compile(r"['’]s\b")
_APOSTROPHES = str.maketrans("", "", "'’`´")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset(("a", "an", "the"))

FUNCTION_WORDS = frozenset(
    listed(
        "of in on at to for from by with and or as is was were are be been being it its this that these those he she "
        "they his her their him them who whom whose which what when where why how do does did has have had will would "
        "can could may might not also but than then so such into about if there both between same name"
    )
)
"""Words that say nothing about the subject of a question."""


@dataclass(frozen=True, slots=True)
class Line:
    """A text as words."""

    text: str
    """The words with single spaces between and around them, so that `` paris `` is found only as a word."""
    words: frozenset[str]


def words_of(text: str) -> list[str]:
    """Lower case, without accents, punctuation, possessives and articles; 1,000 is 1000."""
    text = text[:LONGEST_TEXT].lower()
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text).translate(_APOSTROPHES)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return [word for word in _WORD.findall(text) if word not in _ARTICLES]


def line_of(text: str) -> Line:
    """The text as a line."""
    words = words_of(text)
    return Line(f" {' '.join(words)} ", frozenset(words))


def content_words(words: list[str]) -> list[str]:
    """Those that carry a subject; all of them when none does."""
    return [word for word in words if word not in FUNCTION_WORDS] or words
