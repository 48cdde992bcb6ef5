"""The words of a text with its numbers and dates as values: ``#23`` a number, ``@1769-8-3`` a date.

Parts of a date may be missing: ``@1793-4`` a month, ``@-9-6`` a day of any year, ``@1981`` a year. Finds them inside
sentences, where ``answers/numbers.py`` reads a text that is nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from zlib import crc32

from tracerank.answers.english import MONTHS
from tracerank.answers.meaning.words import word_likeness
from tracerank.answers.numbers import SMALL_NUMBERS, SMALL_ORDINALS, TENS
from tracerank.answers.text_keys import fold, remembering, without_accents
from tracerank.answers.units import SCALES

_TOKEN = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?![0-9])|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{4}(?![0-9])"
    r"|(?<![\w])'[0-9]{2}(?![0-9])s?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+\.[0-9]+(?![0-9.])|[0-9]+[a-z]*"
    r"|(?:[a-z]\.){2,}|[^\W\d_]+(?:'[^\W\d_]+)*|[%$£€]",
)
_NOISE = re.compile(r"\[[0-9]{1,3}\]|【[^【】]{0,80}】|https?://\S+")
_ROMANS = dict(
    zip(
        ["ii", "iii", "iv", "vi", "vii", "viii", "ix", "xi", "xii", "xiii", "xiv", "xvi", "xvii", "xviii"],
        (*range(2, 5), *range(6, 10), *range(11, 15), *range(16, 19)),
        strict=True,
    )
)
"""Numerals that are no other word or initial."""
_MONTHS = {name: number for number, name in enumerate(MONTHS, start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items() if name != "may"} | {"sept": 9}
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_ORDINAL = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_YEAR = re.compile(r"[0-9]{3,4}")
_NUMBER = re.compile(r"([0-9][0-9,]*(?:\.[0-9]+)?)(k|m|bn|km|kg|cm|mm|ft|mi|th)?")
_CENTURIES = {"nineteen": 19, "eighteen": 18, "seventeen": 17, "sixteen": 16, "fifteen": 15, "twenty": 20}
_NUMBER_WORDS = SMALL_NUMBERS.keys() | TENS.keys()
_SMALL_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_HAS_DIGIT = re.compile(r"[0-9]")
_LONGEST_WORD = 250
"""Letters, or digits of a number: no float holds more, whatever multiplies them."""
_FEW_DIGITS = 2
_LONG_NAMES = {"united states of america": "usa", "united states": "usa", "united kingdom": "uk", "great britain": "uk"}
_LONG_NAMES |= {"nyc": "new york city", "per cent": "percent", "wwii": "world war ii", "ww2": "world war ii"}
_LONG_NAMES |= {"wwi": "world war i", "ww1": "world war i"}
_LONG_NAME = re.compile(rf"\b(?:{'|'.join(_LONG_NAMES)})\b")
_FIRST_OF_LONG = frozenset(name.split()[0] for name in _LONG_NAMES)
_MERE_WORDS = re.compile(r"[A-Za-z ,;:?!\"()-]*")
_WORD = re.compile(r"[a-z]+")
_DECADES = {f"{word[:-1]}ies": value for word, value in TENS.items()}
_DECADE = re.compile(r"'?([1-9]0)'?s")
_SPELT = frozenset((*_NUMBER_WORDS, *_DECADES, *SMALL_ORDINALS, *_SMALL_SCALES, "dozen"))
"""Words that may begin a value without a digit."""
_OPENING = _SPELT.union(_MONTHS, _ROMANS, ("a", "an"))


@remembering(16384, 300)  # clauses and cores of a pool's answers are the same spans again and again
def tokens(text: str) -> tuple[str, ...]:
    """Lower-case words without accents, and values."""
    if _MERE_WORDS.fullmatch(text) and len(text) <= _LONGEST_WORD:
        found = _WORD.findall(text.lower())
        if _SPELT.isdisjoint(found) and _ROMANS.keys().isdisjoint(found) and _FIRST_OF_LONG.isdisjoint(found):
            return tuple(found)
    text = without_accents(fold(text))
    if "[" in text or "【" in text or "://" in text:
        text = _NOISE.sub(" ", text)
    text = text.lower()
    if "united " in text or "great b" in text or "nyc" in text or "ww" in text or "per c" in text:
        text = _LONG_NAME.sub(lambda name: _LONG_NAMES[name[0]], text)
    found = _TOKEN.findall(text)
    if "'" in text or "." in text:
        found = [_bare(token) for token in found]
    if len(text) > _LONGEST_WORD and any(len(token) > _LONGEST_WORD for token in found):
        found = [token if len(token) <= _LONGEST_WORD else _digested(token) for token in found]
    if _SPELT.isdisjoint(found) and _ROMANS.keys().isdisjoint(found) and not _HAS_DIGIT.search(text):
        return tuple(found)
    return tuple(_with_values(found))


def _digested(word: str) -> str:
    """What stands for a word of thousands of letters, which would be compared, and kept, again and again."""
    return f"{word[:_LONGEST_WORD]}{crc32(word.encode('utf-8', 'replace')):08x}"


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
        return 0.9 if _rounds(float(a[1:]), float(b[1:])) else 0.0
    if "-" not in a[1:] + b[1:]:
        return float(a[1:] == b[1:])
    parts = [(x, y) for x, y in zip(_parts(a), _parts(b), strict=True) if x and y]
    return 0.9 if parts and all(x == y for x, y in parts) else 0.0


def agreeing_values(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs of distinct values that can agree, found by what they share: of thousands, few do."""
    numbers = {value: float(value[1:]) for value in values if value[0] == "#"}
    owners: dict[tuple[int, float], list[str]] = {}
    digits = {value: _significant(number) for value, number in numbers.items()}
    for value, number in numbers.items():
        owners.setdefault((digits[value], number), []).append(value)
    for fine, number in numbers.items():
        for count in range(_FEW_DIGITS, digits[fine]):
            for coarse in owners.get((count, float(f"{number:.{count - 1}e}")), ()):
                yield _ordered(coarse, fine)
    yield from _agreeing_dates(values)


def _agreeing_dates(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs whose parts are equal wherever both have one; a number may be a year."""
    by_given: dict[tuple[bool, ...], list[tuple[str, tuple[str, str, str]]]] = {}
    for value in values:
        parts = _parts(value)
        by_given.setdefault(tuple(map(bool, parts)), []).append((value, parts))
    for one, other in combinations_with_replacement(by_given, 2):
        common = [place for place in range(3) if one[place] and other[place]]
        if not common:
            continue
        having: dict[tuple[str, ...], list[str]] = {}
        for value, parts in by_given[one]:
            having.setdefault(tuple(parts[place] for place in common), []).append(value)
        for value, parts in by_given[other]:
            for same in having.get(tuple(parts[place] for place in common), ()):
                if same != value:
                    yield _ordered(same, value)


def _ordered(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)


def _rounds(a: float, b: float) -> bool:
    """Whether one is the other, rounded to two digits or more."""
    coarse, fine = sorted((a, b), key=_significant)
    digits = _significant(coarse)
    return digits >= _FEW_DIGITS and digits < _significant(fine) and float(f"{fine:.{digits - 1}e}") == coarse


def _significant(value: float) -> int:
    return len(f"{value:.9e}".split("e")[0].replace(".", "").strip("0-"))


def _parts(day: str) -> tuple[str, str, str]:
    year, month, number = (*day[1:].split("-"), "", "")[:3]
    return year, month, number


def _bare(token: str) -> str:
    if token[0] == "'":
        return token
    if "." in token and token[0].isalpha():
        return token.replace(".", "")  # U.S.
    return token.removesuffix("'s").replace("'", "") or token


def _with_values(found: list[str]) -> list[str]:
    said: list[str] = []
    place = 0
    while place < len(found):
        word = found[place]
        if word in _OPENING or not word[0].isalpha():
            word, used = _date(found, place) or _number(found, place) or (word, 1)
        else:
            used = 1
        said.append(word)
        place += used
    return said


def _date(found: list[str], place: int) -> tuple[str, int] | None:
    """A date that begins here, and how many tokens it takes."""
    word = found[place]
    if word[0].isdigit() and len(word) > 7 and word[-1].isdigit() and (parts := re.split(r"[-./]", word))[2:]:
        if len(parts[0]) == 4:
            return _day(parts[0], int(parts[1]), parts[2]), 1
        first, second = int(parts[0]), int(parts[1])
        day, month = (second, first) if second > 12 else (first, second)
        return _day(parts[2], month, str(day)), 1
    after = [*found[place + 1 : place + 5], "", "", "", ""]
    if word in _MONTHS:
        skip = int(after[0] == "the")
        if found_day := _DAY.fullmatch(after[skip]):
            has_year = _YEAR.fullmatch(after[skip + 1])
            return _day(after[skip + 1] if has_year else "", _MONTHS[word], found_day[1]), 2 + skip + bool(has_year)
        skip = int(after[0] == "of")
        return (_day(after[skip], _MONTHS[word], ""), 2 + skip) if _YEAR.fullmatch(after[skip]) else None
    number = _DAY.fullmatch(word)
    day_number = number[1] if number else str(SMALL_ORDINALS[word]) if word in SMALL_ORDINALS else ""
    skip = (after[0] == "day") + (after[after[0] == "day"] == "of")
    if not day_number or after[skip] not in _MONTHS or (not number and not skip):
        return None
    of = after[skip + 1] == "of"
    has_year = _YEAR.fullmatch(after[skip + 1 + of])
    used = 2 + skip + (1 + of if has_year else 0)
    return _day(after[skip + 1 + of] if has_year else "", _MONTHS[after[skip]], day_number), used


def _day(year: str, month: int, day: str) -> str:
    return f"@{year}-{month}" + (f"-{int(day)}" if day else "")


def _number(found: list[str], place: int) -> tuple[str, int] | None:
    """A number or a year that begins here, and how many tokens it takes."""
    word = found[place]
    after = found[place + 1] if place + 1 < len(found) else ""
    if word in _ROMANS:
        return f"#{_ROMANS[word]}", 1
    if word in _DECADES:
        return f"19{_DECADES[word]}s", 1
    if decade := _DECADE.fullmatch(word):
        return f"19{decade[1]}s", 1
    if word[0] == "'" and word[1:].isdigit():
        return f"@{(1900 if int(word[1:]) > 30 else 2000) + int(word[1:])}", 1
    if word[0].isdigit():
        if len(word) >= _LONGEST_WORD:
            return None
        if ordinal := _ORDINAL.fullmatch(word):
            return _centuries(int(ordinal[1]), after) or (word, 1)
        numeral = _NUMBER.fullmatch(word)
        if numeral is None:
            return None
        if len(word) == 4 and 1000 <= int(word if word.isdigit() else 0) <= 2100 and after not in _SMALL_SCALES:
            return f"@{word}", 1
        value = float(numeral[1].replace(",", "")) * {"k": 1000, "bn": 10**9}.get(numeral[2] or "", 1)
        return _scaled(value, after)
    if word in SMALL_ORDINALS:
        return _centuries(SMALL_ORDINALS[word], after) or (_ordinal(SMALL_ORDINALS[word]), 1)
    return _spoken(found, place)


def _scaled(value: float, after: str) -> tuple[str, int]:
    """A number with the word behind it, if that multiplies it; centuries are told in years."""
    if after in ("century", "centuries"):
        return f"#{_plain(value * 100)}", 2
    scale = SCALES.get(after, 1)
    return f"#{_plain(value * scale)}", 1 + (scale > 1)


def _centuries(number: int, after: str) -> tuple[str, int] | None:
    return (f"#{number}", 1) if after in ("century", "centuries") else None


def _ordinal(number: int) -> str:
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def _spoken(found: list[str], place: int) -> tuple[str, int] | None:
    """Nineteen eighty-one, two hundred and five."""
    word = found[place]
    is_article = (
        word in ("a", "an")
        and place + 1 < len(found)
        and found[place + 1] in ("hundred", "thousand", "dozen", "million")
    )
    if word not in _NUMBER_WORDS and not is_article:
        return None
    if word in _CENTURIES and (year := _spoken_year(found, place)):
        return year
    total = current = 0
    end = place
    for end in range(place, min(len(found), place + 12) + 1):
        here = found[end] if end < len(found) else ""
        if here in SMALL_NUMBERS or here in TENS:
            current += SMALL_NUMBERS.get(here, 0) + TENS.get(here, 0)
        elif end == place and is_article:
            current = 1
        elif here in ("hundred", "dozen"):
            current = max(current, 1) * (100 if here == "hundred" else 12)
        elif here in _SMALL_SCALES:
            total, current = total + max(current, 1) * _SMALL_SCALES[here], 0
        elif not (here == "and" and found[end - 1] in _SMALL_SCALES and (found[end + 1 :] or [""])[0] in _NUMBER_WORDS):
            break
    value, used = _scaled(total + current, here)
    return value, end - place + used - 1


def _spoken_year(found: list[str], place: int) -> tuple[str, int] | None:
    after = [*found[place + 1 : place + 3], "", ""]
    if after[0] in TENS:
        ones = SMALL_NUMBERS.get(after[1], 0)
        is_pair = 0 < ones < 10
        return f"@{_CENTURIES[found[place]]}{TENS[after[0]] + ones * is_pair}", 2 + is_pair
    teen = SMALL_NUMBERS.get(after[0], 0)
    return (f"@{_CENTURIES[found[place]]}{teen}", 2) if teen >= 10 else None
