"""Names that a text of the pool gives as one: "World Health Organization (WHO)", "Mark Twain (born Samuel Clemens)".

Only names: texts are written by anybody, so they never join numbers, dates, yes and no, or options of a question. Looks
for pairs of names that are there, and for nothing else, in a bounded part of the texts.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from tracerank.answers.meaning.reading import AnswerReading

MAX_TEXTS = 200
MAX_TEXT = 20_000
"""Characters that are read of a text."""
MAX_NAMES = 16
_MAX_PLACES = 20
"""Places of a name in a text that are looked at."""
_MAX_NAME = 60
_REACH = 90
"""Characters behind a name in which another may be given for it."""
_ALSO = re.compile(
    r"[\"”']?\s?[,(]?\s?(?:who is |who was |which is |is |was )?"
    r"(?:also (?:known|called)|(?:better|professionally|commonly|widely) known)(?: professionally)?(?: as)?:?\s"
    r"(?:the )?[\"“']?"
    r"|[\"”']?,?\s\((?:born|née|né|aka|a\.k\.a\.)(?: as)?:?,?\s(?:the )?[\"“']?"
    r"|[\"”']?,?\s(?:aka|a\.k\.a\.)\s(?:the )?[\"“']?",
    re.I,
)
_SHORT = re.compile(r"[\"”']?\s\((?:the |or |abbreviated |[^()]{0,40}; )?[\"“']?")
_ACRONYM = re.compile(r"(?:[A-Z]\.?){2,8}")


def named_alike(readings: Sequence[AnswerReading], evidence: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Indices of answers that a text gives as names of one thing, the lower index first."""
    names = {index: name for index, one in enumerate(readings) if (name := _name(one))}
    if not 2 <= len(names) <= MAX_NAMES:
        return
    lowered = {index: name.lower() for index, name in names.items()}
    for text, _ in zip(evidence, range(MAX_TEXTS), strict=False):
        said = text[:MAX_TEXT]
        folded = said.lower()
        present = [index for index, name in lowered.items() if name in folded]
        if len(present) < 2 or len(folded) != len(said):
            continue
        for a, b in combinations(present, 2):
            if _gives(said, folded, names[a], names[b]) or _gives(said, folded, names[b], names[a]):
                yield a, b


def _name(reading: AnswerReading) -> str:
    """What a bare answer names; empty: it is no name, or one with a value in it."""
    if not reading.is_bare or reading.is_sentence or reading.values or reading.polarity or reading.option >= 0:
        return ""
    start, end = reading.core_span
    name = reading.text[start:end]
    return name if 2 <= len(name) <= _MAX_NAME and not any(map(str.isdigit, name)) else ""


def _gives(said: str, folded: str, name: str, other: str) -> bool:
    """Whether a text says behind a name that the other is one for the same."""
    first, second = name.lower(), other.lower()
    is_acronym = bool(_ACRONYM.fullmatch(other)) and first[:1] == second[:1]
    index = -1
    for _ in range(_MAX_PLACES):
        index = folded.find(first, index + 1)
        if index < 0:
            return False
        end = index + len(first)
        if (index and said[index - 1].isalnum()) or said[end : end + 1].isalnum():
            continue
        behind = said[end : end + _REACH]
        for pattern in (_ALSO, _SHORT) if is_acronym else (_ALSO,):
            if (found := pattern.match(behind)) and _stands(folded, second, end + found.end()):
                return True
    return False


def _stands(folded: str, name: str, index: int) -> bool:
    end = index + len(name)
    return folded.startswith(name, index) and not folded[end : end + 1].isalnum()
