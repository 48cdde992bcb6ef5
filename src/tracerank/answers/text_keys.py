"""Texts made comparable: invisible characters, spaces, dashes, quotes, numerals and accents; and their words."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from tracerank.answers.latex import plain_latex

INVISIBLE = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063"
INVISIBLE += "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
SPACES = "\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_READABLE = str.maketrans(dict.fromkeys(INVISIBLE) | dict.fromkeys(SPACES, " "))
_RUN_OF_SPACES = re.compile(r"  +")
_THOUSANDS_GAP = re.compile("(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))")
_INDENTED = re.compile(r"[\r\n]([ \t]+)(?=\S)")
_SAME_LOOK = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bb\u02bc\u02bf\u02b9\u00b4\u0060", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | {"\u2044": "/", "\u2215": "/"}
    # NFKC would turn 10² into 102 and 5½ into 51/2.
    | {char: f"^{digit}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
    | {char: f" {unicodedata.normalize('NFKC', char)}" for char in "¼½¾⅓⅔⅛⅜⅝⅞⅕⅖⅗⅘⅙⅚"}
)


def readable(text: str) -> str:
    """The text as written, without invisible characters, every horizontal space a single plain one, lines trimmed."""
    return with_edges(text).strip()


def with_edges(text: str) -> str:
    """The same with what may stand at both ends."""
    if text.isascii() and text.isprintable() and "  " not in text:  # most answers are as they should be
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_READABLE)
    return _RUN_OF_SPACES.sub(" ", text).replace(" \n", "\n").replace("\n ", "\n")


def comparable(text: str) -> str:
    """What two answers are compared by: readable, LaTeX as plain text. Never what is returned."""
    if "\\" in text or "{,}" in text or "$" in text:
        text = plain_latex(text)
    return readable(text if text.isascii() else _THOUSANDS_GAP.sub("", text))


def trimmed(text: str, start: int = 0, end: int | None = None) -> str:
    """What stands between two places without the white space around it.

    The first line keeps its indentation where another line has as much or less: without it, code and lists would mean
    something else.
    """
    part = text if start == 0 and end is None else text[start:end]
    bare = part.strip()
    if "\n" not in bare and "\r" not in bare:
        return bare
    at = len(part) - len(part.lstrip())
    line = at
    while line and part[line - 1] in " \t":
        line -= 1
    indentation = _width(part[line:at])
    is_shared = indentation > 0 and any(_width(found[1]) <= indentation for found in _INDENTED.finditer(bare))
    return part[line : at + len(bare)] if is_shared else bare


def _width(indentation: str) -> int:
    return len(indentation.expandtabs())


def fold(text: str) -> str:
    """For comparison: NFKC on one line, with plain spaces, dashes, quotes, fraction bars and numerals; case is kept."""
    if not text.isascii():
        text = text.translate(_READABLE).translate(_SAME_LOOK)
        text = plain_numerals(unicodedata.normalize("NFKC", text).translate(_READABLE).translate(_SAME_LOOK))
    else:
        text = text.replace("`", "'")
    return " ".join(text.split())


_DIGITS = "〇零一二三四五六七八九"
_VALUES = str.maketrans(_DIGITS, "00123456789")
_SCALES = "十百千万萬亿億"
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_HAN_NUMERAL = re.compile(rf"[{_DIGITS}十]")
_BEHIND_NONE = rf"(?<![{_DIGITS}{_SCALES}])"
_DIGIT_BY_DIGIT = re.compile(rf"{_BEHIND_NONE}[{_DIGITS}]{{4,}}(?![{_DIGITS}{_SCALES}])")
# Of a date: elsewhere such characters are parts of names.
_UP_TO_39 = re.compile(rf"{_BEHIND_NONE}(?:([二三]?)十([{_DIGITS[2:]}]?)|([{_DIGITS[2:]}]))(?=月|日(?!本))")


def plain_numerals(text: str) -> str:
    """The text with 0-9 for the decimal digits of any script, for years in Han digits, and for Han days and months."""
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    if _HAN_NUMERAL.search(text):
        text = _DIGIT_BY_DIGIT.sub(lambda number: number[0].translate(_VALUES), text)
        text = _UP_TO_39.sub(_up_to_39, text)
    return text


def _up_to_39(number: re.Match[str]) -> str:
    tens, ones, alone = number.groups()
    return (alone or f"{tens or '一'}{ones or '〇'}").translate(_VALUES)


def without_accents(text: str) -> str:
    """Latin letters without their accents; other scripts are left alone, where marks tell words apart."""
    if text.isascii():
        return text
    if not _BEYOND_LATIN.search(text):
        bare = _MARKS.sub("", unicodedata.normalize("NFD", text))
        return unicodedata.normalize("NFC", bare.translate(_PLAIN_LATIN_TABLE))
    kept: list[str] = []
    is_latin = False
    for char in unicodedata.normalize("NFD", text):
        if unicodedata.combining(char):
            if not is_latin:
                kept.append(char)
            continue
        is_latin = char.isascii()
        kept.append(_PLAIN_LATIN.get(char, char))
    return unicodedata.normalize("NFC", "".join(kept))


_PLAIN_LATIN = {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "AE", "œ": "oe"}
_PLAIN_LATIN |= {"Œ": "OE", "ß": "ss"}
_PLAIN_LATIN_TABLE = str.maketrans(_PLAIN_LATIN)
_BEYOND_LATIN = re.compile("[^\\x00-\u024f\u2010-\u2027]")
_MARKS = re.compile("[\u0300-\u036f]")


_TOKEN = re.compile(r"[0-9]+(?:[.,:/-][0-9]+)*|(?<!\S)-(?=[0-9])|[a-z\x80-\U0010ffff]+|[%$+#]")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])")
_CITATION = re.compile(r"【[^【】]{0,80}】|\[[0-9]{1,3}\]")
_SIGNS = "€£¥°₹₩₽"


def tokens_of(text: str) -> list[str]:
    """The words, numbers and signs of a folded text in lower case; apostrophes and other punctuation are gone."""
    text = _CITATION.sub(" ", text).replace("'", "").replace("&", " and ")
    if not text.isascii():
        text = without_accents(_spaced(text))
    return [_plain_number(token) for token in _TOKEN.findall(text.lower())]


def _spaced(text: str) -> str:
    """Signs and punctuation beyond ASCII parted from the letters; marks belong to their letters."""
    table = {}
    for char in set(text):
        if char in _SIGNS:
            table[ord(char)] = f" {char} "
        elif not char.isascii() and unicodedata.category(char)[0] in "PSZC":
            table[ord(char)] = " "
    return text.translate(table)


def _plain_number(token: str) -> str:
    return token.replace(",", "") if "," in token and _THOUSANDS.match(token) else token


P = ParamSpec("P")
R = TypeVar("R")


def bounded_cache(count: int, characters: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remembers the last results for short texts: of long ones, which anybody may send, a few would fill the memory."""

    def of(function: Callable[P, R]) -> Callable[P, R]:
        kept = lru_cache(maxsize=count)(function)

        @wraps(function)
        def remembered(*args: P.args, **named: P.kwargs) -> R:
            size = 0
            for text in args:
                if isinstance(text, str):
                    size += len(text)
            return kept(*args, **named) if size <= characters else function(*args, **named)  # type: ignore[arg-type]

        remembered.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
        return remembered

    return of


_RUN = re.compile(rf"[ \r\n{SPACES}{INVISIBLE}]+")
_LINE_END = re.compile(r"\r\n?|\n")
_SEEN_SPACE = re.compile(rf"[ {SPACES}]")


@dataclass(frozen=True, slots=True)
class Readable:
    """A text beside its readable form."""

    written: str
    shown: str
    """Readable; patterns are looked for here."""
    _shown_at: tuple[int, ...]
    """Where each stretch of equal characters begins in the one and, below, in the other."""
    _written_at: tuple[int, ...]

    @classmethod
    def of(cls, written: str) -> "Readable":
        body = with_edges(written)
        shown = body.strip()
        if len(shown) == len(written) or shown == written.strip():
            return cls(written, shown, (0,), (len(written) - len(written.lstrip()),))
        length, at = len(body.lstrip()) - len(body), 0  # below nothing: what stands before the first thing to see
        shown_at, written_at = [length], [0]
        for run in _RUN.finditer(written):
            length += run.start() - at + _shown_length(run[0])
            at = run.end()
            shown_at.append(length)
            written_at.append(at)
        return cls(written, shown, tuple(shown_at), tuple(written_at))

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the readable text that begins and ends with something to see stands in the text."""
        return (self._place(start), self._place(end - 1) + 1) if end > start else (self._place(start),) * 2

    def part(self, start: int, end: int) -> str:
        """What was written there, with the indentation of its first line where that matters."""
        first, last = self.locate(start, end)
        line = first
        while line and self.written[line - 1] in " \t":
            line -= 1
        return trimmed(self.written, line, last)

    def _place(self, index: int) -> int:
        stretch = bisect_right(self._shown_at, index) - 1
        return self._written_at[stretch] + index - self._shown_at[stretch]


def _shown_length(run: str) -> int:
    lines = len(_LINE_END.findall(run))
    return lines or int(_SEEN_SPACE.search(run) is not None)
