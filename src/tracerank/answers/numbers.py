"""Numbers and dates as people write them: 977,633; 1.5 million; 27 percent; $5; twenty-one; 50-60; third; May 18, 2018.

A text is a number or a date only as a whole. What is ambiguous (1,5; 10.000; 007; 5m) is no number and stays text, and
what could be two dates (05/06/2018) is none.
"""

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from tracerank.answers import english
from tracerank.answers.english import MONTHS
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.units import BEFORE_NUMBERS, CURRENCIES, MONEY_SCALES, SCALES, UNITS

LONGEST_NUMBER = 100
"""Characters; longer texts are not numbers."""

SMALL_NUMBERS = {word: value for value, word in enumerate(english.ONES)}
TENS = {word: 20 + 10 * place for place, word in enumerate(english.TENS)}
SMALL_ORDINALS = {word: value for value, word in enumerate(english.ORDINALS, start=1)}
SMALL_ORDINALS |= {word.removesuffix("y") + "ieth": value for word, value in TENS.items()}

_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}|[0-9]{1,3}(?: [0-9]{3})+|[0-9]+)"
_NUMERAL = lazy_pattern(rf"({_DIGITS})?(\.[0-9]+)?(?![0-9])")
_APPROXIMATE = lazy_pattern(r"(?:about|approximately|approx\.?|around|roughly|circa|ca\.|c\.|an estimated|~|≈)\s*")
_BOUNDS = (
    (">", lazy_pattern(r"(?:more than|over|above|greater than|>)\s+")),
    ("<", lazy_pattern(r"(?:less than|fewer than|under|below|<)\s+")),
    (">=", lazy_pattern(r"(?:at least|a minimum of|no less than|no fewer than|>=|≥)\s+")),
    ("<=", lazy_pattern(r"(?:at most|up to|a maximum of|no more than|<=|≤)\s+")),
    ("almost", lazy_pattern(r"(?:almost|nearly|close to|just under)\s+")),
)
_SIGN = lazy_pattern(r"(?:-|minus\s+|negative\s+)(?=\S)")
_LABEL = lazy_pattern(r"(?:number|no\.|nr\.|#|the year|year|a\.?d\.?(?= ))\s*(?=[0-9])")
_COMMON_ERA = lazy_pattern(r"(?<!\s)\s++(?:a\.?d\.?|c\.?e\.?)\Z")
_CURRENCY = lazy_pattern(rf"({'|'.join(map(re.escape, sorted(BEFORE_NUMBERS, key=len, reverse=True)))})\s?(?=[0-9.-])")
_SCALE = lazy_pattern(rf"[\s-]?({'|'.join(SCALES)})\b")
_MONEY_SCALE = lazy_pattern(rf"({'|'.join(MONEY_SCALES)})\b")
_RANGE = lazy_pattern(rf"(?:from )?({_DIGITS})\s?(?:-|to|until|through)\s?({_DIGITS})(?![0-9,.-])(.*)")
_BETWEEN = lazy_pattern(rf"between ({_DIGITS}) and ({_DIGITS})(?![0-9,.-])(.*)")
_ORDINAL = lazy_pattern(r"([0-9]{1,9})(?:st|nd|rd|th)")
_SIGNED_YEAR = lazy_pattern(r"([0-9]{4})\s?[年년]")  # 5年 are five years
_ATTACHED_UNIT_IS_UNCLEAR = frozenset({"s", "m", "d", "l", "g", "w"})


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts."""

    value: Fraction
    unit: str = ""
    """Name in the table of units above; empty: a bare number."""
    bound: str = ""
    """``>``, ``<``, ``>=``, ``<=`` or ``almost``; empty: the number itself."""
    upper: Fraction | None = None
    """The other end of a range; None: a single number."""

    @property
    def key(self) -> str:
        """Equal keys, equal quantities."""
        end = "" if self.upper is None else f"..{self.upper}"
        return f"number:{self.bound}{self.value}{end}|{self.unit}"


@dataclass(frozen=True, slots=True)
class LeadingNumber:
    """A number at the beginning of a text and what comes after it."""

    quantity: Quantity
    rest: str
    """Stripped; empty: the text is the number and its unit."""


def parse_quantity(text: str) -> Quantity | None:
    """The quantity that the whole of a folded text states."""
    found = leading_number(text)
    return found.quantity if found and not found.rest else None


def parse_ordinal(text: str) -> int | None:
    """3 of ``3rd`` and ``the third``."""
    text = text.lower().strip(" .").removeprefix("the ")
    if found := _ORDINAL.fullmatch(text):
        return int(found[1])
    tens, _, ones = text.replace("-", " ").partition(" ")
    if not ones:
        return SMALL_ORDINALS.get(tens)
    return TENS[tens] + SMALL_ORDINALS[ones] if tens in TENS and SMALL_ORDINALS.get(ones, 10) < 10 else None


def leading_number(text: str) -> LeadingNumber | None:
    """The quantity that a folded text begins with, its unit among it, and the rest that is no unit."""
    text = text.strip().rstrip(".").strip()
    if not text or len(text) > LONGEST_NUMBER:
        return None
    text = text.lower()
    if text[-1] in "年년" and (year := _SIGNED_YEAR.fullmatch(text)):
        text = year[1]
    bound, text = _bound(text)
    if spread := _RANGE.fullmatch(text) or _BETWEEN.fullmatch(text):
        return _range(spread, bound)
    sign = _SIGN.match(text)
    text = text[sign.end() :] if sign else text
    currency = _CURRENCY.match(text)
    text = text[currency.end() :] if currency else text
    if sign is None and currency and (sign := _SIGN.match(text)):
        text = text[sign.end() :]
    parsed = _magnitude(text, currency is not None)
    if parsed is None:
        return None
    value, rest = parsed
    is_attached = rest[:1].isalnum() or rest[:1] in tuple(",./:'-")
    unit, rest = _unit(rest, CURRENCIES[currency[1]] if currency else "")
    if is_attached and rest and not unit:
        return None  # 3rd, 1990s, 7-Eleven, 1/2, 5m
    return LeadingNumber(Quantity(-value if sign else value, unit, bound), rest)


def _bound(text: str) -> tuple[str, str]:
    """The bound that a text begins with, and the text without it and without words that change nothing."""
    text = _without(_LABEL, text.removeprefix("in "))
    for name, pattern in _BOUNDS:
        if found := pattern.match(text):
            return name, text[found.end() :]
    return "", _without(_LABEL, _without(_APPROXIMATE, text))


def _without(beginning: re.Pattern[str], text: str) -> str:
    found = beginning.match(text)
    return text[found.end() :] if found else text


def _range(spread: re.Match[str], bound: str) -> LeadingNumber | None:
    low, high = (_digits_value(spread[group], "") for group in (1, 2))
    unit, rest = _unit(spread[3], "")
    if low is None or high is None:
        return None
    return LeadingNumber(Quantity(low, unit, bound, high), rest)


def _magnitude(text: str, is_money: bool) -> tuple[Fraction, str] | None:
    """The number with its scale, and what follows; a space in front of the rest is kept."""
    found = _NUMERAL.match(text)
    if found and found[0]:
        value, rest = _digits_value(found[1] or "", found[2] or ""), text[found.end() :]
    else:
        value, rest = _words_value(text)
    if value is None:
        return None
    if is_money and (scale := _MONEY_SCALE.match(rest)):
        return value * MONEY_SCALES[scale[1]], rest[scale.end() :]
    while scale := _SCALE.match(rest):
        value, rest = value * SCALES[scale[1]], rest[scale.end() :]
    return value, rest


def _digits_value(whole: str, decimals: str) -> Fraction | None:
    digits = whole.replace(",", "").replace(" ", "")
    if len(digits) > 1 and digits.startswith("0"):
        return None  # 007 is a name
    if decimals and len(digits) <= 3 and set(decimals[1:]) == {"0"} and len(decimals) == 4:
        return None  # 10.000: ten, or ten thousand as written on the Continent
    return Fraction((digits or "0") + decimals)


def _words_value(text: str) -> tuple[Fraction | None, str]:
    """The cardinal that a text begins with in words, and the rest; None where the words make no single number."""
    words = re.split(r"([\s-]+)", text)
    total = current = used = 0
    last = ""
    for place in range(0, len(words), 2):
        word = words[place]
        kind = _kind(word, last)
        if not kind:
            break
        if kind not in _FOLLOWERS[last]:
            return None, text  # "nineteen eighty-four" is a name or a year, not a number
        if kind == "scale":
            total, current = total + current * SCALES[word], 0
        else:
            current = current * _FACTORS.get(kind, 1) + _SUMMANDS.get(word, 0)
        last, used = kind, place + 1
    is_number = used > 0 and last not in ("and", "article")
    return (Fraction(total + current), "".join(words[used:])) if is_number else (None, text)


_SUMMANDS = SMALL_NUMBERS | TENS | {"a": 1, "an": 1}
_FACTORS = {"hundred": 100, "dozen": 12}
_FOLLOWERS = {
    "": ("digit", "teen", "ten", "article"),
    "article": ("hundred", "scale", "dozen"),
    "digit": ("hundred", "scale", "dozen"),
    "teen": ("hundred", "scale"),
    "ten": ("digit", "scale"),
    "hundred": ("and", "digit", "teen", "ten", "scale"),
    "scale": ("and", "digit", "teen", "ten"),
    "and": ("digit", "teen", "ten"),
    "dozen": (),
}


def _kind(word: str, last: str) -> str:
    if word in SMALL_NUMBERS:
        return "digit" if SMALL_NUMBERS[word] < 10 else "teen"
    if word in TENS:
        return "ten"
    if word in ("a", "an"):
        return "" if last else "article"
    if word == "and":
        return "and" if last in ("hundred", "scale") else ""
    if word in _FACTORS:
        return word
    return "scale" if word in ("thousand", "million", "billion", "trillion") else ""


def _unit(rest: str, currency: str) -> tuple[str, str]:
    """The unit at the beginning of the rest, and what remains behind it."""
    is_attached = bool(rest) and not rest[0].isspace()
    rest = _COMMON_ERA.sub("", rest).strip().strip("-").strip()
    if not rest:
        return currency, ""
    words = rest.replace(".", " ").split()
    for count in range(min(4, len(words)), 0, -1):
        name = " ".join(words[:count])
        unit = CURRENCIES.get(name) or UNITS.get(name)
        if unit and not (is_attached and name in _ATTACHED_UNIT_IS_UNCLEAR):
            after = " ".join(words[count:])
            if not currency or unit == currency:
                return unit, after
            return f"{currency}/{unit}", after
    return currency, rest


LONGEST_DATE = 60
"""Characters; longer texts are not dates."""

_MONTHS = {name: number for number, name in enumerate(MONTHS, start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = rf"({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"([0-9]{3,4})"
_WEEKDAY = lazy_pattern(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+")
_OPENING = lazy_pattern(r"(?:on|in|since|from|the)\s+")

_DAY_MONTH_YEAR = lazy_pattern(rf"{_DAY}(?:\s+day)?(?:\s+of)?[\s-]+{_MONTH}(?:,?\s+|-|,\s*){_YEAR}")
_MONTH_DAY_YEAR = lazy_pattern(rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:,\s*|\s+){_YEAR}")
_YEAR_MONTH_DAY = lazy_pattern(rf"{_YEAR},?\s+{_MONTH}\s+{_DAY}")
_MONTH_YEAR = lazy_pattern(rf"{_MONTH}(?:,?\s+(?:of\s+)?|-){_YEAR}")
_DAY_MONTH = lazy_pattern(rf"{_DAY}(?:\s+of)?\s+{_MONTH}")
_MONTH_DAY = lazy_pattern(rf"{_MONTH}\s+(?:the\s+)?{_DAY}")
_ISO = lazy_pattern(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_NUMERIC = lazy_pattern(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")
_SIGNED = lazy_pattern(r"(?:([0-9]{3,4})\s?[年년]\s?)?([0-9]{1,2})\s?[月월](?:\s?([0-9]{1,2})\s?[日号號일])?")


def parse_date(text: str) -> str | None:
    """``2018-05-18``, ``2018-05`` or ``05-18`` for a folded text that is one date; None for anything else."""
    text = text.strip().rstrip(".").lower()
    if len(text) > LONGEST_DATE:
        return None
    for opening in (_OPENING, _WEEKDAY, _OPENING):
        if found := opening.match(text):
            text = text[found.end() :]
    return _numeric(text) or _signed(text) or _worded(text)


def year_of(day: str) -> str | None:
    """The year of what ``parse_date`` gives; None when it has none."""
    return day[:4].lstrip("0") if re.match(r"[0-9]{4}-", day) else None


def _numeric(text: str) -> str | None:
    if found := _ISO.fullmatch(text):
        return _day(found[1], int(found[3]), found[4])
    found = _NUMERIC.fullmatch(text)
    if found is None:
        return None
    first, second = int(found[1]), int(found[3])
    if first <= 12 and second <= 12 and first != second:
        return None  # day and month could be either
    day, month = (first, second) if second <= 12 else (second, first)
    return _day(found[4], month, str(day))


def _signed(text: str) -> str | None:
    """2018年5月18日 and 2018년 5월 18일, also without the year or the day."""
    found = _SIGNED.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        return None
    year, month, day = found.groups()
    full = _day(year, int(month), day or "1")
    return full if day or full is None else full.rpartition("-")[0]


def _worded(text: str) -> str | None:
    if found := _DAY_MONTH_YEAR.fullmatch(text):
        return _day(found[3], _MONTHS[found[2]], found[1])
    if found := _MONTH_DAY_YEAR.fullmatch(text):
        return _day(found[3], _MONTHS[found[1]], found[2])
    if found := _YEAR_MONTH_DAY.fullmatch(text):
        return _day(found[1], _MONTHS[found[2]], found[3])
    if found := _MONTH_YEAR.fullmatch(text):
        return f"{int(found[2]):04d}-{_MONTHS[found[1]]:02d}"
    if found := _DAY_MONTH.fullmatch(text):
        return _day(None, _MONTHS[found[2]], found[1])
    if found := _MONTH_DAY.fullmatch(text):
        return _day(None, _MONTHS[found[1]], found[2])
    return None


def _day(year: str | None, month: int, day: str) -> str | None:
    """None for a day that no calendar has; a day without a year may be the 29th of February."""
    try:
        date(int(year) if year else 2000, month, int(day))
    except ValueError:
        return None
    return f"{int(year):04d}-{month:02d}-{int(day):02d}" if year else f"{month:02d}-{int(day):02d}"
