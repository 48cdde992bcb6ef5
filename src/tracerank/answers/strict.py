"""What an answer says, read strictly: keys that name it, and shorter answers that it may be a longer form of.

The strict mode of the one reading: the same values, lists and sentences, but spellings only where they are the same
name, values only where they are equal, and a sentence only where it puts its answer.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from tracerank.answers.abstentions import abstains
from tracerank.answers.english import HONORIFICS, PRONOUNS, TITLES
from tracerank.answers.focus import focus_spans
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.reading import read_answer
from tracerank.answers.meaning.words import SPELLINGS
from tracerank.answers.places import PLACES
from tracerank.answers.question_profile import QuestionProfile, read_question
from tracerank.answers.text_keys import bounded_cache, comparable, fold, tokens_of
from tracerank.answers.units import BEFORE_NUMBERS, CURRENCIES, MEASURED, MONEY, UNITS
from tracerank.answers.value_scan import values_in
from tracerank.answers.values import DATE, DECADE, NUMBER, NUMERAL, ORDINAL, SCORE, Value

MAX_ANSWER = 10_000
"""Characters; longer texts are compared letter by letter, whatever their case and white space."""
_SHORT = 200
"""Characters of a name whose key is remembered."""
_NOTE = lazy_pattern(
    r"\n\s*+(?:[\[(*_-]++\s*+)?(?:note|explanation|reason(?:ing)?|sources?|evidence|references?|justification|confidence)\b"
    r"|\n[^\S\n]*+\n\s*+[\[(]",
    re.I,
)
_EMPHASIS = " *_\"'"
_CURRENCIES = "|".join(filter(str.isalpha, BEFORE_NUMBERS))
_BEFORE_VALUE = lazy_pattern(
    r"(?:(?:in|on|from|since|the|year|about|approximately|approx\.?|around|roughly|circa|ca?\.|an|estimated|number|n[or]\.|over"
    r"|above|under|below|(?:more|less|fewer|greater) than|at (?:least|most)|up to|before|after|by|until|a\.?d\.?|minus"
    rf"|negative|{_CURRENCIES}|(?:mon|tues|wednes|thurs|fri|satur|sun)day,?|us|[~≈#$£€¥₹₩₽<>≤≥-])\s*)*",
    re.I,
)
_BEHIND_VALUE = lazy_pattern(r"[\s.]*(?:a\.?d\.?|c\.?e\.?)?[\s.]*", re.I)
_UNSURE = lazy_pattern(
    r"0[0-9]+|[0-9]{1,3}\.000|(?!0?([0-9]+)[/.]0?\1[/.])(?:0?[0-9]|1[0-2])[/.](?:0?[0-9]|1[0-2])[/.][0-9]{4}"
)
"""What may be a name, or two values: 007, 10.000, 05/06/2018."""
_COUNTED = lazy_pattern(r"\s(?:[a-z]{2,} )?(?:[a-z]{3,}s|people|children|men|women)")
_MEASURED = lazy_pattern(r"\s(?:in )?(?:long|wide|tall|high|deep|thick|away|length|width|height|depth)")
_POLAR = lazy_pattern(r"(yes|yeah|yep|no|nope)\b(?!\.\s?[0-9])(.*)", re.I | re.S)
_POLAR_SUBJECTS = PRONOUNS - {"one", "who", "what"}
_PARENTHESIS = lazy_pattern(r"([^()\[\]]{1,200}?)\s*[(\[]([^()\[\]]{1,200})[)\]]\.?")
_PREPOSITION = lazy_pattern(r"(?:in|at|on|from|by|to)\s+(?=\S)", re.I)
# Not the A of "J. A. Smith", "J A Smith" and "Vitamin A".
_ARTICLE = re.compile(r"(?<![\w.'-])(?<!\b[a-z]\s)(?:a|an|the)(?=\s)", re.I)


class Target(NamedTuple):
    """A shorter answer that an answer may stand for."""

    key: str
    left_out: frozenset[str] = frozenset()
    """What the shorter answer does not say: Oregon of "Portland, Oregon"."""


class StrictReading(NamedTuple):
    """One answer, read strictly."""

    keys: tuple[str, ...] = ()
    """Answers that share a key are the same; empty: no answer at all."""
    targets: tuple[Target, ...] = ()
    is_name: bool = False
    """False: a number, a date, yes or no, or nothing."""


def read_strictly(answer: str | None, question: str = "") -> StrictReading:
    """The reading of an answer to a question; abstentions and empty texts say nothing."""
    if answer is not None and len(answer) > MAX_ANSWER:
        return StrictReading((f"text:{' '.join(answer.lower().split())}",), is_name=True)
    said = comparable(answer or "")
    note = _NOTE.search(said)
    said = said[: note.start()] if note and said[: note.start()].strip() else said
    text = fold(said).strip(_EMPHASIS)
    if not text or abstains(said, question):
        return StrictReading()
    profile = read_question(question)
    if polar := _polarity(text, profile):
        return StrictReading((f"polar:{polar}",))
    if value := _valued(text, profile):
        return StrictReading((value.key,), tuple(_uncounted(value)))
    keys = [f"text:{name_key(text)}", *_names_in(text)]
    items = read_answer(said, question).statement
    if items.items and not items.is_choice:
        keys.append(f"list:{sorted(sorted(item) for item in items.items)}")
    found = {target.key: target for target in sorted(_targets(text, said, profile), key=_rank)}
    return StrictReading(tuple(keys), tuple(one for one in found.values() if one.key not in keys), is_name=True)


def _rank(target: Target) -> tuple[int, str]:
    return -len(target.left_out), target.key


def _polarity(text: str, profile: QuestionProfile) -> str | None:
    found = _POLAR.match(text)
    if found is None:
        return None
    said = "yes" if found[1].lower()[0] == "y" else "no"
    rest = found[2].strip(" .,;:!-")
    if not rest:
        return said
    if profile.may_be_polar is False or rest.lower().startswith(("and no", "and yes", "one ")):
        return None
    has_break = found[2].lstrip(" ")[:1] in tuple(",.;:!-") and not found[2].startswith("-")
    return said if has_break or rest.split()[0].lower().strip(",") in _POLAR_SUBJECTS else None


class _Valued(NamedTuple):
    """A value that is all that a text says, but for a noun that it counts."""

    key: str
    counted: frozenset[str] = frozenset()
    uncounted: str = ""


def _valued(text: str, profile: QuestionProfile) -> _Valued | None:
    values = values_in(text)
    if len(values) != 1 or not _BEFORE_VALUE.fullmatch(text, 0, values[0].start):
        return None
    value, rest = values[0], text[values[0].end :]
    if _UNSURE.fullmatch(value.shown) or not (key := _value_key(value, text, profile)):
        return None
    if _BEHIND_VALUE.fullmatch(rest) or (value.kind == SCORE and rest.strip() in MEASURED):
        return _Valued(key + MEASURED.get(rest.strip(), ("",))[0])
    if value.kind != NUMBER or not (_MEASURED if value.unit else _COUNTED).fullmatch(rest):
        return None
    counted = frozenset(tokens_of(rest))
    if value.unit or profile.said.issuperset(counted):
        return _Valued(key)
    # Twelve members are twelve, as long as nobody else counts twelve of something else.
    return _Valued(f"{key}~{name_key(rest)}", counted, key)


def _uncounted(value: _Valued) -> Iterator[Target]:
    if value.uncounted:
        yield Target(value.uncounted, value.counted)


def _value_key(value: Value, text: str, profile: QuestionProfile) -> str:
    """Equal for equal values; empty where it is part of a name."""
    if value.kind == NUMBER:
        unit = text[value.stop or value.end : value.end].strip(" -").lower()
        if (CURRENCIES if value.unit in MONEY else UNITS).get(unit, unit) in profile.units:
            return f"number:{value.bound}{_digits(value.count)}|"
        return f"number:{value.bound}{_digits(value.number)}|{value.unit}{value.period}"
    if value.kind == DATE:
        if not any(map(str.isdigit, value.shown)):
            return ""  # Nineteen Eighty-Four
        year, month, day = value.parts
        if not month or (profile.which_year and year):
            return f"number:{value.bound}{year}|"
        return f"date:{value.bound}{year}-{month}-{day}" if (year or day) and _is_day(year, month, day) else ""
    if value.kind in (ORDINAL, DECADE):
        return f"{value.kind}:{value.number:g}"
    return f"range:{value.parts}" if value.kind == SCORE else ""


def _digits(number: float) -> str:
    return f"{number:.0f}" if number.is_integer() else f"{number:.12g}"


def _is_day(year: int, month: int, day: int) -> bool:
    """Whether a calendar has it; a day without a year may be the 29th of February."""
    try:
        date(year or 2000, month, day or 1)
    except ValueError:
        return False
    return True


@bounded_cache(4096, _SHORT)  # rollouts give the same answers again and again
def name_key(text: str) -> str:
    """Equal keys, equal names, whatever their case, accents, punctuation, initials, numerals and abbreviations."""
    parts, at = [], 0
    for value in values_in(text):
        digits = value.kind in (ORDINAL, NUMERAL) or (value.kind == NUMBER and not value.shown[:1].isdigit())
        stop = value.stop or value.end
        if digits and value.start >= at:
            ending = "th" if value.kind == ORDINAL else ""
            parts += [text[at : value.start], f" {value.count or value.number:g}{ending} "]
            at = stop
    tokens = _with_initials(tokens_of(_ARTICLE.sub("", "".join([*parts, text[at:]]))))
    if len(tokens) > 2 and tokens[0] in HONORIFICS:
        del tokens[0]
    if len(tokens) > 1:
        last = "street" if tokens[-1] == "st" else tokens[-1]
        tokens = [SPELLINGS.get(token, token) for token in (*tokens[:-1], last)]
    # Without spaces, so that Spider-Man, Spider Man and Spiderman are one; numbers stay parted.
    key = re.sub(r"(?<=[0-9]) (?=[0-9])", "_", " ".join(tokens)).replace(" ", "")
    return key or text


def _with_initials(tokens: list[str]) -> list[str]:
    """J K Rowling as JK Rowling."""
    merged: list[str] = []
    is_run = False
    for token in tokens:
        is_initial = len(token) == 1 and token.isalpha()
        if is_initial and is_run:
            merged[-1] += token
        else:
            merged.append(token)
        is_run = is_initial
    return merged


def _names_in(text: str) -> list[str]:
    """The keys of both names of "World Health Organization (WHO)"."""
    found = _PARENTHESIS.fullmatch(text)
    if found is None:
        return []
    short, long = sorted(found.groups(), key=len)
    initials = "".join(word[0] for word in re.findall(r"[A-Za-z]+", long) if word[0].isupper())
    letters = short.replace(".", "")
    return [f"text:{name_key(name)}" for name in (short, long)] if len(letters) > 1 and letters == initials else []


def _targets(text: str, said: str, profile: QuestionProfile) -> Iterator[Target]:
    yield from _shorter_names(text, profile)
    opening = _PREPOSITION.match(text)
    if opening and (text[0].islower() or profile.is_where_or_when):
        yield from _with_shorter(text[opening.end() :], profile)
    for span, is_strong in focus_spans(said):
        if is_strong or not profile.said.issuperset(tokens_of(span)):
            yield from (target for target in _with_shorter(span, profile) if _fits(target.key, profile))


def _fits(key: str, profile: QuestionProfile) -> bool:
    is_value = not key.startswith("text:")
    if profile.wants == "number":
        return key.startswith("number:")
    return is_value if profile.wants == "date" else not (is_value and profile.wants == "name")


def _with_shorter(span: str, profile: QuestionProfile) -> Iterator[Target]:
    if value := _valued(span, profile):
        yield Target(value.key)
        yield from _uncounted(value)
    else:
        yield Target(f"text:{name_key(span)}")
        yield from _shorter_names(span, profile)


def _shorter_names(text: str, profile: QuestionProfile) -> Iterator[Target]:
    """The name without the country, the parenthesis or the title that goes with it."""
    parts = [part.strip(" .") for part in text[:300].split(",")]
    left_out: set[str] = set()
    # "France, Spain" and "Anna, Bea" of "Anna or Bea?" are lists: what qualifies cannot be qualified.
    while len(parts) > 1 and _is_qualifier(parts[-1], profile) and not _is_qualifier(parts[0], profile):
        left_out.add(name_key(parts.pop()))
        yield Target(f"text:{name_key(', '.join(parts))}", frozenset(left_out))
    if found := _PARENTHESIS.fullmatch(text):
        yield Target(f"text:{name_key(found[1])}", frozenset({name_key(found[2])}))
    title, _, name = text.partition(" ")
    if title.lower().rstrip(".") in TITLES and len(name.split()) > 1 and not name.lower().startswith(("of ", "the ")):
        yield Target(f"text:{name_key(name)}", frozenset({name_key(title)}))


def _is_qualifier(part: str, profile: QuestionProfile) -> bool:
    return name_key(part) in _PLACE_KEYS or (bool(part) and profile.said.issuperset(tokens_of(part)))


_PLACE_KEYS = frozenset(map(name_key, PLACES))
