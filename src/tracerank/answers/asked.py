"""What a question asks for, as far as it helps to compare answers: its words, and the kind of answer it wants.

An empty question asks for nothing in particular, and nothing is assumed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tracerank.answers.english import AUXILIARIES, QUESTION_WORDS
from tracerank.answers.scripts import is_unspaced
from tracerank.answers.text_keys import fold, tokens_of
from tracerank.answers.units import CURRENCIES, UNITS

LONGEST_QUESTION = 10_000
"""Characters that are read of a question."""
# "Is it Rome?", and also "Given what we know, is it Rome?"
_POLAR = re.compile(rf"(?:\A|[,:;.?!-] )(?:{'|'.join(sorted(AUXILIARIES))})\b", re.I)
_YEAR = re.compile(r"\b(?:what|which) years?\b|哪一?年|何年(?!間)|몇 ?년(?:도|에)|ปี(?:ใด|ไหน|อะไร)", re.I)
_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|deep|large|big|fast|often)\b"
    r"|\b(?:what|which) (?:is|was|are|were) the (?:total |approximate |average |estimated )?(?:area|population|height"
    r"|length|width|depth|distance|capacity|seating capacity|number|size|elevation|price|cost|age|temperature|weight"
    r"|speed|percentage)\b",
    re.I,
)
_UNIT_NAMES = CURRENCIES.keys() | UNITS.keys()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read for the comparison of its answers."""

    words: frozenset[str] = frozenset()
    may_be_polar: bool | None = None
    """Whether yes or no can answer it; None: unknown, there is no question, or none whose wording tells."""
    wants_year: bool = False
    wants: str = ""
    """``number``, ``date``, ``name``, or empty: any."""
    is_where_or_when: bool = False
    sought: tuple[str, ...] = ()
    """The words of the question from its first question word on; empty: it has none."""
    units: frozenset[str] = frozenset()
    """Units that the question names: "How many miles" may be answered without them."""


def read_question(question: str) -> Asked:
    """What is asked; only the words of the question count, never an answer."""
    return _read(question[:LONGEST_QUESTION])


@lru_cache(maxsize=256)  # every answer of a pool asks for it again
def _read(question: str) -> Asked:
    text = fold(question)
    words = tokens_of(text)
    if not words:
        return Asked()
    first_wh = next((word for word in words if word in QUESTION_WORDS), "")
    # A pattern takes long to say no.
    wants_year = (not text.isascii() or "year" in text.lower()) and bool(_YEAR.search(text))
    wants = ""
    if _NUMBER.search(text):
        wants = "number"
    elif wants_year or first_wh == "when":
        wants = "date"
    elif first_wh in ("who", "whom", "where"):
        wants = "name"
    sought = tuple(words[words.index(first_wh) :]) if first_wh else ()
    may_be_polar: bool | None = not first_wh or bool(_POLAR.search(text))
    if not text.isascii() and is_unspaced(text):
        may_be_polar = None
    is_where_or_when = first_wh in ("where", "when")
    return Asked(frozenset(words), may_be_polar, wants_year, wants, is_where_or_when, sought, _units(words))


def _units(words: Iterable[str]) -> frozenset[str]:
    if _UNIT_NAMES.isdisjoint(words):
        return frozenset()
    named = (CURRENCIES.get(word) or UNITS.get(word) for word in words if word.isalpha() and len(word) > 1)
    return frozenset(unit for unit in named if unit)
