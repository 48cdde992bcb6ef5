"""The words of a text with its numbers and dates as values: ``#23`` a number, ``@1769-8-3`` a date.

Parts of a date may be missing: ``@1793-4`` a month, ``@-9-6`` a day of any year, ``@1981`` a year. The values are
those of ``answers/value_scan.py``; here they become words, and words are compared.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from zlib import crc32

from tracerank.answers.meaning.words import word_likeness
from tracerank.answers.text_keys import bounded_cache, fold, without_accents
from tracerank.answers.value_scan import may_hold_values, scanned
from tracerank.answers.values import DATE, DECADE, NUMBER, NUMERAL, ORDINAL, Value, rounds

_TOKEN = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+[a-z]*|(?:[a-z]\.){2,}|[^\W\d_]+(?:'[^\W\d_]+)*|[%$£€]")
_NOISE = re.compile(r"\[[0-9]{1,3}\]|【[^【】]{0,80}】|https?://\S+")
_ORDINAL = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}|2100")
_MAX_WORD = 250
"""Letters, or digits of a number: no float holds more, whatever multiplies them."""
_LONG_NAMES = {"united states of america": "usa", "united states": "usa", "united kingdom": "uk", "great britain": "uk"}
_LONG_NAMES |= {"nyc": "new york city", "per cent": "percent", "wwii": "World War II", "ww2": "World War II"}
_LONG_NAMES |= {"wwi": "World War I", "ww1": "World War I"}
_LONG_NAME = re.compile(rf"\b(?:{'|'.join(_LONG_NAMES)})\b", re.I)
_FIRST_OF_LONG = frozenset(name.split()[0] for name in _LONG_NAMES)
_MERE_WORDS = re.compile(r"[A-Za-z ,;:?!\"()-]*")
_WORD = re.compile(r"[a-z]+")


@bounded_cache(16384, 300)  # clauses and cores of a pool's answers are the same spans again and again
def tokens(text: str) -> tuple[str, ...]:
    """Lower-case words without accents, and values."""
    has_values = may_hold_values(text)
    if not has_values and _MERE_WORDS.fullmatch(text) and len(text) <= _MAX_WORD:
        found = _WORD.findall(text.lower())
        if _FIRST_OF_LONG.isdisjoint(found):
            return tuple(found)
    text = without_accents(fold(text))
    if "[" in text or "【" in text or "://" in text:
        text = _NOISE.sub(" ", text)
    text = _LONG_NAME.sub(lambda name: _LONG_NAMES[name[0].lower()], text)
    said: list[str] = []
    at = 0
    for value in scanned(text) if has_values else ():
        if value.start >= at and (token := _token(value)):
            said += _words(text[at : value.start])
            said.append(token)
            at = value.stop or value.end
    return (*said, *_words(text[at:]))


def _words(text: str) -> Iterator[str]:
    for word in _TOKEN.findall(text.lower()):
        if len(word) > _MAX_WORD:
            yield _digested(word)
        elif "0" <= word[-1] <= "9":
            digits = word.replace(",", "")
            yield f"@{word}" if _YEAR.fullmatch(word) else f"#{int(digits)}"
        else:
            yield _bare(word)


def _token(value: Value) -> str:
    """A value as a word; empty: its digits stand for themselves."""
    if value.kind == DATE:
        year, month, day = value.parts
        if month:
            return "@" + "-".join(str(part or "") for part in value.parts[: 3 if day else 2]) if year or day else ""
        return f"@{year}" if _YEAR.fullmatch(str(year)) else ""
    if value.kind == ORDINAL:
        return _ordinal(int(value.number))
    if value.kind == DECADE:
        return f"{value.number:.0f}s"
    if value.kind == NUMERAL or (value.kind == NUMBER and value.count):
        return f"#{_plain(value.count or value.number)}"
    return ""


def _digested(word: str) -> str:
    """What stands for a word of thousands of letters, which would be compared, and kept, again and again."""
    return f"{word[:_MAX_WORD]}{crc32(word.encode('utf-8', 'replace')):08x}"


def is_value(token: str) -> bool:
    """Whether a token is a number or a date."""
    return token[0] in "#@"


def likeness(a: str, b: str) -> float:
    """How far two tokens say the same; numbers and dates never nearly do."""
    if a == b:
        return 1.0
    is_a, is_b = a[0] in "#@", b[0] in "#@"
    if is_a or is_b:
        if is_a and is_b:
            return _values_agree(a, b)
        number, word = (a, b) if is_a else (b, a)
        return 0.9 if word[0].isdigit() and _ORDINAL.fullmatch(word) and number == f"#{word[:-2]}" else 0.0
    return word_likeness(a, b)


@lru_cache(maxsize=16384)
def _values_agree(a: str, b: str) -> float:
    if a[0] == b[0] == "#":
        return 0.9 if rounds(float(a[1:]), float(b[1:])) else 0.0
    if "-" not in a[1:] + b[1:]:
        return float(a[1:] == b[1:])
    parts = [(x, y) for x, y in zip(_parts(a), _parts(b), strict=True) if x and y]
    return 0.9 if parts and all(x == y for x, y in parts) else 0.0


def _parts(day: str) -> tuple[str, str, str]:
    year, month, number = (*day[1:].split("-"), "", "")[:3]
    return year, month, number


def _bare(token: str) -> str:
    if "." in token and token[0].isalpha():
        return token.replace(".", "")  # U.S.
    return token.removesuffix("'s").replace("'", "") or token


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
