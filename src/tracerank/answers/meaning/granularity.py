"""Bare answers that share words and yet say more or less than each other: "Japan" beside the town, 2017 beside a day.

Only for two short answers that name something and nothing else: of sentences, ``anchors.py`` tells what they assert.
"""

import re
from collections.abc import Sequence
from itertools import combinations

from tracerank.answers import english
from tracerank.answers.meaning.comparing import Lexicon, Words, are_elsewhere
from tracerank.answers.meaning.contradiction import agree
from tracerank.answers.meaning.reading import AnswerReading
from tracerank.answers.meaning.values import is_value, likeness, tokens
from tracerank.answers.meaning.words import GENERIC, REGIONS, STOP
from tracerank.answers.question_profile import DATE, NUMBER, QuestionProfile

_RANGE = re.compile(
    r"[0-9]{3,4}\s?(?:[-–—/]|to|until|till|through)\s?[0-9]{2,4}\b(?![-/])|\b(?:between|from)\b.{1,40}\b(?:and|to|until|till)\b",
    re.I,
)
_BOUND = re.compile(r"\W*(before|after|until|since|by|prior to|later than|earlier than)\b", re.I)
_AND = re.compile(r"\s+(?:and|&)\s+|,\s*(?:and\s+|&\s*)?|\s*/\s*", re.I)
_HAS_AND = re.compile(r"\s(?:and|&)\s", re.I)
_OF_STATES = frozenset(
    english.words(
        "republic kingdom federal democratic people peoples nation national nationality country empire union state "
        "states commonwealth descent origin citizen born"
    )
)
"""What may stand with the name of a country and leave it one."""
_SCHOOLS = frozenset(("university", "college", "school"))
_TELLING = 0.9
_TRADES = frozenset(("occupation", "profession", "job", "career", "professions", "occupations", "trade"))


def differs_in_detail(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> bool:
    """Whether one of two bare answers says something that the other leaves open or excludes."""
    known = lexicon.memory.details.get((a.text, b.text))
    if known is None:
        known = lexicon.memory.details[a.text, b.text] = _differs_in_detail(a, b, lexicon)
    return known


def _differs_in_detail(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> bool:
    if a.is_sentence or b.is_sentence or not (a.cores and b.cores) or agree(a, b, lexicon.profile):
        return False
    if _values_differ(a, b, lexicon.profile) or are_elsewhere(a.regions, b.regions):
        return True
    return _is_wider(a, b, lexicon) or _is_wider(b, a, lexicon)


def strays(readings: Sequence[AnswerReading], others: Sequence[int]) -> list[int]:
    """Of the others, those that plain Paris is not: not the one that fewer answers place it in; of a tie, neither."""
    placed = [one for one in others if readings[one].regions]
    votes = {
        one: sum(not are_elsewhere(readings[one].regions, readings[other].regions) for other in placed)
        for one in placed
    }
    best = [one for one in placed if votes[one] == max(votes.values())]
    if any(are_elsewhere(readings[a].regions, readings[b].regions) for a, b in combinations(best, 2)):
        return placed
    return [one for one in placed if are_elsewhere(readings[one].regions, readings[best[0]].regions)] if best else []


def _values_differ(a: AnswerReading, b: AnswerReading, profile: QuestionProfile) -> bool:
    """Other house numbers; a year and a day of it, unless a year is asked for; a year and a time that it begins."""
    if not (a.values and b.values) or (a.measure and b.measure):
        return False
    of_a, of_b = [value for value, _ in a.values], [value for value, _ in b.values]
    if _has_own(of_a, of_b) and _has_own(of_b, of_a):
        return True
    if profile.kind not in (DATE, NUMBER):
        return False
    if bool(_RANGE.search(a.text)) != bool(_RANGE.search(b.text)):
        return True
    if profile.kind == NUMBER:
        return False
    is_date = all(map(is_value, (*a.cores[0].words, *b.cores[0].words)))
    is_coarser = is_date and not profile.wants_year and ("-" in of_a[0]) != ("-" in of_b[0])
    return is_coarser or _bound(a.text) != _bound(b.text)


def _has_own(values: list[str], others: list[str]) -> bool:
    return any(not any(likeness(value, other) for other in others) for value in values)


def _bound(text: str) -> str:
    found = _BOUND.match(text)
    return found[1].lower() if found else ""


def _is_wider(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> bool:
    """Whether the first leaves open what the second says."""
    short, long = a.cores[0].words, b.cores[0].words
    if _is_one_of(a, b, lexicon):
        return True
    own = [word for word in long if not _is_held(word, short, lexicon)]
    if not own or lexicon.profile.options or not all(_is_held(word, long, lexicon) for word in short):
        return False
    if all(word in REGIONS for word in short) and not _OF_STATES.issuperset(own) and "york" not in short:
        return True
    if "state" in own and not _SCHOOLS.isdisjoint(short):
        return True
    if not _TRADES.isdisjoint(lexicon.profile.words):
        return False  # an actor may be told as a stage actor
    return GENERIC.issuperset(short) and any(lexicon.profile.weight(word) >= _TELLING for word in own)


def _is_held(word: str, words: Words, lexicon: Lexicon) -> bool:
    return word in words or not lexicon.near(word).keys().isdisjoint(words)


def _is_one_of(one: AnswerReading, listed: AnswerReading, lexicon: Lexicon) -> bool:
    """Lime, beside rum, lime and cola; a trade may be told with others."""
    if not _HAS_AND.search(listed.text) or _HAS_AND.search(one.text) or "," in one.text:
        return False
    profile = lexicon.profile
    if not _TRADES.isdisjoint(profile.words):
        return False
    items = [tuple(word for word in tokens(part) if word not in STOP) for part in _AND.split(listed.text)]
    held = [any(_is_held(word, one.cores[0].words, lexicon) for word in item) for item in items]
    return any(held) and any(
        item and not is_held and profile.words.isdisjoint(item) for item, is_held in zip(items, held, strict=True)
    )
