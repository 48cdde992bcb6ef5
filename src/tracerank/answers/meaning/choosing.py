"""Yes or no, and which of two options: what an answer chooses of what a question offers.

Works on the sentences and clauses that ``reading.py`` has found.
"""

import re
from collections.abc import Sequence

from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.relations import read_relation
from tracerank.answers.meaning.values import likeness, tokens
from tracerank.answers.meaning.words import STOP
from tracerank.answers.question_profile import QuestionProfile

_SAYS_YES = lazy_pattern(r"\W*(?:yes|yeah|correct|true|indeed)\b", re.I)
_SAYS_NO = lazy_pattern(r"\W*(?:no|nope|false|incorrect)\b(?! \w+ (?:was|is|were) found)", re.I)
_ENDS = r"\b(?:the answer is|so|thus|therefore|—|–|-|,)\s{0,3}:?\s{0,3}"
_ENDS_YES = lazy_pattern(rf"(?:{_ENDS}|[—–:-]\s{{0,3}})yes\W{{0,4}}\Z", re.I)
_ENDS_NO = lazy_pattern(rf"(?:{_ENDS}|[—–:-]\s{{0,3}})no\W{{0,4}}\Z", re.I)
_NEGATIVE = lazy_pattern(
    r"\b(?:not|no|neither|nor|different|differ|differs|differing|only|never|false|whereas|unlike"
    r"|separate|distinct|other than|by contrast)\b"
    r"|n['’]t\b",
    re.I,
)
_POSITIVE = lazy_pattern(r"\b(?:both|same|likewise|shares?d?|also|each|as well|too|identical)\b", re.I)
_ASIDE = lazy_pattern(r"\([^()]*\)")
_HELD = 0.5
"""Share of an option's own words that a clause must hold."""

Clauses = Sequence[tuple[tuple[str, ...], float]]
"""Words and strength of each clause, in order."""


def polarity(stated: str, sentences: Sequence[str], profile: QuestionProfile) -> int:
    """1 yes, -1 no, 0 neither can be told."""
    for said in (stated, sentences[0] if sentences else ""):
        said = said.replace("*", "")
        if _SAYS_YES.match(said):
            return 1
        if _SAYS_NO.match(said):
            return -1
    last = (stated or (sentences[-1] if sentences else "")).replace("*", "")
    if _ENDS_YES.search(last):
        return 1
    if _ENDS_NO.search(last):
        return -1
    for said in (last, *(one for one in sentences[:1] if one != last)):
        said = _ASIDE.sub(" ", said)
        if _NEGATIVE.search(said):
            return -1
        if _POSITIVE.search(said):
            return -1 if profile.wants_difference and "same" in said else 1
    return _restated(sentences[0], profile) if len(sentences) == 1 else 0


def _restated(said: str, profile: QuestionProfile) -> int:
    """Yes for a statement of what is asked, no for the comparison turned round."""
    words = tokens(said)
    held = sum(any(likeness(word, other) >= _RESTATED for other in words) for word in profile.telling)
    if held < _MOSTLY * len(profile.telling):
        return 0
    stated = read_relation(said)
    if stated and profile.relation and stated.name == profile.relation.name:
        return 1 if not stated.first.isdisjoint(profile.relation.first) else -1
    return 1


_RESTATED = 0.8
_MOSTLY = 0.75
"""Share of a question's telling words that a statement must repeat to be a yes."""


def chosen_option(clauses: Clauses, profile: QuestionProfile) -> tuple[int, float]:
    """Which option is asserted (-1: none) and by how much more than the other."""
    first, second = profile.options
    own = (_own(first, second), _own(second, first))
    scores = [
        max((_option_score(words, *clause, index) for index, clause in enumerate(clauses)), default=0.0)
        for words in own
    ]
    if max(scores) == 0:
        return -1, 0.0
    chosen = int(scores[1] > scores[0])
    return chosen, abs(scores[0] - scores[1]) if min(scores) > 0 else max(scores)


def _own(option: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in option if word not in other and word not in STOP) or option


def _option_score(own: tuple[str, ...], words: tuple[str, ...], strength: float, index: int) -> float:
    """The strength of a clause that holds an option; earlier in the answer and in the clause counts more."""
    best = [max((likeness(word, said) for said in words), default=0.0) for word in own]
    held = sum(one for one in best if one >= 0.6) / len(own)
    if len(own) > 1 and own[-1] in words:
        held = max(held, 0.85)
    if held < _HELD:
        return 0.0
    where = next((i for i, said in enumerate(words) if any(likeness(said, word) >= 0.8 for word in own)), 9)
    return held * strength * (1 - 0.012 * min(index, 15)) * (1 - 0.01 * min(where, 15))
