"""Questions that ask for several things, "When did it open and who built it?", and on which of them answers differ.

Dates and numbers are compared as values, all else by names. What an answer does not have is no dispute.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tracerank.answers.english import MONTHS, PRONOUNS, QUESTION_WORDS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.words import STOP
from tracerank.reports.values import DATE, NUMBER, Value, agree, plainly, read_words, stem, written

NAME = "name"
MAX_QUESTION = 500
"""Characters; a longer question is a task, not two questions."""
MAX_SHOWN = 60
_ASKING = (
    r"(?:in |on |at |by |from )?(?:when|whom?|whose|where|what|which|how (?:many|much|old|tall|long|far|high|big))\b"
)
_BREAK = lazy_pattern(rf"(?i)(?:\s*[,;]\s*(?:and\s+)?|\s+and\s+|[?]\s+(?:and\s+)?)(?={_ASKING})")
_ASKS = lazy_pattern(rf"(?i){_ASKING}")
_DATE = lazy_pattern(r"(?i)(?:(?:in |on )?(?:what|which) (?:year|month|date|day|decade)\b|when\b|since when\b)")
_NUMBER = lazy_pattern(r"(?i)(?:how (?!come\b|do\b|did\b|does\b)\w+|(?:what|which) (?:number|percentage|share)\b)")
_NAME = lazy_pattern(
    r"(?:[^\W\d_a-zß-ÿ][\w'’.-]*)(?:\s+(?:(?:of|the|de|da|van|von|del|la)\s+){0,2}[^\W\d_a-zß-ÿ][\w'’.-]*)*"
)
_NO_NAMES = STOP | PRONOUNS | QUESTION_WORDS | frozenset(MONTHS) | frozenset(words("both yes however"))


@dataclass(frozen=True, slots=True)
class Part:
    """One of the things that a question asks for."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Dispute:
    """A part to which rollouts give different answers."""

    part: str
    sides: tuple[tuple[str, tuple[int, ...]], ...]
    """What is said, and the sample ids that say it; the most frequent first."""

    def __str__(self) -> str:
        sides = "; ".join(f"{said} in {', '.join(f'#{one}' for one in samples)}" for said, samples in self.sides)
        return f'disputed part "{self.part}": {sides}'


@lru_cache(maxsize=1024)
def asked_parts(question: str) -> tuple[Part, ...]:
    """The parts of a question that asks for several; empty: it asks for one thing."""
    if len(question) > MAX_QUESTION:
        return ()
    texts = [text.strip(" ?.,;") for text in _BREAK.split(question)]
    if len(texts) < 2 or not all(_ASKS.match(text) for text in texts):
        return ()
    for text in texts[1:]:
        # "Which actor who was born here and who starred there" asks for one.
        if f" {text.split()[0].lower()} " in f" {texts[0].partition(' ')[2].lower()} ":
            return ()
    return tuple(Part(text, _kind(text)) for text in texts)


def _kind(text: str) -> str:
    return DATE if _DATE.match(text) else NUMBER if _NUMBER.match(text) else NAME


def disputes(question: str, answers: Mapping[int, str]) -> tuple[Dispute, ...]:
    """The parts on which the answers, by sample id, differ."""
    parts = asked_parts(question)
    if not parts or len(answers) < 2:
        return ()
    found: list[Dispute] = []
    known = frozenset(map(stem, words(question.lower().replace("?", " "))))
    for index, part in enumerate(parts):
        same = [other for other in parts if other.kind == part.kind]
        order = sum(other.kind == part.kind for other in parts[:index])
        said = {sample: _said(part, order, len(same), answer, known) for sample, answer in answers.items()}
        sides = _sides({sample: one for sample, one in said.items() if one})
        if len(sides) > 1:
            found.append(Dispute(part.text, tuple(sides)))
    return tuple(found)


Said = tuple[tuple[str, Value | frozenset[str]], ...]
"""What an answer has for a part: as it is written, and what it is compared by."""


def _said(part: Part, order: int, count: int, answer: str, known: frozenset[str]) -> Said:
    """The value or the names of an answer for a part; of several parts of one kind, those in the part's order."""
    all_said: Said = tuple(_names(answer, known)) if part.kind == NAME else tuple(_values(part.kind, answer))
    return all_said[order : order + 1] if count > 1 and len(all_said) == count else () if count > 1 else all_said


def _values(kind: str, answer: str) -> Iterable[tuple[str, Value]]:
    for value in read_words(answer).values:
        if (value.kind == DATE) == (kind == DATE):
            span = written(answer, value)
            yield (plainly(value) if span is None else answer[slice(*span)]), value


def _names(answer: str, known: frozenset[str]) -> Iterable[tuple[str, frozenset[str]]]:
    for found in _NAME.finditer(answer):
        own = [word for word in found[0].split() if word.lower().strip(".,'’") not in _NO_NAMES]
        compared = frozenset(stem(word.lower().strip(".,'’")) for word in own) - known
        if compared:
            yield " ".join(own).rstrip(".,"), compared


def _sides(said: Mapping[int, Said]) -> Sequence[tuple[str, tuple[int, ...]]]:
    """Samples that agree, each with what its first one says."""
    sides: list[list[int]] = []
    for sample, own in said.items():
        joined = next((side for side in sides if any(_agree(own, said[other]) for other in side)), None)
        if joined is None:
            sides.append([sample])
        else:
            joined.append(sample)
    sides.sort(key=lambda side: (-len(side), side[0]))
    return [(", ".join(text for text, _ in said[side[0]])[:MAX_SHOWN], tuple(side)) for side in sides]


def _agree(one: Said, other: Said) -> bool:
    values = [value for _, value in other if isinstance(value, Value)]
    names = [name for _, name in other if not isinstance(name, Value)]
    return any(
        agree(value, values) if isinstance(value, Value) else any(value & name for name in names) for _, value in one
    )
