"""Which answers of a pool count as one: the seam for votes, with the levels that are rules on text.

Levels that need vectors or a model are in ``judged_groups.py``.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import DEFAULT, EXACT, NO_GROUP, Aliases, group_answers
from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.blocks import MOST_ANSWERS, crowd_note
from tracerank.answers.meaning.grouping import group_by_meaning
from tracerank.answers.text_keys import comparable

CONTAINMENT = "containment"
MEANING = "meaning"
_YES_NO = ("yes", "no")


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


@dataclass(frozen=True, slots=True)
class ContainmentGroups:
    """Answers of which one stands, word for word, in the other, and whatever hangs together by such answers.

    The vote that studies take for the best one; it is not our default, because containment chains what is unrelated:
    "Paris" and "Lyon" are one group as soon as somebody answers "Paris or Lyon". Answers that open with yes or no are
    one group each and contain nothing else. Abstentions are in no group.
    """

    name: str = CONTAINMENT

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        said = [None if abstains(answer, question) else _words(answer) for answer in answers]
        roots = _chained({words for words in said if words is not None})
        numbers: dict[_Words, int] = {}
        return tuple(NO_GROUP if words is None else numbers.setdefault(roots[words], len(numbers)) for words in said)


@dataclass(frozen=True, slots=True)
class MeaningGroups:
    """Answers that mean the same: sentences by what they assert; names, values and options by what they name."""

    name: str = MEANING

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return group_by_meaning(answers, question)

    def note(self, answers: Sequence[str | None]) -> str | None:
        """What the user should know of these groups: that there are too many answers to compare all."""
        if len(answers) <= MOST_ANSWERS:
            return None
        distinct = len({comparable(answer) for answer in answers if answer})
        return crowd_note(distinct) if distinct > MOST_ANSWERS else None


_Words = tuple[str, ...]


def _words(answer: str | None) -> _Words:
    words = tuple(normalize_answer(answer).split())
    return words[:1] if words and words[0] in _YES_NO else words


def _chained(forms: Set[_Words]) -> dict[_Words, _Words]:
    """Every form to one that stands for all that it hangs together with."""
    root = {form: form for form in forms}

    def find(form: _Words) -> _Words:
        while root[form] != form:
            root[form] = root[root[form]]
            form = root[form]
        return form

    holders: dict[str, list[_Words]] = {}
    for form in forms:
        for word in set(form):
            holders.setdefault(word, []).append(form)
    for form in forms:
        if not form or form[0] in _YES_NO:
            continue
        # Only what has the form's rarest word can hold the whole of it.
        for other in min((holders[word] for word in form), key=len):
            if _stands_in(form, other):
                root[find(other)] = find(form)
    return {form: find(form) for form in forms}


def _stands_in(part: _Words, whole: _Words) -> bool:
    return any(whole[place : place + len(part)] == part for place in range(len(whole) - len(part) + 1))
