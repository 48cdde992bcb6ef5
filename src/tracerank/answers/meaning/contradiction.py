"""Whether two answers exclude each other, by the typed parts of what they state; one rule for groups and for rightness.

Every test is symmetric and looks at two answers only. Rather misses a contradiction than invents one.
"""

import re
from collections.abc import Iterator

from tracerank.answers.english import words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.reading import AnswerReading
from tracerank.answers.meaning.relations import Relation
from tracerank.answers.meaning.statements import Name, Statement, numerals
from tracerank.answers.meaning.values import likeness
from tracerank.answers.meaning.words import GENERIC, NICKNAMES, RANKS, REGIONS, STOP
from tracerank.answers.question_profile import DATE, NUMBER, OTHER, POLAR, QuestionProfile
from tracerank.answers.value_scan import FILLING
from tracerank.answers.values import DATE as DATED
from tracerank.answers.values import NUMBER as NUMBERED
from tracerank.answers.values import ORDINAL, SCORE, VERSION, Value, relation

_ALIKE = 0.8
_TRADES = frozenset(words("occupation profession job career professions occupations trade nationality genre genres"))
_SEQUELS = frozenset(
    words(
        "returns return reloaded reborn revenge rises again begins forever legacy resurrection revolutions beyond "
        "sequel part chapter volume episode strikes back ii iii iv reunion reunited awakens origins remastered uncut"
    )
)
_OPPOSITES = {"to": "from", "under": "over", "before": "after", "with": "without", "up": "down", "in": "out"}
_OPPOSITES |= {
    "north": "south",
    "east": "west",
    "left": "right",
    "upper": "lower",
    "above": "below",
    "inside": "outside",
}
_OPPOSITES |= {b: a for a, b in _OPPOSITES.items()}
_IDENTIFIED = frozenset(
    words(
        "number id identifier code doi isbn function method file filename handle url key model catalogue catalog "
        "accession patent engine command package repository library class module hash serial dataset checkpoint"
    )
)
_VERSIONS = frozenset(words("version release build"))
_PUNCTUATION = re.compile(r"[^a-z0-9]+")


def contradict(a: AnswerReading, b: AnswerReading, profile: QuestionProfile, *, may_add: bool = False) -> bool:
    """Whether two answers exclude each other; ``may_add``: the first may list more than the second."""
    one, other = a.statement, b.statement
    if one.text == other.text:
        return False
    if profile.kind != POLAR and (_rejects(one, b, other, profile) or _rejects(other, a, one, profile)):
        return True
    if one.relation and other.relation and _swapped(one.relation, other.relation):
        return True
    if profile.kind == POLAR:
        return _is_denied(a, one, other) or _is_denied(b, other, one)
    is_brief = (one.is_short or a.is_marked) and (other.is_short or b.is_marked)
    if is_brief and one.values and other.values and _values_exclude(one, other, profile, may_add):
        return True
    if is_brief and (one.items or other.items) and _lists_exclude(one, other, a, b, profile, may_add):
        return True
    if one.identifier and other.identifier and _codes_differ(one, other, a, b, profile):
        return True
    if profile.several and is_brief and _parts_differ(one, other, profile):
        return True
    if one.name and other.name and _names_differ(one.name, other.name):
        return True
    return a.is_bare and b.is_bare and _wordings_differ(one, other, profile)


def agree(a: AnswerReading, b: AnswerReading, profile: QuestionProfile) -> bool:
    """Whether both state the same value, list or identifier; of answers that do not contradict each other."""
    one, other = a.statement, b.statement
    if one.identifier and _plain(one.identifier) == _plain(other.identifier):
        return not _IDENTIFIED.isdisjoint(profile.words)
    if one.items and other.items:
        return len(one.items) == len(other.items) and one.is_choice == other.is_choice and _is_matched(one, other)
    if one.relation and other.relation and one.relation == other.relation:
        return True
    if not (one.values and other.values and (one.is_short or a.is_marked) and (other.is_short or b.is_marked)):
        return False
    return _values_agree(one, other, profile)


def shared_parts(reading: AnswerReading) -> Iterator[str]:
    """What answers that agree have in common, as keys to find them by."""
    said = reading.statement
    if said.identifier:
        yield f"@{_plain(said.identifier)}"
    if said.relation:
        yield f">{said.relation.name}"
    yield from (word for item in said.items for word in item)
    if said.is_short:
        yield from (f"~{value.number:.6g}" for value in said.values if value.kind != DATED)


def _is_matched(one: Statement, other: Statement) -> bool:
    return all(any(_shares(item, listed) for listed in other.items) for item in one.items)


def _values_agree(one: Statement, other: Statement, profile: QuestionProfile) -> bool:
    kinds = {value.kind for value in one.values}
    if DATED in kinds or kinds != {value.kind for value in other.values}:
        return False
    is_asked = profile.kind == NUMBER and kinds == {NUMBERED}
    if not is_asked and not (_is_mere(one, profile) and _is_mere(other, profile)):
        return False
    ours, theirs = (_chief(list(said.values)) for said in (one, other))
    if is_asked:
        return relation(ours[0], theirs[0]) is True
    return len(ours) == len(theirs) and all(relation(x, y) for x, y in zip(ours, theirs, strict=True))


def _is_mere(said: Statement, profile: QuestionProfile) -> bool:
    """Whether a statement says a value and nothing besides."""
    return all(word[0] in "#@%$£€" or word[0].isdigit() or word in _IDLE or word in profile.idle for word in said.said)


_IDLE = FILLING | STOP


def _is_denied(a: AnswerReading, one: Statement, other: Statement) -> bool:
    """Whether the first says no by repeating what the other says with a "not"."""
    if a.polarity >= 0 or not _NOT.search(one.text) or _NOT.search(other.text):
        return False
    told = other.said - STOP
    return len(told) > 1 and len(told & one.said) >= _REPEATED * len(told)


_NOT = lazy_pattern(r"\b(?:not|never|no longer)\b|n't\b", re.I)
_REPEATED = 0.7


def _rejects(one: Statement, other: AnswerReading, stated: Statement, profile: QuestionProfile) -> bool:
    """Whether the first rejects what the other, a short answer, comes down to."""
    if not one.rejected or not other.cores or profile.options:
        return False
    if not (other.is_marked or stated.is_short):
        return False
    core = [word for word in other.cores[0].words if profile.weight(word) >= 0.45 and word not in STOP]
    core = [word for word in core if word not in profile.words] or core
    if not core:
        return False
    is_dropped = False
    for word in core:
        if _held(word, one.asserted):
            if word not in one.rejected or not _held(word, one.asserted & one.rejected):
                return False
        elif _held(word, one.rejected):
            is_dropped = is_dropped or word not in stated.rejected
        else:
            return False
    return is_dropped


def _held(word: str, said: frozenset[str]) -> bool:
    return word in said or any(likeness(word, one) >= _ALIKE for one in said)


def _swapped(a: Relation, b: Relation) -> bool:
    if a.name != b.name:
        return False
    crossed = not a.first.isdisjoint(b.second) and not a.second.isdisjoint(b.first)
    return crossed and (a.first.isdisjoint(b.first) or a.second.isdisjoint(b.second))


def _values_exclude(one: Statement, other: Statement, profile: QuestionProfile, may_add: bool) -> bool:
    """Whether the values that two answers come down to exclude each other."""
    if not _VERSIONS.isdisjoint(profile.words) and _versions_differ(one, other):
        return True
    is_asked = profile.kind in (DATE, NUMBER)
    if not is_asked and profile.kind != OTHER and not (one.is_bare and other.is_bare):
        return False
    kinds = (NUMBERED, DATED, SCORE, VERSION) if is_asked else (NUMBERED, SCORE, VERSION)
    for kind in kinds:
        ours, theirs = ([value for value in said.values if value.kind == kind] for said in (one, other))
        if not ours or not theirs:
            continue
        if kind == NUMBERED:
            ours, theirs = _chief(ours), _chief(theirs)
        found = {relation(x, y) for x in ours for y in theirs}
        if False in found and True not in found:
            return True
        in_order = zip(ours, theirs, strict=False)  # the scores of several sets
        if kind == SCORE and len(ours) == len(theirs) and any(relation(x, y) is False for x, y in in_order):
            return True
    if is_asked:
        spans = [any(value.kind == SCORE for value in said.values) for said in (one, other)]
        if spans[0] != spans[1]:
            return True  # 1914-1918 is not 1914
        return profile.kind == DATE and not may_add and not profile.wants_year and _is_coarser(one, other)
    ours_numbered, theirs_numbered = set(numerals(one.values)), set(numerals(other.values))
    has_name = any(value.kind in (ORDINAL, "numeral") for value in (*one.values, *other.values))
    return has_name and bool(ours_numbered and theirs_numbered) and ours_numbered.isdisjoint(theirs_numbered)


def _is_coarser(one: Statement, other: Statement) -> bool:
    """Whether one is a mere year and the other a mere day or month: the day is what was asked for."""
    dates = [[value for value in said.values if value.kind == DATED] for said in (one, other)]
    is_mere = one.is_bare and other.is_bare and all(map(len, dates))
    return is_mere and any(value.parts[1] for value in dates[0]) != any(value.parts[1] for value in dates[1])


def _chief(values: list[Value]) -> list[Value]:
    """Those with a unit, where some have one; else all."""
    return [value for value in values if value.unit] or values


def _versions_differ(one: Statement, other: Statement) -> bool:
    """3.1 and 3.10."""
    ours, theirs = (
        {value.shown.lstrip("v") for value in said.values if value.kind in (NUMBERED, VERSION)} for said in (one, other)
    )
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def _lists_exclude(
    one: Statement, other: Statement, a: AnswerReading, b: AnswerReading, profile: QuestionProfile, may_add: bool
) -> bool:
    """Whether one lists, or leaves open, what the other does not name."""
    if not _TRADES.isdisjoint(profile.words):
        return False
    ours, theirs = one.items or _only_item(a, profile), other.items or _only_item(b, profile)
    if not ours or not theirs:
        return False
    if one.is_choice != other.is_choice:
        if may_add and other.is_choice:
            return False  # a reference that gives alternatives
        single = other if one.is_choice else one
        items, alone = (ours, theirs) if one.is_choice else (theirs, ours)
        hits = [item for item in items if any(_shares(item, said) for said in alone)]
        return not single.items and 0 < len(hits) < len(items)
    if any(_is_missing(item, ours, one) for item in theirs):
        return True
    return not may_add and any(_is_missing(item, theirs, other) for item in ours)


def _only_item(reading: AnswerReading, profile: QuestionProfile) -> tuple[frozenset[str], ...]:
    core = frozenset(reading.cores[0].words) - STOP if reading.cores else frozenset()
    return (core - profile.words or core,) if core else ()


def _is_missing(item: frozenset[str], items: tuple[frozenset[str], ...], said: Statement) -> bool:
    if any(_shares(item, one) for one in items):
        return False
    return not all(word in said.said or word in REGIONS or word in GENERIC for word in item)


def _shares(a: frozenset[str], b: frozenset[str]) -> bool:
    return not a.isdisjoint(b) or any(likeness(x, y) >= _ALIKE for x in a for y in b)


def _codes_differ(
    one: Statement, other: Statement, a: AnswerReading, b: AnswerReading, profile: QuestionProfile
) -> bool:
    if _IDENTIFIED.isdisjoint(profile.words) and not (a.is_bare and b.is_bare):
        return False
    x, y = _plain(one.identifier), _plain(other.identifier)
    if x == y or one.said & other.said == one.said | other.said:
        return False
    if _stands(one.identifier, other.text) or _stands(other.identifier, one.text):
        return False
    short, long = sorted((_bare_code(one.identifier), _bare_code(other.identifier)), key=len)
    return not (long.startswith((f"{short}-", f"{short}/", f"{short}(")) or long.endswith((f".{short}", f"/{short}")))


def _stands(code: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(code)}(?![\w-])", text.lower()) is not None


def _bare_code(code: str) -> str:
    return code.partition("(")[0]


def _plain(code: str) -> str:
    return _PUNCTUATION.sub("", code.partition("doi.org/")[2] or code.partition("(")[0])


def _parts_differ(one: Statement, other: Statement, profile: QuestionProfile) -> bool:
    """Of two asked things, one differs or is missing."""
    ours, theirs = (_told(said, profile) for said in (one, other))
    if not ours or not theirs:
        return False
    lacks = any(not _held(word, theirs) for word in ours), any(not _held(word, ours) for word in theirs)
    dates = [any(value.kind == DATED for value in said.values) for said in (one, other)]
    return all(lacks) or (profile.several_values and dates[0] != dates[1] and any(lacks))


def _told(said: Statement, profile: QuestionProfile) -> frozenset[str]:
    """Names and values of a statement: what a part may be."""
    lowered = frozenset(word for word in _LOWER.findall(said.text))
    return frozenset(
        word
        for word in said.said
        if word not in STOP
        and word not in profile.words
        and word not in lowered
        and word not in GENERIC
        and f"{word}:" not in said.text.lower()
    )


_LOWER = re.compile(r"(?<![\w'-])[a-zß-ÿ][\w-]*")


def _names_differ(a: Name, b: Name) -> bool:
    """John A. and John B. Smith, George W. and George H. W. Bush, the elder and the younger."""
    if likeness(a.last, b.last) < _ALIKE:
        return False
    if a.suffix and b.suffix and a.suffix != b.suffix:
        return True
    if not (a.given and b.given) or not _given_agree(a.given[0], b.given[0]):
        return False
    middles_a, middles_b = a.given[1:], b.given[1:]
    if not (middles_a and middles_b):
        return False
    short, long = sorted((middles_a, middles_b), key=len)
    has_initial = any(len(one) == 1 for one in (*short, *long))
    if len(short) != len(long):
        return has_initial and not (
            len(long) > len(short) and not any(len(one) == 1 for one in short) and all(one in long for one in short)
        )
    return not all(map(_given_agree, short, long))


def _given_agree(a: str, b: str) -> bool:
    if a == b or (min(len(a), len(b)) == 1 and a[0] == b[0]):
        return True
    return likeness(a, b) >= _ALIKE or frozenset((a, b)) in NICKNAMES


def _wordings_differ(one: Statement, other: Statement, profile: QuestionProfile) -> bool:
    """Two bare answers: a sequel, another preposition, a wider kind."""
    first, second = one.words, other.words
    own_first, own_second = set(first).difference(second), set(second).difference(first)
    if len(own_first) == len(set(first)):
        return False
    if any(_OPPOSITES.get(word) in own_second for word in own_first):
        return True
    if "state" in own_first ^ own_second and not _SCHOOLS.isdisjoint(first):
        return True
    if _placed_otherwise(one, other, own_second) or _placed_otherwise(other, one, own_first):
        return True
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    short, long = (tuple(word for word in said if word not in _ARTICLES) for said in (short, long))
    if not set(short) < set(long) or not short:
        return False
    more = [word for word in long if word not in short and word not in STOP]
    if not more:
        return False
    if "city" in more and all(word in REGIONS for word in short) and "york" not in short:
        return True
    if profile.wants_level and len(short) == 1:
        return (
            all(word.isalpha() and word not in RANKS for word in more)
            and "(" not in one.text + other.text
            and (long[-len(short) :] == short or long[: len(short)] == short)
        )
    if profile.wants_work:
        if any(word in _SEQUELS or (word.isdigit() and len(word) < 4) for word in more):
            return True
        is_run = any(long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1))
        if is_run and long[-len(short) :] == short and not _SMALL.isdisjoint(more):
            return True
        return not is_run
    return False


def _placed_otherwise(one: Statement, other: Statement, own: set[str]) -> bool:
    """Trinity College, Cambridge beside Trinity College Dublin."""
    head, comma, tail = one.text.lower().partition(", ")
    if not comma or not own or "," in tail + other.text or one.items or other.items:
        return False
    named, placed = set(_WORDS.findall(head)), set(_WORDS.findall(tail))
    said = set(other.words)
    if len(named) < 2 or not named <= said or not placed.isdisjoint(said) or len(placed) > 3:
        return False
    return not any(word in GENERIC or word in STOP or word in REGIONS or word.isdigit() for word in own | placed)


_SCHOOLS = frozenset(("university", "college", "school"))
_SMALL = frozenset(words("short brief new little concise complete shorter other second"))
_ARTICLES = ("the", "a", "an")
_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
