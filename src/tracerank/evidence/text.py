"""Texts as lines of plain words, so that an answer is found in one by one search in a string.

In scripts without spaces, characters are the words (``answers/scripts.py``). How an answer stands in a text
is in ``forms.py``: no answers here, no pools, no features.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import filterfalse

from tracerank.answers.english import words as listed
from tracerank.answers.scripts import has_unspaced, likely_words, parted, split_words, terms_held, terms_of

MAX_TEXT = 40_000
"""Characters that are read of one text."""
_MARKS = re.compile("[\u0300-\u036f]")
_POSSESSIVE = re.compile(r"['’]s\b")
_OWN = re.compile(r"'[sS]\b")  # of ASCII
_APOSTROPHES = str.maketrans("", "", "'’`´")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}\b)")  # the comma first: it is found quickly
_WORD = re.compile(r"[^\W_]+")
_PLAIN = bytes(code if code < 128 and chr(code).isalnum() else 32 for code in range(256)).lower()
"""Lower case, and blanks for all of ASCII that is no word: splits as ``_WORD`` does, in a quarter of the time."""
_ARTICLES = frozenset(("a", "an", "the"))

FUNCTION_WORDS = frozenset(
    listed(
        "of in on at to for from by with and or as is was were are be been being it its this that these those he she "
        "they his her their him them who whom whose which what when where why how do does did has have had will would "
        "can could may might not also but than then so such into about if there both between same name"
    )
)
"""Words that do not belong to the subject of a question."""


class Line:
    """A text as words."""

    __slots__ = ("_parts", "_words", "text")

    def __init__(self, parts: Sequence[str]) -> None:
        self.text = f" {' '.join(parts)} "
        """The words with single spaces between and around them, so that `` paris `` is found only as a word."""
        self._parts = parts
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """Its words, or terms where characters are the words; computed on first use."""
        if self._words is None:
            self._words = frozenset(terms_held(self.text) if has_unspaced(self.text) else self._parts)
        return self._words


def words_of(text: str) -> list[str]:
    """Lower case, without accents, punctuation, possessives and articles; 1,000 is 1000."""
    text = text[:MAX_TEXT]
    if text.isascii():
        return _plain_words(text)
    text = _MARKS.sub("", unicodedata.normalize("NFKD", text.lower()))
    find_words: Callable[[str], list[str]] = _WORD.findall
    if has_unspaced(text):
        text, find_words = parted(text), split_words
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text).translate(_APOSTROPHES)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return [word for word in find_words(text) if word not in _ARTICLES]


@lru_cache(maxsize=16)
def question_words(question: str) -> tuple[str, ...]:
    """The same of a question."""
    return tuple(words_of(question))


def _plain_words(text: str) -> list[str]:
    """The same of ASCII."""
    if "'" in text:
        text = _OWN.sub("", text).replace("'", "").replace("`", "")
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return list(filterfalse(_ARTICLES.__contains__, text.encode().translate(_PLAIN).decode().split()))


class TextLines:
    """Lines of texts, each made once; keep one for all subsets of a pool."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def of(self, text: str) -> Line:
        found = self._lines.get(text)
        if found is None:
            found = self._lines[text] = Line(words_of(text))
        return found


def words_held(line: str) -> set[str]:
    """The words of a line or of a piece of one, or terms where characters are the words."""
    return terms_held(line) if has_unspaced(line) else set(line.split())


def terms(words: Sequence[str]) -> Sequence[str]:
    """What to look for in a line: the words, or terms where characters are the words."""
    return terms_of(words) if has_unspaced("".join(words)) else words


def content_words(words: Sequence[str]) -> Sequence[str]:
    """The words that belong to a subject; all of the words if there are no such words."""
    return contentful(terms(words))


def contentful(words: Sequence[str]) -> Sequence[str]:
    """The same of words that are terms where they should be."""
    return [word for word in words if word not in FUNCTION_WORDS] or words


def subject_of(question: str, texts: Sequence[Line]) -> Sequence[str]:
    """The content words of the question; in scripts without spaces, the texts show which runs are likely words."""
    words: Sequence[str] = question_words(question)
    if has_unspaced(question):
        words = likely_words(words, lambda term: sum(term in text.words for text in texts))
    return contentful(words)


def rarity_of(texts: Sequence[Line], words: Iterable[str]) -> dict[str, float]:
    """Each word's rarity among some texts, never zero: where all texts share a word it still is a word."""
    wanted = frozenset(words)
    counts = Counter(word for text in texts for word in wanted & text.words)
    return {word: math.log((len(texts) + 2) / (counts[word] + 1)) + 0.1 for word in wanted}
