"""Finds the typed values of a text, whatever stands around them: one pass over its tokens."""

import math
import re
from functools import lru_cache

from tracerank.answers.english import MONTHS, SMALL_NUMBERS, SMALL_ORDINALS, TENS_VALUES, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.text_keys import fold, without_accents
from tracerank.answers.units import BEFORE_NUMBERS, CURRENCIES, MEASURED, MONEY_SCALES, SCALES
from tracerank.answers.values import (
    DATE,
    DECADE,
    NUMBER,
    NUMERAL,
    NUMERALS,
    ORDINAL,
    SCORE,
    VERSION,
    Value,
    numerals_in,
)

MAX_TEXT = 2000
"""Characters in which values are looked for."""
_TOKEN = lazy_pattern(
    r"(?P<iso>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})(?![0-9-])"
    r"|(?P<signed>(?:[0-9]{3,4}\s?[年년]\s?)?[0-9]{1,2}\s?[月월](?:\s?[0-9]{1,2}\s?[日号號일])?|[0-9]{4}\s?[年년])"
    r"|(?P<numeric>[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{4})(?![0-9.])"
    r"|(?P<grouped>(?<![0-9.,])[0-9]{1,3}(?:\.[0-9]{3}){2,})(?![.,]?[0-9])"
    r"|(?P<version>(?<![a-z0-9])v?[0-9]+(?:\.[0-9]+){2,}|(?<![a-z0-9])v[0-9]+(?:\.[0-9]+)?)(?![0-9a-z])"
    r"|(?P<span>(?<![0-9.,-])(?![0-9]{4} to [0-9]{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"[0-9]{1,4}\s?(?:-|:| to )\s?[0-9]{1,4})(?![0-9]|[.,:-][0-9]|[a-z])"
    r"|(?P<ordinal>[0-9]+(?:st|nd|rd|th))(?![a-z])"
    r"|(?P<decade>(?<![a-z0-9])(?:(?:1[0-9]|20)?'?[1-9]0'?s|(?:twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies))(?![a-z0-9])"
    r"|(?P<short>(?<![\w])'[0-9]{2}(?![0-9]))"
    r"|(?P<number>(?<![a-z0-9_/.])(?<![a-z0-9/]-)(?:(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)(?!/[a-z]{2}))"
    r"(?=(?P<scale>k|m|b|bn|mn)\b|[^\W\d_]*)"
    r"|(?P<war>\bww(?:i{1,2}|[12]))\b"
    r"|(?P<word>(?:km|mi)/h|m/s|(?:km|m|mi|ft)\^?2(?![0-9])|[a-z]+(?:'[a-z]+)?)|(?P<sign>[%$£€¥₹₩₽<>≤≥~+°-])",
)
_BOUNDS = (
    (
        ">",
        lazy_pattern(
            r"(?:more than|greater than|older than|longer than|later than|over|above|at least|no less than"
            r"|no fewer than|a minimum of|minimum of|upwards? of|exceeding|exceeded|in excess of|>=?|≥)"
            r"(?: the age of| age| an estimated| about)?\s?\Z"
        ),
    ),
    (
        "<",
        lazy_pattern(
            r"(?:less than|fewer than|younger than|shorter than|earlier than|under|below|at most|up to"
            r"|no more than|a maximum of|maximum of|not more than|<=?|≤)(?: the age of| age)?\s?\Z"
        ),
    ),
    ("before", lazy_pattern(r"(?:before|prior to|by|no later than)\s\Z")),
    ("after", lazy_pattern(r"after\s\Z")),
)
_NEGATIVE = lazy_pattern(r"(?:(?:\A|[\s(~])-|\bminus |\bnegative )\s?[$£€¥]?\Z")
_BELOW = lazy_pattern(r"\s?(?:c\b|f\b|celsius|fahrenheit)?\s?below (?:zero|sea|freezing)")
_PERIOD = lazy_pattern(
    r"\s?(?:an?|per|each|every|/)\s?(hour|day|week|month|year)\b|\s?(hourly|daily|weekly|monthly|yearly|annual)"
)
_DOWN = frozenset(
    words(
        "fell fall falls decrease decreased decline declined drop dropped shrank shrunk loss lost lower down reduced "
        "reduction cut decreasing falling dropping slumped plunged"
    )
)
_UP = frozenset(
    words(
        "rose rise rises increase increased grew grow growth gain gained higher up raised jumped climbed "
        "increasing rising growing improved"
    )
)
_MONTHS = {name: number for number, name in enumerate(MONTHS, start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_NUMBER_WORDS = SMALL_NUMBERS | TENS_VALUES
_MULTIPLES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_DIGIT = re.compile(r"\d")
_WORD = re.compile("[a-z]+")
_OPENING = frozenset((*_NUMBER_WORDS, *SMALL_ORDINALS, *_MULTIPLES, *_MONTHS, "half", "wwi", "wwii")).union(
    NUMERALS, (f"{ten[:-1]}ies" for ten in TENS_VALUES)
)
"""Words that may begin a value."""
_DASHED_DATE = lazy_pattern(r"(?<=[0-9])-([A-Za-z]{3,9})-(?=[0-9]{4})")
_MAX_DIGITS = 40
"""Characters of a token; what is longer is no value."""
_MIN_YEAR, _MAX_YEAR = 1000, 2100
_UNIT_STARTS = frozenset(name.split()[0] for name in MEASURED)


def values_in(text: str) -> tuple[Value, ...]:
    """The values of a text in order."""
    return _values_in(text[:MAX_TEXT])


@lru_cache(maxsize=8192)
def _values_in(text: str) -> tuple[Value, ...]:
    return tuple(scanned(without_accents(fold(text)))) if may_hold_values(text) else ()


def may_hold_values(text: str) -> bool:
    """Whether a text has a digit, a numeral or a word that begins a value; a quick look."""
    if _DIGIT.search(text):
        return True
    found = _WORD.findall(text.lower())
    return not _OPENING.isdisjoint(found)


def scanned(cased: str) -> "list[Value]":
    """The values of a text that is folded."""
    return _Scan(_DASHED_DATE.sub(r" \1 ", cased)).found()


FILLING = frozenset(
    words(
        "least most fewer more less than no about approximately around roughly circa nearly almost minus plus "
        "below above zero sea level people persons inhabitants residents exactly "
        "half over under up maximum minimum place part per"
    )
).union(_UP, _DOWN, _NUMBER_WORDS, _MULTIPLES, _MONTHS, (word for name in MEASURED for word in name.split()))
"""Words that may stand beside a value without saying anything else."""


class _Scan:
    """One pass over the tokens of a folded text."""

    def __init__(self, cased: str) -> None:
        self.cased, self.text = cased, cased.lower()
        if len(self.text) != len(cased):
            self.cased = self.text
        self.tokens = list(_TOKEN.finditer(self.text))
        said = {token[0] for token in self.tokens}
        self.change = (1 if said & _UP else 0) - (1 if said & _DOWN else 0)

    def found(self) -> list[Value]:
        values: list[Value] = []
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.lastgroup == "word" and token[0] not in _OPENING and token[0] not in ("a", "an"):
                index += 1
                continue
            value, used = self._at(index)
            if value:
                values.append(value)
            index += used
        taken = [range(value.start, value.end) for value in values]
        values += [one for one in numerals_in(self.cased) if not any(one.start in span for span in taken)]
        return sorted(values, key=lambda value: value.start)

    def _word(self, index: int) -> str:
        return self.tokens[index][0] if 0 <= index < len(self.tokens) else ""

    def _at(self, index: int) -> tuple[Value | None, int]:
        token = self.tokens[index]
        kind, said, (start, end) = token.lastgroup, token[0], token.span()
        if len(said) > _MAX_DIGITS:
            return None, 1
        if token["number"]:
            kind = "number"
        if kind == "grouped":
            return self._number(index, float(said.replace(".", "")), 0.5, 1)
        if kind == "war":
            return Value(NUMERAL, start, end, 2.0 if said[2:] in ("ii", "2") else 1.0, shown=said), 1
        if kind == "word":
            return self._worded(index)
        if kind == "iso":
            year, month, day = map(int, said.split("-"))
            return self._date(year, month, day, start, end), 1
        if kind == "signed":
            return self._signed(token), 1
        if kind == "numeric":
            first, second, year = map(int, re.split("[/.]", said))
            day, month = (second, first) if second > 12 else (first, second)
            return self._date(year, month, day, start, end), 1
        if kind == "version":
            return Value(VERSION, start, end, parts=tuple(map(int, said.lstrip("v").split("."))), shown=said), 1
        if kind == "span":
            return self._span(token), 1
        if kind == "decade":
            return Value(DECADE, start, end, float(_decade(said)), shown=said), 1
        if kind == "short":
            year = int(said[1:])
            return self._date((1900 if year > 30 else 2000) + year, 0, 0, start, end), 1
        if kind == "ordinal":
            return self._ordinal(int(re.sub(r"\D", "", said)), index, 1)
        if kind == "number" and said:
            return self._dated(index) or self._number(index, *_plain(said), 1)
        return None, 1

    def _signed(self, token: re.Match[str]) -> Value | None:
        """2018年5月18日 and 2018년 5월 18일, also without the year or the day; May alone may be many things."""
        found = {sign: int(number) for number, sign in re.findall(r"([0-9]+)\s?(\D)", token[0])}
        year, month = (found.get(han, found.get(hangul, 0)) for han, hangul in (("年", "년"), ("月", "월")))
        day = next((found[sign] for sign in "日号號일" if sign in found), 0)
        is_one = month <= 12 and (year or day)
        return self._date(year, month, day, *token.span()) if is_one else None

    def _span(self, token: re.Match[str]) -> Value | None:
        first, second = re.findall("[0-9]+", token[0])
        if len(first) == 4 and len(second) in (2, 4) and first >= "1000":
            second = first[: 4 - len(second)] + second
        return Value(SCORE, *token.span(), parts=(int(first), int(second)), shown=token[0])

    def _date(self, year: int, month: int, day: int, start: int, end: int) -> Value:
        return Value(DATE, start, end, parts=(year, month, day), bound=self._bound(start), shown=self.text[start:end])

    def _dated(self, index: int) -> tuple[Value, int] | None:
        """A day with its month, or a year, that begins with a number."""
        token = self.tokens[index]
        number = token[0]
        month = _MONTHS.get(self._word(index + 1)) or _MONTHS.get(
            self._word(index + 2) if self._word(index + 1) == "of" else ""
        )
        if month and len(number) <= 2:
            used = 2 + (self._word(index + 1) == "of")
            return self._with_year(int(number), month, index, used)
        is_year = number.isdigit() and _MIN_YEAR <= int(number) <= _MAX_YEAR and len(number) == 4
        behind = self._word(index + 1)
        if (
            not is_year
            or behind in _MULTIPLES
            or behind in _UNIT_STARTS
            or self._word(index - 1) in ("$", "£", "€", "¥")
            or _NEGATIVE.search(self.text[max(0, token.start() - 12) : token.start()])
        ):
            return self._before_christ(index)
        return self._before_christ(index) or (self._date(int(number), 0, 0, *token.span()), 1)

    def _before_christ(self, index: int) -> tuple[Value, int] | None:
        token = self.tokens[index]
        found = re.match(r"\s?(b\.?\s?c\.?(?:\s?e)?|bce|a\.?d\b|ce\b)", self.text[token.end() : token.end() + 6])
        if not found or not token[0].isdigit():
            return None
        year = int(token[0]) * (-1 if found[1][0] == "b" else 1)
        return self._date(year, 0, 0, token.start(), token.end() + found.end()), 2

    def _with_year(self, day: int, month: int, index: int, used: int) -> tuple[Value, int]:
        year = self._word(index + used)
        has_year = year.isdigit() and len(year) in (3, 4)
        last = index + used - (not has_year)
        return self._date(
            int(year) if has_year else 0, month, day, self.tokens[index].start(), self.tokens[last].end()
        ), last - index + 1

    def _ordinal(self, number: int, index: int, used: int) -> tuple[Value | None, int]:
        skip = used + (self._word(index + used) == "day") + (self._word(index + used) == "of")
        if month := _MONTHS.get(self._word(index + skip)):
            return self._with_year(number, month, index, skip + 1)
        start, end = self.tokens[index].start(), self.tokens[index + used - 1].end()
        return Value(ORDINAL, start, end, float(number), shown=self.text[start:end]), used

    def _worded(self, index: int) -> tuple[Value | None, int]:
        word = self._word(index)
        if word in _MONTHS and (found := self._month_first(index)):
            return found
        if word in SMALL_ORDINALS and word not in ("second",):
            return self._ordinal(SMALL_ORDINALS[word], index, 1)
        if word == "second" and self._word(index - 1) in ("the", "finished", "came", "place", "was"):
            return self._ordinal(2, index, 1)
        if word in _NUMBER_WORDS or (word in ("a", "an") and self._word(index + 1) in _MULTIPLES):
            return self._spoken(index)
        if word in ("a", "an") and self._word(index + 1) in _UNIT_STARTS and self._half_behind(index + 2):
            return self._number(index, 1.0, 0.5, 1)
        return None, 1

    def _half_behind(self, index: int) -> bool:
        return [self._word(index + step) for step in range(3)] == ["and", "a", "half"]

    def _month_first(self, index: int) -> tuple[Value, int] | None:
        month = _MONTHS[self._word(index)]
        skip = 1 + (self._word(index + 1) == "the")
        day = re.fullmatch(r"([0-9]{1,2})(?:st|nd|rd|th)?", self._word(index + skip))
        if day:
            return self._with_year(int(day[1]), month, index, skip + 1)
        skip = 1 + (self._word(index + 1) == "of")
        year = self._word(index + skip)
        if year.isdigit() and len(year) == 4:
            return self._date(
                int(year), month, 0, self.tokens[index].start(), self.tokens[index + skip].end()
            ), skip + 1
        if self._word(index) == "may" and not self.cased[self.tokens[index].start()].isupper():
            return None
        return self._date(0, month, 0, *self.tokens[index].span()), 1

    def _spoken(self, index: int) -> tuple[Value | None, int]:
        """Twenty-one, two hundred and five, one and a half million; nineteen eighty-one is a year."""
        if year := self._spoken_year(index):
            return year
        total, current, at = 0.0, 0.0, index
        while at < len(self.tokens):
            word = self._word(at)
            if word in _NUMBER_WORDS:
                current += _NUMBER_WORDS[word]
            elif word in ("a", "an") and at == index:
                current = 1.0
            elif self._half_behind(at):
                current += 0.5
                at += 2
            elif word in ("hundred", "dozen"):
                current = (current or 1) * _MULTIPLES[word]
            elif word in _MULTIPLES:
                total, current = total + (current or 1) * _MULTIPLES[word], 0.0
            elif not (
                word == "-" or (word == "and" and total + current >= 100 and self._word(at + 1) in _NUMBER_WORDS)
            ):
                break
            at += 1
        return self._number(index, total + current, 0.5, at - index)

    def _spoken_year(self, index: int) -> tuple[Value, int] | None:
        century = _NUMBER_WORDS.get(self._word(index), 0)
        at = index + 1 + (self._word(index + 1) == "-")
        rest = _NUMBER_WORDS.get(self._word(at), 0)
        if not 15 <= century <= 20 or rest < 10:
            return None
        following = at + 1 + (self._word(at + 1) == "-")
        ones = _NUMBER_WORDS.get(self._word(following), 0) if rest >= 20 else 0
        if 0 < ones < 10:
            rest, at = rest + ones, following
        return self._date(100 * century + rest, 0, 0, self.tokens[index].start(), self.tokens[at].end()), at - index + 1

    def _number(self, index: int, value: float, slack: float, used: int) -> tuple[Value | None, int]:
        """The number with what stands before and behind it."""
        first, at = self.tokens[index], index + used
        start, shown = first.start(), first[0]
        currency = CURRENCIES[self._word(index - 1)] if self._word(index - 1) in BEFORE_NUMBERS else ""
        before = start - len(self._word(index - 1)) if currency else start
        if scale := first["number"] and first["scale"]:
            factor = MONEY_SCALES.get(scale, 0) if currency else {"bn": 10**9, "mn": 10**6, "k": 1000}.get(scale, 0)
            if factor:
                value, slack, at = value * factor, slack * factor, at + 1
        while scale_word := SCALES.get(self._word(at)):
            value, slack, at = value * scale_word, slack * scale_word, at + 1
        stop = self.tokens[at - 1].end()
        base, size, used_units = self._unit(at)
        at += used_units
        if size and self._half_behind(at):
            value, slack, at = value + 0.5, 0.5, at + 3
        if currency:
            base, size = currency, 1.0
        size = size or 1.0
        count, value, slack = value, value * size, slack * size
        if not math.isfinite(value):
            return None, at - index  # trillion trillion trillion …
        end = self.tokens[at - 1].end()
        if _NEGATIVE.search(self.text[max(0, before - 12) : start]) or _BELOW.match(self.text, end):
            value = -value
        period = _PERIOD.match(self.text, end)
        return Value(
            NUMBER,
            start,
            end,
            value,
            base,
            count,
            slack,
            self._bound(before, 2),
            max(-1, min(1, self.change)),
            next(filter(None, period.groups()), "")[:3] if period else "",
            shown=shown,
            stop=stop,
        ), max(1, at - index)

    def _unit(self, at: int) -> tuple[str, float, int]:
        if self._word(at) == "-":
            at += 1
        if self._word(at) == "°":
            scale = self._word(at + 1)[:1]
            return (f"°{scale.upper()}", 1.0, 2) if scale in ("c", "f") else ("degree", 1.0, 1)
        if self._word(at) not in _UNIT_STARTS:
            return "", 0.0, 0
        for count in (4, 3, 2, 1):
            name = " ".join(self._word(at + step) for step in range(count))
            if name in MEASURED:
                return (*MEASURED[name], count)
        return "", 0.0, 0

    def _bound(self, start: int, count: int = 4) -> str:
        before = self.text[max(0, start - 40) : start]
        return next((name for name, pattern in _BOUNDS[:count] if pattern.search(before)), "")


def _decade(said: str) -> int:
    """1990 of "1990s", "'90s" and "nineties"."""
    digits = re.sub(r"\D", "", said)
    value = int(digits) if digits else TENS_VALUES[f"{said.removesuffix('ies')}y"]
    return value if value > 100 else 1900 + value


def _plain(digits: str) -> tuple[float, float]:
    """The number and half of its last digit."""
    whole = digits.replace(",", "")
    shown = len(whole.partition(".")[2])
    return float(whole), 0.5 * 10.0**-shown
