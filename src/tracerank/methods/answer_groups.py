"""Which answers of a pool count as one: the seam for votes, with the two levels that are rules on text.

Levels that need vectors or a model are in ``judged_groups.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tracerank.answers.equivalence import DEFAULT, EXACT, Aliases, group_answers


class AnswerGrouping(Protocol):
    """Any way to group equal answers; the groups must not depend on the order of the answers."""

    @property
    def name(self) -> str: ...

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        """A group number per answer, in order of first appearance; -1 for what answers nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ExactGroups:
    """The paper's normalisation."""

    name: str = EXACT

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_answers(answers, question, EXACT)


@dataclass(frozen=True, slots=True)
class DefaultGroups:
    """Numbers, dates, yes and no, spellings, and short answers inside longer ones."""

    aliases: Aliases = ()
    """Names that mean the same, from a source that has not seen the references."""
    name: str = DEFAULT

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_answers(answers, question, DEFAULT, self.aliases)
