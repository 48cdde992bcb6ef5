"""Dates as people write them: May 18, 2018; 18th of May 2018; 2018-05-18; May 2018; May 18.

A text is a date only as a whole. What could be two dates (05/06/2018) is none.
"""

import re
from datetime import date

from tracerank.answers.english import MONTHS

LONGEST_DATE = 60
"""Characters; longer texts are not dates."""

_MONTHS = {name: number for number, name in enumerate(MONTHS, start=1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = rf"({'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY = r"([0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"([0-9]{3,4})"
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+")
_OPENING = re.compile(r"(?:on|in|since|from|the)\s+")

_DAY_MONTH_YEAR = re.compile(rf"{_DAY}(?:\s+day)?(?:\s+of)?[\s-]+{_MONTH}(?:,?\s+|-|,\s*){_YEAR}")
_MONTH_DAY_YEAR = re.compile(rf"{_MONTH}\s+(?:the\s+)?{_DAY}(?:,\s*|\s+){_YEAR}")
_YEAR_MONTH_DAY = re.compile(rf"{_YEAR},?\s+{_MONTH}\s+{_DAY}")
_MONTH_YEAR = re.compile(rf"{_MONTH}(?:,?\s+(?:of\s+)?|-){_YEAR}")
_DAY_MONTH = re.compile(rf"{_DAY}(?:\s+of)?\s+{_MONTH}")
_MONTH_DAY = re.compile(rf"{_MONTH}\s+(?:the\s+)?{_DAY}")
_ISO = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_NUMERIC = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")


def parse_date(text: str) -> str | None:
    """``2018-05-18``, ``2018-05`` or ``05-18`` for a folded text that is one date; None for anything else."""
    text = text.strip().rstrip(".").lower()
    if len(text) > LONGEST_DATE:
        return None
    for opening in (_OPENING, _WEEKDAY, _OPENING):
        if found := opening.match(text):
            text = text[found.end() :]
    return _numeric(text) or _worded(text)


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
