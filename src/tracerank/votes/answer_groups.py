"""Which answers of a pool count as one: the seam for votes, with the levels that are rules on text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import DEFAULT, EXACT, group_answers
from tracerank.answers.meaning.grouping import MAX_ANSWERS, crowd_note, group_by_meaning
from tracerank.answers.text_keys import comparable

MEANING = "meaning"


class AnswerGrouping(Protocol):
    """Any way to group equal answers; the groups must not depend on the order of the answers."""

    @property
    def name(self) -> str: ...

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        """A group number per answer, in order of first appearance; -1 for an answer in no group."""
        ...


@dataclass(frozen=True, slots=True)
class ExactGroups:
    """The paper's normalisation."""

    name: str = EXACT

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_answers(answers, question, EXACT)


@dataclass(frozen=True, slots=True)
class WithoutAbstentions:
    """The same, but answers that only say that there is none form no group."""

    name: str = "no-abstentions"

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_answers([None if abstains(answer, question) else answer for answer in answers], question, EXACT)


@dataclass(frozen=True, slots=True)
class DefaultGroups:
    """Numbers, dates, yes and no, spellings, and short answers inside longer ones."""

    name: str = DEFAULT

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_answers(answers, question, DEFAULT)


@dataclass(frozen=True, slots=True)
class MeaningGroups:
    """Answers that mean the same: sentences by what they assert; names, values and options by what they name."""

    name: str = MEANING

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_by_meaning(question, answers)

    def note(self, answers: Sequence[str | None]) -> str | None:
        """That there are too many answers to compare all of them; None: there are not."""
        if len(answers) <= MAX_ANSWERS:
            return None
        distinct = len({comparable(answer) for answer in answers if answer})
        return crowd_note(distinct) if distinct > MAX_ANSWERS else None


GROUPINGS: Mapping[str, AnswerGrouping] = MappingProxyType(
    {each.name: each for each in (ExactGroups(), WithoutAbstentions(), DefaultGroups(), MeaningGroups())}
)
"""Those that are rules on text, by name."""
