"""The one seam to ``answers/``: the words, numbers and dates of a text, and which of them contradict each other."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf
from typing import NamedTuple

from tracerank.answers.english import MONTHS, NEGATIONS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.values import is_value, likeness, tokens
from tracerank.answers.meaning.words import STOP
from tracerank.answers.scripts import has_unspaced
from tracerank.answers.text_keys import fold, without_accents
from tracerank.answers.units import UNITS
from tracerank.answers.value_scan import values_in
from tracerank.answers.values import relation

DATE, NUMBER = "date", "number"
_SIGNS = frozenset("%$£€")
_BOUNDS = {
    **dict.fromkeys(("over", "more than", "at least", "above", "exceeding", "exceeds", "exceeded", "beyond"), ">"),
    **dict.fromkeys(("under", "less than", "fewer than", "at most", "below", "up to", "nearly", "almost"), "<"),
    **dict.fromkeys(("about", "around", "approximately", "roughly", "some", "circa", "ca", "estimated"), "~"),
}
NEARLY = 0.1
"""Share by which an estimate may be off."""
_MONTH = rf"(?:{'|'.join(month.title() for month in MONTHS)}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?)"
_WRITTEN = lazy_pattern(
    rf"{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?\b"
    rf"|{_MONTH}\s+\d{{4}}\b|\d{{4}}(?=[-–]\d{{4}}\b)|(?:[$£€]\s?)?\d+(?:[,./-]\d+)*(?:\s?%|\s+(?:hundred|thousand|million|billion|trillion|percent)\b)?"
)
_WORD = lazy_pattern(r"[0-9][0-9,]*(?:\.[0-9]+)?|[^\W\d_]+")
_EMPTY = (
    STOP
    | _SIGNS
    | frozenset(
        words(
            "include includes included including well however although because since until upon within without among "
            "while through between against more most other such only own same very can just may might several various "
            "many every today currently now"
        )
    )
)


class Value(NamedTuple):
    """A number or a date in a text."""

    kind: str
    """Only values of one kind are compared: a date, an amount of a currency, a unit, or a plain number."""
    token: str
    bound: str = ""
    """``>`` for "more than 50", ``<`` for "under 50", ``~`` for "about 50"."""
    amount: float | None = None
    """Of a number; None: a date."""


class Words(NamedTuple):
    """What a clause says: words that carry meaning, values, and whether it denies."""

    content: tuple[str, ...]
    values: tuple[Value, ...]
    is_negative: bool


def read_words(text: str) -> Words:
    """The content words (stemmed) and the values of a text."""
    found = tokens(text)
    content: list[str] = []
    values: list[Value] = []
    for index, token in enumerate(found):
        if is_value(token):
            amount = float(token[1:]) if token[0] == "#" else None
            values.append(Value(_kind(found, index), token, _bound(found, index), amount))
        elif token in _EMPTY:
            continue
        else:
            content += _terms(token)
    return Words(tuple(content), tuple(values), not NEGATIONS.isdisjoint(found))


def content_of(text: str) -> set[str]:
    """The distinct content words and digits of a text as they are written: how rich it is."""
    found = set(_WORD.findall(text.lower())) - _EMPTY
    plain = (word if word.isascii() else without_accents(fold(word)) for word in found)
    return {term for word in plain for term in _terms(word)}


def _terms(word: str) -> Iterable[str]:
    """Its stem; of a script without spaces, where a word may be a whole line, its overlapping pairs of characters."""
    if has_unspaced(word):
        return (word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return (stem(word),)


def _kind(found: Sequence[str], index: int) -> str:
    if found[index][0] == "@":
        return DATE
    before = found[index - 1] if index else ""
    after = found[index + 1] if index + 1 < len(found) else ""
    return before if before in _SIGNS else UNITS.get(after, NUMBER)


def _bound(found: Sequence[str], index: int) -> str:
    before = found[max(0, index - 3) : index]
    before = before[:-1] if before and before[-1] in _SIGNS else before
    return _BOUNDS.get(" ".join(before[-2:])) or _BOUNDS.get(" ".join(before[-1:])) or ""


def agree(value: Value, others: Iterable[Value]) -> bool:
    """Whether one of the others says the same, more exactly or less."""
    return any(_agree(value, other) for other in others)


def _agree(a: Value, b: Value) -> bool:
    if a.token == b.token:
        return True
    if a.amount is None or b.amount is None:
        is_plain_years = "-" not in a.token and "-" not in b.token
        return not is_plain_years and likeness(a.token, b.token) > 0
    if a.bound or b.bound:
        (low, high), (other_low, other_high) = _range(a.bound, a.amount), _range(b.bound, b.amount)
        return low <= other_high and other_low <= high
    is_rounded = round(a.amount) == round(b.amount) and a.amount.is_integer() != b.amount.is_integer()
    is_near = abs(a.amount - b.amount) <= NEARLY * max(abs(a.amount), abs(b.amount))
    return is_near and (is_rounded or likeness(a.token, b.token) > 0)


def _range(bound: str, amount: float) -> tuple[float, float]:
    slack = NEARLY * abs(amount)
    return (-inf if bound == "<" else amount - slack), (inf if bound == ">" else amount + slack)


def same_amounts(text: str, other: str) -> bool:
    """Whether each typed value of a text is stated by another, perhaps in another unit: 5 km and 3.1 miles."""
    here, there = values_in(text), values_in(other)
    return bool(here) and all(any(relation(one, each) for each in there) for one in here)


def exclude(text: str, other: str, kind: str) -> bool:
    """Whether typed values of one kind confirm that two texts contradict each other; where none is found, they do."""
    typed = [[one for one in values_in(each) if (one.kind == DATE) == (kind == DATE)] for each in (text, other)]
    found = {relation(one, each) for one in typed[0] for each in typed[1]}
    return not found or (False in found and True not in found)


def written(text: str, value: Value) -> tuple[int, int] | None:
    """Where a value stands in a text, as it is written there; None: in words, or nowhere."""
    spans = (found.span() for found in _WRITTEN.finditer(text))
    return next((span for span in spans if value.token in tokens(text[slice(*span)])), None)


def as_written(text: str, values: Iterable[Value]) -> tuple[str, ...]:
    """Values as a text has them, on one line."""
    line = " ".join(text.split())
    spans = [(value, written(line, value)) for value in values]
    return tuple(plainly(value) if span is None else line[slice(*span)] for value, span in spans)


def plainly(value: Value) -> str:
    """A value that is not written in figures."""
    number = value.token[1:].strip("-") if value.amount is None else f"{value.amount:,g}"
    if value.kind in _SIGNS:
        return f"{value.kind}{number}"
    return number if value.kind in (DATE, NUMBER) else f"{number} {value.kind}"


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its ending, so that "inventing" meets "invented"."""
    for ending, put in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not (ending == "s" and word.endswith("ss")):
            return word[: -len(ending)] + put
    return word


_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("edly", ""), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""))
