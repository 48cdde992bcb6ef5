"""Typed values: a number with sign, bound and unit, a date, a version, a score, an ordinal or a roman numeral.

``relation`` says whether two are the same, exclude each other, or cannot be compared.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.units import MONEY

NUMBER, DATE, VERSION = "number", "date", "version"
SCORE, ORDINAL, NUMERAL, DECADE = "score", "ordinal", "numeral", "decade"
_ROUND = 1000
_SLACK_OF_CALENDAR = 0.02
"""Months and years are not of one length."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value that a text states."""

    kind: str
    start: int
    """Where it stands in the folded text."""
    end: int
    number: float = 0.0
    """In the base unit, with its sign; of an ordinal or a numeral, which one."""
    unit: str = ""
    """The base unit or currency; empty: a bare number."""
    count: float = 0.0
    """The number as it stands beside its unit."""
    slack: float = 0.0
    """Half of the last digit that is shown, in the base unit."""
    bound: str = ""
    """``>``, ``<``, ``before``, ``after``; empty: the value itself."""
    change: int = 0
    """1 for a rise, -1 for a fall, 0 for neither."""
    period: str = ""
    """The month of "a month"; empty: none is named."""
    parts: tuple[int, ...] = ()
    """Year, month and day of a date, 0 where it has none; the numbers of a version, a score or a range."""
    shown: str = ""
    """The digits as they are written."""
    stop: int = 0
    """Where the number ends, before its unit; 0: at the end."""


def relation(a: Value, b: Value) -> bool | None:
    """True: the same; False: they exclude each other; None: they are not of one kind."""
    if a.kind == b.kind == NUMBER:
        return _numbers_agree(a, b)
    if {a.kind, b.kind} <= {ORDINAL, NUMERAL}:
        return a.number == b.number
    if {a.kind, b.kind} <= {NUMERAL, NUMBER, ORDINAL}:
        return a.number == b.number if not (a.unit or b.unit) else None
    if a.kind != b.kind:
        dated = {a.kind: a, b.kind: b}
        if dated.keys() == {DATE, NUMBER} and not dated[NUMBER].unit and not any(dated[DATE].parts[1:]):
            return dated[DATE].parts[0] == dated[NUMBER].number
        if dated.keys() == {VERSION, NUMBER}:
            return dated[VERSION].shown.lstrip("v") == dated[NUMBER].shown
        return None
    if a.kind == DATE:
        return _dates_agree(a, b)
    return a.parts == b.parts and a.number == b.number


def _numbers_agree(a: Value, b: Value) -> bool | None:
    if a.unit and b.unit and a.unit != b.unit:
        return False if {a.unit, b.unit} <= MONEY else None
    if (a.bound != b.bound and not (_is_round(a) and {a.bound, b.bound} == {"", ">"})) or a.change * b.change < 0:
        return False
    if a.period and b.period and a.period != b.period:
        return False
    x, y = (a.number, b.number) if bool(a.unit) == bool(b.unit) else (a.count * _sign(a), b.count * _sign(b))
    if a.change or b.change:
        x, y = abs(x), abs(y)
    return _near(x, y, a, b)


def _is_round(value: Value) -> bool:
    """Whether "over" goes without saying: over 144 million people."""
    return value.count >= _ROUND and value.count % _ROUND == 0


def _sign(value: Value) -> int:
    return -1 if value.number < 0 else 1


def _near(x: float, y: float, a: Value, b: Value) -> bool:
    if x == y or abs(x - y) <= 1e-9 * abs(x):
        return True
    if a.unit == b.unit == "second" and abs(x - y) <= _SLACK_OF_CALENDAR * abs(x) and a.slack != b.slack:
        return True
    if (not a.count or not b.count) and a.unit and b.unit:
        return abs(x - y) <= max(a.slack, b.slack)
    if a.unit and b.unit and a.slack != b.slack and abs(x - y) <= max(a.slack, b.slack):
        return True
    return rounds(x, y)


def rounds(x: float, y: float) -> bool:
    """Whether one is the other, rounded to two digits or more."""
    coarse, fine = sorted((x, y), key=_significant)
    digits = _significant(coarse)
    return 2 <= digits < _significant(fine) and float(f"{fine:.{digits - 1}e}") == coarse


def _significant(value: float) -> int:
    return len(f"{value:.9e}".split("e")[0].replace(".", "").strip("0-"))


def _dates_agree(a: Value, b: Value) -> bool | None:
    if _direction(a.bound) != _direction(b.bound):
        return False
    shared = [(x, y) for x, y in zip(a.parts, b.parts, strict=True) if x and y]
    return all(x == y for x, y in shared) if shared else None


def _direction(bound: str) -> str:
    return {"before": "<", "after": ">"}.get(bound, bound)


_ROMAN = lazy_pattern(
    r"(?<![\w.'-])(?=[IVX]|[ivx]{2}|L[XVI])((?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})|x?(?:ix|iv|vi{0,3}|i{2,3})|xi)"
    r"(?=[\s,.;:)!?\"'*]|\Z)(?!\. [A-Z])"
)
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
NUMERALS = frozenset(
    tens + ones for tens in ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx") for ones in _ONES if tens + ones
)
"""One to 89, in small letters."""
_LETTERS = {"I": 1, "V": 5, "X": 10, "L": 50}


def numerals_in(cased: str) -> Iterator[Value]:
    """The numerals of a folded text whose case is kept."""
    for found in _ROMAN.finditer(cased):
        if found[1] and _is_numeral(cased, *found.span()):
            values = [_LETTERS[letter] for letter in found[1].upper()]
            number = sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))
            yield Value(NUMERAL, *found.span(), float(number), shown=found[1])


def _is_numeral(cased: str, start: int, end: int) -> bool:
    """Of a name: not the pronoun, not an initial."""
    if cased[start].islower():
        return True
    before = cased[:start].rstrip(" (")
    if not before or not before[-1].isalnum():
        return False
    return end - start > 1 or cased[start] not in "IX" or _ends_a_name(cased, before, start, end)


def _ends_a_name(cased: str, before: str, start: int, end: int) -> bool:
    after = cased[end:].lstrip()[:1]
    is_named = before.rpartition(" ")[2][:1].isupper() or cased[start - 1] == "("
    return is_named and cased[end : end + 1] != "'" and (not after.isalpha() or after.islower())
