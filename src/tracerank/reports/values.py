"""The one seam to ``answers/``: the words, numbers and dates of a text, and which of them contradict each other."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from tracerank.answers.english import NEGATIONS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.values import is_value, likeness, tokens
from tracerank.answers.meaning.words import STOP
from tracerank.answers.numbers import UNITS
from tracerank.answers.scripts import has_unspaced
from tracerank.answers.text_keys import fold, without_accents

DATE, NUMBER = "date", "number"
_SIGNS = frozenset("%$£€")
_WORD = lazy_pattern(r"[0-9][0-9,]*(?:\.[0-9]+)?|[^\W\d_]+")
_EMPTY = (
    STOP
    | _SIGNS
    | frozenset(
        words(
            "include includes included including well however although because since until upon within without among "
            "while through between against more most other such only own same very can just may might several various "
            "many"
        )
    )
)


class Value(NamedTuple):
    """A number or a date in a text."""

    kind: str
    """Only values of one kind are compared: a date, an amount of a currency, a unit, or a plain number."""
    token: str


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
            values.append(Value(_kind(found, index), token))
        elif token in _EMPTY:
            continue
        else:
            content += _terms(token)
    return Words(tuple(content), tuple(values), not NEGATIONS.isdisjoint(found))


def content_of(text: str) -> set[str]:
    """The distinct content words and digits of a text as they are written: how rich it is."""
    found = set(_WORD.findall(without_accents(fold(text)).lower()))
    return {term for word in found - _EMPTY for term in _terms(word)}


def _terms(word: str) -> Iterable[str]:
    """Its stem; of a script without spaces, where a word may be a whole line, its overlapping pairs of characters."""
    if not word.isascii() and has_unspaced(word):
        return (word[at : at + 2] for at in range(max(1, len(word) - 1)))
    return (stem(word),)


def _kind(found: Sequence[str], index: int) -> str:
    if found[index][0] == "@":
        return DATE
    before = found[index - 1] if index else ""
    after = found[index + 1] if index + 1 < len(found) else ""
    return before if before in _SIGNS else UNITS.get(after, NUMBER)


def agree(value: Value, others: Iterable[Value]) -> bool:
    """Whether one of the others says the same, more exactly or less."""
    return any(likeness(value.token, other.token) > 0 for other in others)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its ending, so that "inventing" meets "invented"."""
    for ending, put in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not (ending == "s" and word.endswith("ss")):
            return word[: -len(ending)] + put
    return word


_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("edly", ""), ("ed", ""), ("es", ""), ("ly", ""), ("s", ""))
