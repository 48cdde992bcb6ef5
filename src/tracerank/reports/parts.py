"""Short answers with several parts, and on which of them they differ.

The parts are those that the question asks for, "When did it open and who built it?", or those that the answers label:
the keys of a JSON object, lines such as "builder: Ida Brandt". What an answer does not have is no dispute.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tracerank.answers.english import MONTHS, PRONOUNS, QUESTION_WORDS, words
from tracerank.answers.lazy_patterns import lazy_pattern
from tracerank.answers.meaning.words import STOP
from tracerank.reports.relations import NAME as NAME_PATTERN
from tracerank.reports.values import DATE, NUMBER, Value, agree, plainly, read_words, same_amounts, stem, written

NAME = "name"
MAX_QUESTION = 500
"""Characters; a longer question is a task, not two questions."""
MAX_ANSWER = 20_000
MAX_SHOWN = 60
MAX_DISPUTES = 8
_ASKING = (
    r"(?:in |on |at |by |from )?(?:when|whom?|whose|where|what|which|how (?:many|much|old|tall|long|far|high|big))\b"
)
_BREAK = lazy_pattern(rf"(?i)(?:\s*[,;]\s*(?:and\s+)?|\s+and\s+|[?]\s+(?:and\s+)?)(?={_ASKING})")
_ASKS = lazy_pattern(rf"(?i){_ASKING}")
_LISTED = lazy_pattern(r"(?i)what (?:is|are|was|were) the ([^,?]{3,40}?) and (?:the )?([^,?]{3,40}?) of\b[^?]*\??")
_DATE = lazy_pattern(r"(?i)(?:(?:in |on )?(?:what|which) )?(?:year|month|date|day|decade)\b|when\b|since when\b")
_NUMBER = lazy_pattern(
    r"(?i)how (?!come\b|do\b|did\b|does\b)\w+|(?:(?:what|which) )?(?:number|percentage|share|population|height|length"
    r"|area|age|cost|price|size|distance|weight|depth|width|capacity)\b"
)
_NAMES = lazy_pattern(NAME_PATTERN)
_NO_NAMES = STOP | PRONOUNS | QUESTION_WORDS | frozenset(MONTHS) | frozenset(words("both yes however"))
_LABEL = lazy_pattern(r"(?m)(?:^|;)[ \t]*(?:[-*•][ \t]*)?\**([^\W\d_][\w ’'/()-]{0,30}?)\**:\**[ \t]+([^\n;]+)")
_NO_PARTS = frozenset(words("answer confidence explanation reason reasoning source sources note notes thought url"))
_UNIT = lazy_pattern(r"\s?[^\W\d_]+")


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
    if (listed := _LISTED.fullmatch(question.strip())) is not None:
        return tuple(Part(text, _kind(text)) for text in listed.groups())
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


class Said(NamedTuple):
    """What an answer has for a part."""

    text: str
    values: tuple[Value, ...] = ()
    names: tuple[frozenset[str], ...] = ()

    def agrees(self, other: "Said") -> bool:
        """Whether one of the values or names is also among the others."""
        return (
            any(agree(value, other.values) for value in self.values)
            or any(one & another for one in self.names for another in other.names)
            or same_amounts(self.text, other.text)
        )


def disputes(question: str, answers: Mapping[int, str]) -> tuple[Dispute, ...]:
    """The parts on which the answers, by sample id, differ."""
    labelled = {sample: found for sample, answer in answers.items() if (found := dict(labelled_parts(answer)))}
    if len(labelled) > 1:
        labels = dict.fromkeys(label for found in labelled.values() for label in found)
        parts = [
            (label, {sample: _of_text(found[label]) for sample, found in labelled.items() if label in found})
            for label in labels
        ]
    else:
        parts = list(_by_question(question, answers))
    sides = ((part, _sides({sample: one for sample, one in said.items() if one.text})) for part, said in parts)
    return tuple(Dispute(part, tuple(found)) for part, found in sides if len(found) > 1)[:MAX_DISPUTES]


def labelled_parts(answer: str) -> Iterator[tuple[str, str]]:
    """Labels and texts of an answer that is a JSON object, or that consists of "label: text"."""
    if ":" not in answer or len(answer) > MAX_ANSWER:
        return
    bare = answer.strip()
    if bare.startswith("```"):
        bare = bare.removesuffix("```").partition("\n")[2].strip()
    found = [(found[1], found[2].strip(" *.,")) for found in _LABEL.finditer(bare)]
    if bare.startswith("{"):
        try:
            found = list(_fields(json.loads(bare)))
        except (ValueError, RecursionError):
            return
    elif len(found) == 1:
        return
    for label, text in found:
        name = " ".join(label.lower().replace("_", " ").split())
        if _NO_PARTS.isdisjoint(name.split()):
            yield name, text


def _fields(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """The leaves of a JSON value with their paths; a list of plain values is one leaf."""
    if isinstance(value, list) and not any(isinstance(one, dict | list) for one in value):
        value = ", ".join(map(str, value))
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value, 1):
            yield from _fields(one, f"{name} {key}".strip())
    elif value is not None:
        yield name, str(value)


def _of_text(text: str) -> Said:
    read = read_words(text)
    plain = frozenset(read.content) or frozenset([text.lower()])
    return Said(text, read.values, () if read.values else (plain,))


def _by_question(question: str, answers: Mapping[int, str]) -> Iterator[tuple[str, dict[int, Said]]]:
    """What each answer has for each part of the question; of several parts of one kind, in the part's order."""
    parts = asked_parts(question)
    known = frozenset(map(stem, words(question.lower().replace("?", " ")))) if parts else frozenset()
    for index, part in enumerate(parts):
        count = sum(other.kind == part.kind for other in parts)
        order = sum(other.kind == part.kind for other in parts[:index])
        said: dict[int, Said] = {}
        for sample, answer in answers.items():
            found = list(_names(answer, known) if part.kind == NAME else _values(part.kind, answer))
            if count > 1:
                found = found[order : order + 1] if len(found) == count else []
            said[sample] = Said(
                ", ".join(each.text for each in found),
                tuple(value for each in found for value in each.values),
                tuple(name for each in found for name in each.names),
            )
        yield part.text, said


def _values(kind: str, answer: str) -> Iterator[Said]:
    for value in read_words(answer).values:
        if (value.kind == DATE) == (kind == DATE):
            span = written(answer, value)
            text = plainly(value) if span is None else answer[slice(*span)]
            if span is not None and value.kind.isalpha() and value.kind not in (DATE, NUMBER):
                unit = _UNIT.match(answer, span[1])
                text += unit[0] if unit else ""
            yield Said(text, (value,))


def _names(answer: str, known: frozenset[str]) -> Iterator[Said]:
    for found in _NAMES.finditer(answer):
        own = [word for word in found[0].split() if word.lower().strip(".,'’") not in _NO_NAMES]
        compared = frozenset(stem(word.lower().strip(".,'’")) for word in own) - known
        if compared:
            yield Said(" ".join(own).rstrip(".,"), (), (compared,))


def _sides(said: Mapping[int, Said]) -> Sequence[tuple[str, tuple[int, ...]]]:
    """Samples that agree, each with what its first one says; the most frequent first."""
    sides: list[list[int]] = []
    for sample, own in said.items():
        joined = next((side for side in sides if any(own.agrees(said[other]) for other in side)), None)
        if joined is None:
            sides.append([sample])
        else:
            joined.append(sample)
    sides.sort(key=lambda side: (-len(side), side[0]))
    return [(said[side[0]].text[:MAX_SHOWN], tuple(side)) for side in sides]
