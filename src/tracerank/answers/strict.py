"""What an answer says, read strictly: keys that name it, and shorter answers that it may be a longer form of.

The strict mode of the one reading: the same values, lists and sentences, but spellings only where they are the same
name, values only where they are equal, and a sentence only where it puts its answer: before and behind the verb and
behind prepositions, by a closed list of words and no parser.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from tracerank.answers.abstentions import abstains
from tracerank.answers.english import (
    BOUNDARIES,
    COPULAS,
    FILLERS,
    HONORIFICS,
    NEGATIONS,
    PLACES,
    PREPOSITIONS,
    PRONOUNS,
    TITLES,
    VERBS,
)
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.reading import read_answer
from tracerank.answers.meaning.spans import EDGES, Span, sentences
from tracerank.answers.meaning.words import SPELLINGS
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


MAX_TEXT = 1000
"""Characters of a paragraph; the answer of a longer one cannot be pointed to by rules."""
MAX_WORDS = 10
"""Words of an answer inside a sentence."""
_CORRECTION = lazy_pattern(r"\b(?:wrong|incorrect|correction|actually|wait|mistaken?)\b", re.I)
_CONTRAST = lazy_pattern(r"\b(?:but|however),?\s", re.I)
_CONCLUSION = lazy_pattern(r"\A(?:so|therefore|thus|hence|in conclusion|overall)\b|\banswer\b", re.I)
_BOLD = lazy_pattern(r"\*\*([^*]{1,120})\*\*")
_MARKED = lazy_pattern(r'"([^"]{1,120})"'), lazy_pattern(r"(?<!\*)\*([^*\s][^*]{0,120})\*(?!\*)")


def focus_spans(text: str) -> Iterator[tuple[str, bool]]:
    """What a folded paragraph may answer with, and whether it stands where also a word of the question may answer."""
    if len(text) > MAX_TEXT:
        return
    for sentence in _telling(text):
        sentence = _CONTRAST.split(sentence)[-1]  # "Many say Rome, but it is Paris"
        words = sentence.split()
        bare = [word.strip(EDGES).lower() for word in words]
        if any(word.replace("'", "") in NEGATIONS or word.endswith("n't") for word in bare) or "either" in bare:
            continue
        for span, is_strong in _spans(sentence, words, bare):
            is_choice = " or " in f" {span.lower()} "
            if 0 < len(span.split()) <= MAX_WORDS and span.lower() not in PRONOUNS and not is_choice:
                yield span, is_strong


def _telling(text: str) -> list[str]:
    """The first sentence, and the last when it concludes; none when a later one takes something back."""
    found = [text[start:end] for start, end in sentences(text, Span(0, len(text)))]
    if any(_CORRECTION.search(later) for later in found[1:]):
        return []
    return found[:1] + [last for last in found[1:][-1:] if _CONCLUSION.search(last)]


def _spans(sentence: str, words: list[str], bare: list[str]) -> Iterator[tuple[str, bool]]:
    marked = _BOLD.findall(sentence)
    if len(marked) == 1:
        yield _trimmed(marked[0]), True  # the writer points to it
        return
    verb = next((at for at in range(1, len(words)) if _is_verb(words[at], bare[at])), None)
    if verb is None:
        return
    yield _trimmed(" ".join(words[:verb])), True
    start = verb + 1
    if bare[verb] in COPULAS:
        while start < len(words) and bare[start] in FILLERS:
            start += 1
    yield _phrase(words, bare, start), bare[verb] in COPULAS
    later = [at for at in range(start, len(words)) if bare[at] in COPULAS]
    if later:
        yield _phrase(words, bare, later[-1] + 1), False
    behind = [at for at in range(verb, len(words) - 1) if bare[at] in PREPOSITIONS]
    if behind:
        yield _trimmed(" ".join(words[behind[-1] + 1 :])), False
    agents = [at for at in behind if bare[at] == "by"]
    if agents:
        yield _phrase(words, bare, agents[-1] + 1), False
    for sign in _MARKED:
        found = sign.findall(sentence)
        if len(found) == 1:
            yield _trimmed(found[0]), True


def _is_verb(word: str, bare: str) -> bool:
    return bare in VERBS or (bare.endswith("ed") and len(bare) > 4 and word[0].islower())


def _phrase(words: list[str], bare: list[str], start: int) -> str:
    """From the start to the end of the phrase."""
    end = start
    while end < len(words):
        if end > start and (bare[end] in BOUNDARIES or words[end].startswith("(")):
            break
        end += 1
        # "Paris, a city in" goes on with something else, "Paris, France" may not.
        goes_on = end < len(words) and words[end][0].islower()
        if words[end - 1].endswith((";", ":")) or (words[end - 1].endswith(",") and goes_on):
            break
    return _trimmed(" ".join(words[start:end]))


def _trimmed(span: str) -> str:
    """Without punctuation around it; a parenthesis that belongs to it stays closed."""
    span = span.strip(f"{EDGES}()[]")
    return f"{span})" if span.count("(") > span.count(")") else span
