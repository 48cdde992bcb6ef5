"""What a question asks for, as far as it helps to compare answers: its words, the kind of answer, its options.

Only the words of the question count, never an answer. An empty question asks for nothing in particular.
"""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tracerank.answers.english import AUXILIARIES, QUESTION_WORDS
from tracerank.answers.meaning.relations import Relation, read_relation
from tracerank.answers.meaning.values import is_value, tokens
from tracerank.answers.meaning.words import GENERIC, REGIONS, STOP, stem
from tracerank.answers.scripts import is_unspaced
from tracerank.answers.text_keys import fold, tokens_of
from tracerank.answers.units import CURRENCIES, UNITS

MAX_QUESTION = 10_000
"""Characters that are read of a question."""
POLAR, CHOICE, DATE, NUMBER, WHO, WHERE, OTHER = "polar", "choice", "date", "number", "who", "where", "other"
# "Is it Rome?", and also "Given what we know, is it Rome?"
_MAY_BE_POLAR = re.compile(rf"(?:\A|[,:;.?!-] )(?:{'|'.join(sorted(AUXILIARIES))})\b", re.I)
_WHICH_YEAR = re.compile(r"\b(?:what|which) years?\b|哪一?年|何年(?!間)|몇 ?년(?:도|에)|ปี(?:ใด|ไหน|อะไร)", re.I)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|deep|large|big|fast|often)\b"
    r"|\b(?:what|which) (?:is|was|are|were) the (?:total |approximate |average |estimated )?(?:area|population|height"
    r"|length|width|depth|distance|capacity|seating capacity|number|size|elevation|price|cost|age|temperature|weight"
    r"|speed|percentage)\b",
    re.I,
)
_UNIT_NAMES = CURRENCIES.keys() | UNITS.keys()
_AUXILIARY = "|".join(sorted(AUXILIARIES))
_POLAR = re.compile(rf"(?:\A|, ?)(?:{_AUXILIARY})\b", re.I)
_WH = re.compile(r"\b(who|whom|whose|what|which|when|where|why|how)\b", re.I)
_NUMBER = re.compile(r"\bwhat [\w ]{0,20}number\b", re.I)
_DATE = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|century|decade)\b|\bbirthday\b|\bdate of\b|\byear\b.{0,30}\?",
    re.I,
)
_YEAR = re.compile(r"\byears?\b|\bdecade\b|\bcentury\b", re.I)
_FULL_DATE = re.compile(
    r"\b(?:what|which) (?:exact |specific )?(?:date|day)\b|\bbirthday\b|\bdate of\b|\bthe (?:exact )?date\b", re.I
)
_TIMELY = ("when", "year", "date", "day", "month", "century", "decade")
"""What a question must have for one of the three patterns above to match: few do, and patterns take long to say no."""
_WH_WORD = r"(?:who|whom|what|which|when|where|how)"
_SEVERAL = re.compile(
    rf"\b{_WH_WORD}\b[^?.;]*?,? (?:and|and also|as well as) (?:in |on |at |by |for )?{_WH_WORD}\b"
    r"|\b(?:what|who|which) (?:are|were) (?:both )?the [\w-]+ and (?:the )?[\w-]+ (?:of|in)\b",
    re.I,
)
_ASKS_FOR = (
    r"\b(?:what|which|name the|title of|name of)\b(?: (?!is|was|are|were|did|does|do|has|had|of|in|on|by)[\w'-]+){0,3} "
)
_WORK = re.compile(
    rf"{_ASKS_FOR}(?:film|movie|song|album|book|novel|series|show|play|game|opera|record|poem|musical|title|sequel)s?\b"
    r"|\b(?:is|was) the (?:title|name) of (?:the|his|her|their|its) (?:[\w'-]+ ){0,2}"
    r"(?:film|movie|song|album|book|novel|play|game|opera|poem)\b",
    re.I,
)
_LEVEL = re.compile(rf"{_ASKS_FOR}(?:species|subspecies|breed|variety|cultivar|genus|dialect)\b", re.I)
_TURNED = re.compile(r"\A(is|was|are|were) (.{2,80}?) (\w+er than|(?:more|less) \w+ than)", re.I)
_VALUE_PART = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:year|date|day|month)\b|\bhow (?:many|much|old|long|far|tall)\b", re.I
)
_PLACE_WORDS = frozenset(
    ("city", "town", "place", "birthplace", "county", "located", "village", "state", "country", "born")
)
_LISTED = re.compile(r"(?:[,:;-] ?|\bbetween |\bout of )([^,:;?]{2,80}?),? (?:or|and) ([^,:;?]{2,80})\Z")
_NAMED = r"(?:[A-Z0-9\"'(][\w.'\")-]*+|of|the|and|von|de|van|in|on|a)"
_OFFERED = re.compile(
    rf"\b(?:[Ii]s|[Ww]as|[Aa]re|[Ww]ere|[Dd]id|Does|Do|Has|Had)(?: the| film"
    rf"| movie)? ((?:[A-Z\"'][\w.'\"-]*+|of|the|von|de|van)"
    rf" ?(?:{_NAMED} ?){{0,7}}) or ({_NAMED}(?: {_NAMED}){{0,7}})"
)
_REGION_ENDS = frozenset(name.split()[1] for name in REGIONS if name.count(" ") == 1)
_ASIDE = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True, eq=False)  # a question is read once; caches then look it up by identity
class QuestionProfile:
    """What a question asks for."""

    words: frozenset[str]
    """Its telling words, as they stand and without endings."""
    idle: frozenset[str]
    """Words that say nothing new: its own, and those that never tell anything."""
    kind: str
    telling: tuple[str, ...] = ()
    """The words that tell something, in order."""
    relation: Relation | None = None
    """What a yes states: "Is A older than B?"."""
    options: tuple[tuple[str, ...], ...] = ()
    """The words of the two options of an either-or question; empty: it offers none."""
    wants_difference: bool = False
    """Whether a yes means that two things differ: "Are they from different countries?"."""
    wants_place: bool = False
    wants_year: bool = False
    wants_day: bool = False
    """Whether a date without its day is less than what is asked."""
    regions: frozenset[str] = frozenset()
    """States and countries that it names."""
    several: bool = False
    """Whether it asks for two things at once: "Who wrote it, and when?"."""
    several_values: bool = False
    """Whether one of them is a date or a number."""
    wants_work: bool = False
    """Whether it asks for the title of a film, a book, a game."""
    wants_level: bool = False
    """Whether it asks for a species, a breed or the like, of which a wider kind is no answer."""
    said: frozenset[str] = frozenset()
    """All its words."""
    sought: tuple[str, ...] = ()
    """Its words from the first question word on; empty: it has none."""
    may_be_polar: bool | None = None
    """Whether yes or no can answer it; None: unknown, there is no question, or none whose wording says so."""
    wants: str = ""
    """``number``, ``date``, ``name``, or empty: any."""
    which_year: bool = False
    """Whether it asks which year, so that a day of it is more than is asked."""
    units: frozenset[str] = frozenset()
    """Units that it names: "How many miles" may be answered without them."""

    @property
    def is_where_or_when(self) -> bool:
        return self.sought[:1] in (("where",), ("when",))

    def weight(self, word: str) -> float:
        """How much a word of an answer tells."""
        if word in STOP:
            return 0.05
        weight = 1.2 if is_value(word) else 0.45 if word in GENERIC else 1.0
        return weight * 0.4 if word in self.words or stem(word) in self.words else weight


def read_question(question: str) -> QuestionProfile:
    """What is asked, from the words of the question alone."""
    return _read(question[:MAX_QUESTION])


@lru_cache(maxsize=256)  # every answer of a pool asks for it again
def _read(question: str) -> QuestionProfile:
    text = question.strip()
    said = tokens(text)
    telling = {word for word in said if word not in STOP}
    options = _options(text)
    folded = fold(text)
    plain = tokens_of(folded)
    first_wh = next((word for word in plain if word in QUESTION_WORDS), "")
    # a pattern takes long to say no
    which_year = (not folded.isascii() or "year" in folded.lower()) and bool(_WHICH_YEAR.search(folded))
    wants = {"who": "name", "whom": "name", "where": "name", "when": "date"}.get(first_wh, "")
    wants = "number" if _HOW_MANY.search(folded) else "date" if which_year else wants
    first = found[0].lower() if (found := _WH.search(text)) else ""
    has_both = not first and bool({"both", "same"} & set(said))
    lowered = text.lower()
    is_timely = any(hint in lowered for hint in _TIMELY)
    if options:
        kind = CHOICE
    elif _POLAR.match(text) or has_both:
        kind = POLAR
    elif wants == "number" or ("number" in lowered and _NUMBER.search(text)):
        kind = NUMBER
    elif is_timely and _DATE.search(text):
        kind = DATE
    else:
        kind = {"who": WHO, "whom": WHO, "whose": WHO, "where": WHERE}.get(first, OTHER)
    words = frozenset(telling | {stem(word) for word in telling})
    return QuestionProfile(
        words=words,
        idle=words | STOP,
        kind=kind,
        telling=tuple(word for word in said if word in telling),
        relation=read_relation(_TURNED.sub(r"\2 \1 \3", text.rstrip("?"))) if kind == POLAR else None,
        options=options,
        wants_difference=not {"different", "not", "neither", "only", "differ"}.isdisjoint(said),
        wants_place=kind == WHERE or not _PLACE_WORDS.isdisjoint(telling),
        wants_year=is_timely and bool(_YEAR.search(text)),
        wants_day=is_timely and bool(_FULL_DATE.search(text)),
        regions=regions_in(said),
        several=(several := bool(_SEVERAL.search(text))),
        several_values=several and bool(_VALUE_PART.search(text)),
        wants_work=kind == OTHER and bool(_WORK.search(text)),
        wants_level=kind == OTHER and bool(_LEVEL.search(text)),
        said=frozenset(plain),
        sought=tuple(plain[plain.index(first_wh) :]) if first_wh else (),
        may_be_polar=_may_be_polar(folded, plain, first_wh),
        wants=wants,
        which_year=which_year,
        units=_units(plain),
    )


def regions_in(words: tuple[str, ...]) -> frozenset[str]:
    """States and countries among the words."""
    found = [REGIONS[word] for word in words if word in REGIONS]
    if not _REGION_ENDS.isdisjoint(words):
        found += [REGIONS[name] for a, b in itertools.pairwise(words) if (name := f"{a} {b}") in REGIONS]
    return frozenset(found)


def _options(text: str) -> tuple[tuple[str, ...], ...]:
    body = text.rstrip("?. ")
    found = None
    if " or " in body or "between " in body.lower():
        found = _LISTED.search(body[-400:])
    if found is None and " or " in body:
        found = _OFFERED.search(body)
    if found is None:
        return ()
    first, second = (
        tuple(word for word in tokens(_ASIDE.sub("", option)) if word not in ("film", "movie"))
        for option in found.groups()
    )
    return (first, second) if first and second and first != second else ()


def _may_be_polar(text: str, words: list[str], first_wh: str) -> bool | None:
    if not words or is_unspaced(text):
        return None
    return not first_wh or bool(_MAY_BE_POLAR.search(text))


def _units(words: Iterable[str]) -> frozenset[str]:
    if _UNIT_NAMES.isdisjoint(words):
        return frozenset()
    named = (CURRENCIES.get(word) or UNITS.get(word) for word in words if word.isalpha() and len(word) > 1)
    return frozenset(unit for unit in named if unit)
