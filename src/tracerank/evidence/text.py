"""Texts as lines of plain words, so that an answer is found in one by one search in a string.

Where scripts part words by nothing, characters are the words (``answers/scripts.py``). How an answer stands in a text
is in ``forms.py``: no answers here, no pools, no features.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache, lru_cache
from itertools import filterfalse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.english import words as listed
from tracerank.answers.scripts import (
    has_unspaced,
    likely_words,
    parted,
    split_words,
    terms_held,
    terms_of,
)

LONGEST_TEXT = 40_000
"""Characters that are read of one text."""
SHORT_TEXT = 1_000
"""Characters of a text that is read in one go with others; a longer one gains nothing."""
_MARKS = re.compile("[\u0300-\u036f]")
_POSSESSIVE = re.compile(r"['’]s\b")
_OWN = re.compile(r"'[sS]\b")  # of ASCII: a sign alone is looked for quickly
_APOSTROPHES = str.maketrans("", "", "'’`´")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}\b)")  # the sign first: it is looked for quickly
_WORD = re.compile(r"[^\W_]+")
_PLAIN = bytes(code if code < 128 and chr(code).isalnum() else 32 for code in range(256)).lower()
"""Lower case, and blanks for all of ASCII that is no word: parts what ``_WORD`` does, in a quarter of the time."""
_MARK = "\x01"
_BETWEEN = f" {_MARK} "
"""What parts texts that are read in one go: a word of its own that no text should have."""
_PLAIN_BUT_MARK = bytes(code if chr(code) == _MARK else plain for code, plain in enumerate(_PLAIN))
_ASCII = bytes(range(128))
_FEW_SIGNS = 40
"""Distinct signs beyond ASCII that are replaced one by one."""
_ARTICLES = frozenset(("a", "an", "the"))

FUNCTION_WORDS = frozenset(
    listed(
        "of in on at to for from by with and or as is was were are be been being it its this that these those he she "
        "they his her their him them who whom whose which what when where why how do does did has have had will would "
        "can could may might not also but than then so such into about if there both between same name"
    )
)
"""Words that say nothing about the subject of a question."""


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
        """What it can be asked for: its words, and terms where characters are the words; many are never asked."""
        if self._words is None:
            self._words = frozenset(terms_held(self.text) if _has_unspaced(self.text) else self._parts)
        return self._words

    @property
    def held(self) -> Container[str]:
        """The same, to be asked whether a word is among them."""
        return self.words

    @property
    def is_ascii(self) -> bool:
        return self.text.isascii()


class LongLine(Line):
    """The line of a long text in ASCII, parted into words when more is asked than whether it has one of them."""

    __slots__ = ("_flat",)

    def __init__(self, flat: bytes) -> None:
        """``flat`` has the words with blanks between and around them, articles among them."""
        self._flat = flat
        self._words = None

    def __getattr__(self, name: str) -> Any:
        if name not in ("text", "_parts"):
            raise AttributeError(name)
        super().__init__([word for word in self._flat.decode().split() if word not in _ARTICLES])
        return getattr(self, name)

    def __contains__(self, word: object) -> bool:
        return (
            isinstance(word, str) and b" %b " % word.encode("utf-8", "replace") in self._flat and word not in _ARTICLES
        )

    @property
    def held(self) -> Container[str]:
        return self

    @property
    def is_ascii(self) -> bool:
        return True


def words_of(text: str) -> list[str]:
    """Lower case, without accents, punctuation, possessives and articles; 1,000 is 1000."""
    text = _plainer(text[:LONGEST_TEXT])
    if text.isascii():
        return _plain_words(text, _PLAIN)
    text = _MARKS.sub("", unicodedata.normalize("NFKD", text.lower()))
    find_words: Callable[[str], list[str]] = _WORD.findall
    if _has_unspaced(text):
        text, find_words = parted(text), split_words
    if "'" in text or "’" in text:
        text = _POSSESSIVE.sub("", text).translate(_APOSTROPHES)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    return [word for word in find_words(text) if word not in _ARTICLES]


@lru_cache(maxsize=16)  # whoever looks at a pool asks for them
def question_words(question: str) -> tuple[str, ...]:
    """The same of a question."""
    return tuple(words_of(question))


def _plain_words(text: str, table: bytes) -> list[str]:
    """The same of ASCII, with a table of what parts words."""
    words = _without_signs(text).encode().translate(table).decode().split()
    return list(filterfalse(_ARTICLES.__contains__, words))


def _without_signs(text: str) -> str:
    """A text in ASCII without what stands inside of words: possessives, apostrophes, commas of thousands."""
    if "'" in text:
        text = _OWN.sub("", text).replace("'", "").replace("`", "")
    return _THOUSANDS.sub("", text) if "," in text else text


def _plainer(text: str) -> str:
    """The text in ASCII with the same words, where it has accents, dashes and the like; else as it is.

    A page of a thousand words is full of signs that only part them: without those it is read in a third of the time.
    """
    if text.isascii():
        return text
    try:
        signs = set(text.encode().translate(None, _ASCII).decode())
    except UnicodeEncodeError:
        return text
    plain = [(sign, _plain(sign)) for sign in signs] if len(signs) <= _FEW_SIGNS else [("", None)]
    if None in (stead for _, stead in plain):
        return text
    for sign, stead in plain:
        text = text.replace(sign, stead or "")
    return text


@lru_cache(4096)
def _plain(sign: str) -> str | None:
    """What has the same words as a sign beyond ASCII; None: it holds a letter of its own, or a capital (``TM``)."""
    if sign == "’":
        return "'"
    parts = _MARKS.sub("", unicodedata.normalize("NFKD", sign.lower()))
    if any(not part.isascii() and (part.isalnum() or part == "’") for part in parts) or _has_unspaced(parts):
        return None
    plain = "".join(part if part.isascii() else " " for part in parts)
    return plain if plain == plain.lower() else None


def _has_unspaced(text: str) -> bool:
    return not text.isascii() and has_unspaced(text)


_UNKNOWN, _NOT_ONE = 255, 254
"""Of a character: nobody has asked what it is, or that it is not one character of ASCII."""


@cache
def _plain_codes() -> NDArray[np.uint8]:
    """What stands for each code of UTF-16 in a plain text in lower case; filled as characters are met."""
    codes = np.full(1 << 16, _UNKNOWN, np.uint8)
    codes[:128] = np.frombuffer(_ASCII.lower(), np.uint8)
    codes[0xD800:0xE000] = _NOT_ONE
    return codes


def _flat(text: str) -> bytes | None:
    """The words of a text, and articles, with blanks between and around them; None: it takes a closer look.

    One look at a table for each character: a page has many that are not ASCII, but stand for one that is.
    """
    try:
        codes = np.frombuffer(text.encode("utf-16-le"), np.uint16)
    except UnicodeEncodeError:
        return None
    known = _plain_codes()
    plain = known.take(codes, mode="wrap").tobytes()  # without a check of bounds: every code has a place
    if _UNKNOWN in plain:
        for code in set(codes[known[codes] == _UNKNOWN].tolist()):
            stead = _plain(chr(code))
            known[code] = ord(stead) if stead is not None and len(stead) == 1 else _NOT_ONE
        plain = known.take(codes, mode="wrap").tobytes()
    if _NOT_ONE in plain:
        return None
    if b"'" in plain or b"," in plain:
        plain = _without_signs(plain.decode()).encode()
    return b" %b " % plain.translate(_PLAIN)


def line_of(text: str) -> Line:
    """The text as a line."""
    if len(text) > SHORT_TEXT and (flat := _flat(text[:LONGEST_TEXT])) is not None:
        return LongLine(flat)
    return Line(words_of(text))


def lines_of(texts: Sequence[str]) -> list[Line]:
    """The lines of some short texts, all read in one go: each step has its price."""
    joined = _plainer(_BETWEEN.join(texts))
    # Whether a grave accent parts words hangs on other signs of its own text.
    if not joined.isascii() or "`" in joined or joined.count(_MARK) >= len(texts):
        return list(map(line_of, texts))
    words = _plain_words(joined, _PLAIN_BUT_MARK)
    found, start = [], 0
    for _ in texts[1:]:
        end = words.index(_MARK, start)
        found.append(Line(words[start:end]))
        start = end + 1
    return [*found, Line(words[start:])]


class TextLines:
    """Lines of texts, each made once; keep one for all subsets of a pool."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def of(self, text: str) -> Line:
        found = self._lines.get(text)
        if found is None:
            found = self._lines[text] = line_of(text)
        return found

    def read(self, texts: Iterable[str]) -> None:
        """Make the lines of those that are short now, which is quicker than one by one."""
        new = [text for text in texts if len(text) <= SHORT_TEXT and text not in self._lines]
        plain = [text for text in new if text.isascii()]
        for some in (plain, [text for text in new if not text.isascii()]):
            if some:
                self._lines.update(zip(some, lines_of(some), strict=True))


def words_held(line: str) -> set[str]:
    """What a line, or a piece of one, can be asked for."""
    return terms_held(line) if _has_unspaced(line) else set(line.split())


def terms(words: Sequence[str]) -> Sequence[str]:
    """What to ask a line for: the words, or terms where characters are the words."""
    return terms_of(words) if _has_unspaced("".join(words)) else words


def content_words(words: Sequence[str]) -> Sequence[str]:
    """Those that carry a subject; all of them when none does."""
    return contentful(terms(words))


def contentful(words: Sequence[str]) -> Sequence[str]:
    """The same of words that are terms where they should be."""
    return [word for word in words if word not in FUNCTION_WORDS] or words


def subject_of(question: str, texts: Sequence[Line]) -> Sequence[str]:
    """The content words of the question; where nothing parts words, the texts tell which runs are likely some."""
    words: Sequence[str] = question_words(question)
    if not question.isascii() and has_unspaced(question):
        words = likely_words(words, lambda term: sum(term in text.words for text in texts))
    return contentful(words)


def rarity_of(texts: Sequence[Line], words: Iterable[str]) -> dict[str, float]:
    """Each word's rarity among some texts, never zero: where all texts share a word it still is a word."""
    wanted = frozenset(words)
    counts = Counter(word for text in texts for word in wanted & text.words)
    return {word: math.log((len(texts) + 2) / (counts[word] + 1)) + 0.1 for word in wanted}
