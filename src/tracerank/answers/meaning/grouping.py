"""Groups of a pool's answers by meaning, whether two answers are one, and the span of an answer that answers.

The probability of a pair comes from what the two answers say by themselves and in terms of the pool's anchors. Groups
are linked by their mean probability above one threshold, and conflicts keep them apart. Only the set of answers counts:
neither their order nor how often one is repeated changes a group. Answers that are JSON objects, as agents with a
schema give them, are the same if each of their fields is.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracerank.answers import equivalence
from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import DEFAULT, LEVELS, NO_GROUP, Aliases
from tracerank.answers.meaning.comparing import linked
from tracerank.answers.meaning.pairs import PairWeights, pair_features, pair_weights
from tracerank.answers.meaning.reading import AnswerReading, read_answer
from tracerank.answers.question_profile import read_question
from tracerank.answers.text_keys import Readable, comparable

MEANING = "meaning"
MAX_ANSWERS = 2000
"""Distinct answers of one question that are compared by meaning: the commonest. Others are only what they say."""
FEW = 256
"""Distinct answers that are all compared with each other, the shortest; of more, each is compared by its core only."""


def crowd_note(distinct: int) -> str:
    """What a decision says where answers were left out."""
    return f"{distinct:,} distinct answers: only the {MAX_ANSWERS:,} commonest were compared by meaning"


@dataclass(frozen=True, slots=True)
class Core:
    """The span of a text that answers: ``text[start:end]``."""

    text: str
    start: int
    end: int


def answer_core(question: str, text: str) -> Core:
    """The span that answers a question and its position; the whole text where nothing smaller is found."""
    written = Readable.of(text)
    start, end = written.locate(*read_answer(written.shown, question).core_span)
    return Core(text[start:end], start, end)


def group_answers(
    question: str, answers: Sequence[str | None], level: str = MEANING, aliases: Aliases = ()
) -> tuple[int, ...]:
    """A group number per answer, in order of first appearance; -1 (``NO_GROUP``) for abstentions and empty answers.

    ``exact`` and ``default`` are the strict levels. ``aliases`` are sets of names for one thing.
    """
    if level in LEVELS:
        return equivalence.group_answers(answers, question, level, aliases)
    if level != MEANING:
        raise ValueError(f"level must be one of {', '.join((MEANING, *LEVELS))}, got {level!r}")
    found = group_by_meaning(question, answers)
    if not aliases:
        return found
    named = equivalence.group_answers(answers, question, DEFAULT, aliases)
    unnamed = equivalence.group_answers(answers, question, DEFAULT)
    joined = [
        (found[i], found[j])
        for j in range(len(answers))
        for i in range(j)
        if named[i] == named[j] and unnamed[i] != unnamed[j] and NO_GROUP not in (found[i], found[j])
    ]
    return _renumbered(found, joined)


def group_by_meaning(question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
    """A group number per answer, in order of first appearance; ``NO_GROUP`` for what answers nothing."""
    if (objects := objects_in(answers)) is not None:
        return grouped_by_fields(objects, question, group_by_meaning)
    return grouped(question, answers, pair_weights())


def grouped(question: str, answers: Sequence[str | None], weights: PairWeights) -> tuple[int, ...]:
    """The same by given weights."""
    said = [None if answer is None or abstains(answer, question) else comparable(answer) for answer in answers]
    distinct, others = _compared(Counter(answer for answer in said if answer is not None))
    root = _groups(distinct, question, weights)
    root |= {answer: number for number, answer in enumerate(others, len(distinct))}
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if answer is None else numbers.setdefault(root[answer], len(numbers)) for answer in said)


def _compared(counts: Counter[str]) -> tuple[list[str], list[str]]:
    """The distinct answers, sorted, and those beyond the limit, the rarest, of which each is a group of its own."""
    if len(counts) <= MAX_ANSWERS:
        return sorted(counts), []
    ranked = sorted(counts, key=lambda answer: (-counts[answer], answer))
    return sorted(ranked[:MAX_ANSWERS]), ranked[MAX_ANSWERS:]


def same_answer(question: str, a: str | None, b: str | None) -> bool:
    """Whether two answers to a question mean the same."""
    first, second = group_by_meaning(question, (a, b))
    return first == second != NO_GROUP


def _groups(distinct: Sequence[str], question: str, weights: PairWeights) -> dict[str, int]:
    """Each of the sorted texts to the number of its group."""
    if len(distinct) < 2:
        return dict.fromkeys(distinct, 0)
    readings = [read_answer(text, question) for text in distinct]
    grouping = _few if len(distinct) <= FEW else _many
    return {
        distinct[index]: number
        for number, members in enumerate(grouping(readings, question, weights))
        for index in members
    }


def _few(readings: Sequence[AnswerReading], question: str, weights: PairWeights) -> list[list[int]]:
    """Groups of indices, every pair compared that may count."""
    features, vetoed = pair_features(readings, read_question(question), weights)
    probabilities = {pair: weights.probability(row) for pair, row in features.items()}
    return linked(range(len(readings)), probabilities, weights.threshold, vetoed)


def _many(readings: Sequence[AnswerReading], question: str, weights: PairWeights) -> list[list[int]]:
    """Groups of more than a few: the shortest by pairs, and each other with those whose core is the same."""
    indices = sorted(range(len(readings)), key=lambda index: (len(readings[index].text), index))
    few = indices[:FEW]
    groups = [[few[index] for index in group] for group in _few([readings[index] for index in few], question, weights)]
    homes: dict[tuple[object, ...], list[int]] = {}
    for group in groups:
        for index in group:
            homes.setdefault(_chief_part(readings[index], index), group)
    for index in indices[FEW:]:
        group = homes.setdefault(_chief_part(readings[index], index), [])
        if not group:
            groups.append(group)
        group.append(index)
    return groups


def _chief_part(reading: AnswerReading, index: int) -> tuple[object, ...]:
    """What an answer comes down to: yes or no, the option, or its likeliest core; its index where it has none."""
    if reading.polarity or reading.option >= 0:
        return reading.polarity, reading.option
    return reading.cores[0].words if reading.cores else (index,)


def _renumbered(groups: Sequence[int], joined: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """The groups with some of them joined, numbered by first appearance."""
    root = {group: group for group in groups}
    for a, b in joined:
        low, high = sorted((root[a], root[b]))
        root = {group: low if one == high else one for group, one in root.items()}
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if group == NO_GROUP else numbers.setdefault(root[group], len(numbers)) for group in groups)


ASIDES = frozenset((
    *("analysis", "chain_of_thought", "citations", "confidence", "evidence", "explanation", "rationale", "reason"),
    *("reasoning", "sources", "steps", "thought", "thoughts", "why"),
))  # fmt: skip
"""Fields beside the answer, by their names in small letters."""
ANSWER_FIELDS = frozenset(("answer", "final_answer", "exact_answer", "short_answer"))
"""An object with one of these is read as that field alone."""

Grouping = Callable[[str, Sequence[str | None]], Sequence[int]]


def objects_in(answers: Sequence[str | None]) -> list[Mapping[str, Any] | None] | None:
    """The fields of the answers, without asides; None: not all of them are objects, or they name their answer."""
    found: list[Mapping[str, Any] | None] = []
    for answer in answers:
        text = None if answer is None else answer.strip()
        if text and not (text[0] == "{" and text[-1] == "}"):
            return None
        try:
            value = json.loads(text) if text else None
        except (ValueError, RecursionError):
            return None
        own = {name: each for name, each in value.items() if name.lower() not in ASIDES} if value else None
        if own is not None and not ANSWER_FIELDS.isdisjoint(map(str.lower, own)):
            return None
        found.append(own)
    return found if any(found) else None


def grouped_by_fields(
    objects: Sequence[Mapping[str, Any] | None], question: str, grouping: Grouping
) -> tuple[int, ...]:
    """A group number per object; ``NO_GROUP`` where no field says anything."""
    names = dict.fromkeys(name for one in objects for name in one or ())
    about = question if len(names) == 1 else ""  # of several fields each answers a part of it
    columns = [_column([None if one is None else one.get(name) for one in objects], about, grouping) for name in names]
    numbers: dict[tuple[int, ...], int] = {}
    rows = zip(*columns, strict=True)
    return tuple(NO_GROUP if {*row} == {NO_GROUP} else numbers.setdefault(row, len(numbers)) for row in rows)


def _column(values: Sequence[Any], question: str, grouping: Grouping) -> Sequence[int]:
    """Equal numbers for values of a field that are the same: texts by their meaning, others as they are."""
    if all(value is None or isinstance(value, str) for value in values):
        return grouping(question, values)
    seen: dict[str, int] = {}
    texts = [None if value is None else json.dumps(value, sort_keys=True) for value in values]
    return [NO_GROUP if text is None else seen.setdefault(text, len(seen)) for text in texts]
