"""Pool to table: one row per meaning, columns as in ``table.py``.

``MeaningLedger`` takes one rollout after the other and remembers what it read of answers, texts and pairs of both, so
that a rollout more costs what it brings, not what was there before.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.asked import read_question
from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.blocks import crowd_note
from tracerank.answers.meaning.comparing import Memory
from tracerank.answers.meaning.grouping import answer_core, group_by_meaning
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.forms import Form, commonest, form_key, form_of, spelling
from tracerank.selectors.features.lines import TextLines
from tracerank.selectors.features.support import OWN_CHAINS, Chains
from tracerank.selectors.features.table import LIMIT
from tracerank.selectors.features.votes import Look, Looks
from tracerank.selectors.meaning.evidence import Sources, Support

BRIEF = 8
"""Words of an answer that is looked for as it is; of a longer one, its core."""


def by_meaning(answers: Sequence[str], question: str, memory: Memory | None = None) -> Sequence[tuple[str, int]]:
    """What each answer is looked for by, and its group of answers that mean the same."""
    groups = group_by_meaning(answers, question, memory=memory)
    return [(_sought(answer, question), group) for answer, group in zip(answers, groups, strict=True)]


def _sought(answer: str, question: str) -> str:
    if len(answer.split()) <= BRIEF and "\n" not in answer:
        return answer
    return answer_core(question, answer).text.strip() or answer


def meaning_table(question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> FeatureTable:
    """The features of the rollouts' meanings; all must have an answer, abstentions get no row."""
    return _ledger(question, rollouts, lines).table()


def standing_table(question: str, rollouts: Sequence[Rollout], place: int) -> FeatureTable:
    """The same where only the row of one rollout's meaning will be looked at: the others are all zeros."""
    return _ledger(question, rollouts).standing(place)


def _ledger(question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> "MeaningLedger":
    ledger = MeaningLedger(question, lines)
    for rollout in rollouts:
        ledger.add(rollout)
    return ledger


def named(table: FeatureTable, row: int, names: Sequence[str]) -> dict[str, float]:
    """Some columns of a row."""
    values = table.values[row].tolist()
    return {name: values[_PLACE_OF[name]] for name in names}


class _Meaning(NamedTuple):
    """One group with what its rollouts and the others saw, as bits."""

    forms: tuple[Form, ...]
    members: tuple[int, ...]
    own: int
    others: int


COLUMNS = ("log_votes", "vote_share", "vote_lead", *Support._fields, *OWN_CHAINS, "searched_by_others", *Look._fields)
"""What a row is made of: the names of ``table.py``, in its order."""
_PLACE_OF = {name: place for place, name in enumerate(COLUMNS)}
_Counted = tuple[Support, Chains]


class MeaningLedger:
    """The answered rollouts of a question so far, and what was read of them."""

    def __init__(self, question: str, lines: TextLines | None = None) -> None:
        self.question = question
        self.rollouts: list[Rollout] = []
        lines = lines or TextLines()
        self._asked = read_question(question)
        self._keys: dict[str, str] = {}
        self._places: dict[str, list[int]] = {}
        self._spelled: dict[str, dict[str, int]] = {}
        self._read: tuple[list[str], Sequence[tuple[str, int]]] = ([], [])
        self._memory = Memory()
        self._forms: dict[tuple[str, int], Form] = {}
        self._looks = Looks(lines.of(question), self._asked, question)
        self._sources = Sources(question, lines)
        self._counted: dict[str, tuple[tuple[object, ...], _Counted]] = {}

    def add(self, rollout: Rollout) -> None:
        """One rollout more; it must have an answer."""
        place, answer = len(self.rollouts), rollout.answer or ""
        self.rollouts.append(rollout)
        key = self._keys.get(answer)
        if key is None:
            key = self._keys[answer] = form_key(answer)
        places = self._places.get(key)
        if places is None:
            self._places[key], self._spelled[key] = [place], {answer: 1}
        else:
            places.append(place)
            spelled = self._spelled[key]
            spelled[answer] = spelled.get(answer, 0) + 1
        self._sources.add(rollout)

    def table(self) -> FeatureTable:
        """One row for each meaning of all rollouts so far."""
        meanings = self._meanings()
        poll = _poll(meanings)
        return self._as_table(meanings, np.array([self._row(meaning, poll) for meaning in meanings], np.float32))

    def standing(self, place: int) -> FeatureTable:
        """The same with zeros for all meanings but that of one rollout."""
        meanings = self._meanings()
        values = np.zeros((len(meanings), len(COLUMNS)), np.float32)
        for row, meaning in enumerate(meanings):
            if place in meaning.members:
                values[row] = self._row(meaning, _poll(meanings))
        return self._as_table(meanings, values)

    def _as_table(self, meanings: Sequence[_Meaning], values: NDArray[np.float32]) -> FeatureTable:
        return FeatureTable(
            np.minimum(np.maximum(values.reshape(len(meanings), len(COLUMNS)), -LIMIT), LIMIT),
            np.arange(len(meanings), dtype=np.int64),
            np.array([len(meaning.members) for meaning in meanings], np.int64),
            tuple(meaning.members for meaning in meanings),
            crowd_note(len(self._places)) if len(self._read[0]) < len(self._places) else None,
        )

    def _row(self, meaning: _Meaning, poll: tuple[int, int, int]) -> tuple[float, ...]:
        own, (total, first, second) = len(meaning.members), poll
        support, chains = self._supported(meaning)
        lead = (own - (second if own == first else first)) / total
        searched = self._sources.searched_outside(meaning.forms, meaning.members)
        return math.log(own), own / total, lead, *support, *chains, searched, *self._fit(meaning.forms)

    def _form_list(self) -> list[Form]:
        keys = commonest(self._places)
        answers = [spelling(self._spelled[key]) for key in keys]
        if answers != self._read[0]:  # groups depend on the set of answers alone
            self._read = answers, by_meaning(answers, self.question, self._memory)
        found = []
        for known, key in zip(self._read[1], keys, strict=True):
            if known[1] != NO_GROUP:
                form, own = self._forms.get(known), self._places[key]
                if form is None or len(form.rollouts) != len(own) or form.rollouts[0] != own[0]:
                    form = self._forms[known] = form_of(*known, own, self._asked)
                found.append(form)
        return found

    def _meanings(self) -> list[_Meaning]:
        if self._sources.read():
            self._counted.clear()
        groups: dict[int, list[Form]] = {}
        for form in self._form_list():
            groups.setdefault(form.group, []).append(form)
        found = []
        once = twice = 0
        # By the alphabet, so that a tie, which goes to the first row, does not hang on the order of the rollouts.
        for wordings in sorted(groups.values(), key=_first_line):
            members = wordings[0].rollouts
            if len(wordings) > 1:
                members = tuple(sorted(place for form in wordings for place in form.rollouts))
            own = self._sources.seen_by(members)
            twice |= once & own
            once |= own
            found.append((tuple(wordings), members, own))
        voting = {place for _, members, _ in found for place in members}
        if len(voting) < len(self.rollouts):  # whoever abstains is of no meaning, and sees texts
            twice |= self._sources.seen_by(set(range(len(self.rollouts))) - voting)
        return [_Meaning(forms, members, own, twice | once & ~own) for forms, members, own in found]

    def _supported(self, meaning: _Meaning) -> _Counted:
        """Evidence and chains, counted again where anything has come to them: sets of texts and rollouts only grow."""
        found = self._sources.found
        sought = [(form, found(form)) for form in meaning.forms if not form.is_polar]  # yes and no stand nowhere
        of = (*meaning, *(finds.held for _, finds in sought))
        known = self._counted.get(meaning.forms[0].line)
        if known is None or known[0] != of:
            support = self._sources.support(sought, meaning.members, meaning.own, meaning.others)
            known = self._counted[meaning.forms[0].line] = of, (support, self._sources.chains(sought))
        return known[1]

    def _fit(self, forms: Sequence[Form]) -> tuple[float, ...]:
        """The best of its wordings; what is missing says nothing."""
        looks = [self._looks.of(form) for form in forms]
        if len(looks) == 1:
            *known, is_option, repeats = looks[0]
            return *known, is_option if is_option == is_option else 0.0, repeats if repeats == repeats else 0.0
        told = [[value for value in column if value == value] or [0.0] for column in zip(*looks, strict=True)]
        return Look(*(max(own) for own in told))._replace(misfit=min(told[1]), repeats_question=min(told[-1]))


def _poll(meanings: Sequence[_Meaning]) -> tuple[int, int, int]:
    """All votes, the most that a meaning has, and the second most."""
    first, second, *_ = *sorted([len(meaning.members) for meaning in meanings], reverse=True), 0, 0
    return sum([len(meaning.members) for meaning in meanings]), first, second


def _first_line(forms: Sequence[Form]) -> str:
    return forms[0].line if len(forms) == 1 else min([form.line for form in forms])
