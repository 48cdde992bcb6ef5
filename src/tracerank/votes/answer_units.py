"""Default groups of answers as units that something else than rules may merge, but never split.

What rules understand, rules decide: two numbers, two dates, or yes and no are never merged, nor answers with different
digits, nor a denial with what it denies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracerank.answers.english import NEGATIONS
from tracerank.answers.equivalence import DEFAULT, NO_GROUP, group_answers
from tracerank.answers.strict import read_strictly
from tracerank.answers.text_keys import readable, tokens_of


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """One default group, independent of the order of the answers."""

    texts: tuple[str, ...]
    """Distinct, the shortest first: it stands for the group."""
    numbers: frozenset[str]
    denies: bool
    is_name: bool
    """False: a number, a date, yes or no."""

    def may_equal(self, other: "AnswerUnit") -> bool:
        return self.is_name and other.is_name and self.numbers == other.numbers and self.denies == other.denies


def merged_groups(
    question: str, answers: Sequence[str | None], are_same: Callable[[AnswerUnit, AnswerUnit], bool]
) -> tuple[int, ...]:
    """Default groups; each joins the first of those before it, by their texts, whose units are all the same as it."""
    base = group_answers(answers, question, DEFAULT)
    units = answer_units(base, answers, question)
    merged: list[list[int]] = []
    for group, unit in units.items():
        fitting = (members for members in merged if all(are_same(units[other], unit) for other in members))
        if (home := next(fitting, None)) is None:
            merged.append([group])
        else:
            home.append(group)
    label_of = {group: label for label, members in enumerate(merged) for group in members}
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if group == NO_GROUP else numbers.setdefault(label_of[group], len(numbers)) for group in base)


def answer_units(base: Sequence[int], answers: Sequence[str | None], question: str) -> dict[int, AnswerUnit]:
    """Each default group as a unit, in the order of their texts and not of the pool."""
    members: dict[int, set[str]] = {}
    for group, answer in zip(base, answers, strict=True):
        if group != NO_GROUP and answer is not None:
            members.setdefault(group, set()).add(answer)
    units = {}
    for group, found in members.items():
        texts = tuple(sorted(set(map(readable, found)), key=lambda text: (len(text), text)))
        tokens = tokens_of(texts[0])
        numbers = frozenset(token for token in tokens if token[0].isdigit())
        is_name = all(read_strictly(answer, question).is_name for answer in found)
        units[group] = AnswerUnit(texts, numbers, not NEGATIONS.isdisjoint(tokens), is_name)
    return dict(sorted(units.items(), key=lambda item: item[1].texts))
