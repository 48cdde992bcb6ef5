"""Pool to table: one row per meaning, columns as in ``table.py``.

``MeaningLedger`` takes one rollout after the other and remembers what it read of answers, texts and pairs of both, so
that a rollout more costs what it brings, not what was there before.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
from tracerank.selectors.features.support import (
    NO_CHAINS,
    OWN_CHAINS,
    Chains,
    Place,
    Queries,
    chained,
    near,
    plain_place,
)
from tracerank.selectors.features.table import LIMIT
from tracerank.selectors.features.view import (
    FUNCTION_WORDS,
    Form,
    SeenTexts,
    TextLines,
    Trail,
    asked_kind_of,
    commonest,
    form_key,
    form_of,
    spelling,
    subject_of,
    terms,
    words_held,
    words_of,
)
from tracerank.selectors.features.votes import Look, Looks

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


@dataclass(slots=True)
class _Finds:
    """Where one form was looked for, and what was found there."""

    wanted: frozenset[str]
    """The question's words that are not in the form itself."""
    looked: int = 0
    """Texts that were looked at."""
    places: dict[int, Place] = field(default_factory=dict)
    """Text that holds it to how it stands there."""
    covered: list[int] = field(default_factory=list)
    """Its content words in each text, as far as anybody asked: what is found needs no count."""
    around: dict[int, frozenset[str]] = field(default_factory=dict)
    """Text that holds it to the words around it."""
    chains: dict[tuple[tuple[str, ...], int], Chains] = field(default_factory=dict)
    """What a rollout searched for and saw to the chains that lead there."""


class _Support(NamedTuple):
    """What the evidence says of a meaning, in the order of ``table.py``."""

    found: float
    last_found: float
    best_rank: float
    texts: float
    mentions: float
    recall: float
    window: float
    close: float
    head: float
    in_head: float
    question_recall: float
    others_found: float
    others_recall: float
    others_window: float
    others_close: float
    all_texts: float
    kind_stated: float


COLUMNS = ("log_votes", "vote_share", "vote_lead", *_Support._fields, *OWN_CHAINS, "searched_by_others", *Look._fields)
"""What a row is made of: the names of ``table.py``, in its order."""
_PLACE_OF = {name: place for place, name in enumerate(COLUMNS)}
_Counted = tuple[_Support, Chains]


class MeaningLedger:
    """The answered rollouts of a question so far, and what was read of them."""

    def __init__(self, question: str, lines: TextLines | None = None) -> None:
        self.question = question
        self.rollouts: list[Rollout] = []
        self._lines = lines or TextLines()
        self._line, self._asked = self._lines.of(question), read_question(question)
        self._kind = asked_kind_of(words_of(question))
        self._keys: dict[str, str] = {}
        self._places: dict[str, list[int]] = {}
        self._spelled: dict[str, dict[str, int]] = {}
        self._read: tuple[list[str], Sequence[tuple[str, int]]] = ([], [])
        self._memory = Memory()
        self._forms: dict[tuple[str, int], Form] = {}
        self._looks = Looks(self._line, self._asked, question)
        self._seen = SeenTexts(self._lines)
        self._trails: list[Trail] = []
        self._searched: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._subject: frozenset[str] = frozenset()
        self._said: list[frozenset[str]] = []
        self._finds: dict[str, _Finds] = {}
        self._queries = Queries(self._line.text)
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
        trail = self._seen.trail(rollout)
        self._trails.append(trail)
        self._queries.add(place, trail.queries)

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
            values.reshape(len(meanings), len(COLUMNS)).clip(-LIMIT, LIMIT),
            np.arange(len(meanings), dtype=np.int64),
            np.array([len(meaning.members) for meaning in meanings], np.int64),
            tuple(meaning.members for meaning in meanings),
            crowd_note(len(self._places)) if len(self._read[0]) < len(self._places) else None,
        )

    def _row(self, meaning: _Meaning, poll: tuple[int, int, int]) -> tuple[float, ...]:
        own, (total, first, second) = len(meaning.members), poll
        support, chains = self._supported(meaning)
        lead = (own - (second if own == first else first)) / total
        searched = self._searched_outside(meaning)
        return math.log(own), own / total, lead, *support, *chains, searched, *self._fit(meaning.forms)

    def _look_at_subject(self) -> None:
        """The question's words; where nothing parts words, the texts tell which, and all is looked for again."""
        if not self._subject or not self.question.isascii():
            subject = frozenset(subject_of(self.question, self._seen.texts))
            if subject != self._subject:
                self._subject, self._said = subject, []
                self._finds.clear()
                self._counted.clear()
        subject = self._subject
        self._said += [subject & text.words for text in self._seen.texts[len(self._said) :]]

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
        self._look_at_subject()
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
            own = self._seen_by(members)
            twice |= once & own
            once |= own
            found.append((tuple(wordings), members, own))
        if sum([len(members) for _, members, _ in found]) < len(
            self.rollouts
        ):  # whoever abstains is of no meaning, and sees texts
            twice |= self._seen_by(set(range(len(self.rollouts))).difference(*(members for _, members, _ in found)))
        return [_Meaning(forms, members, own, twice | once & ~own) for forms, members, own in found]

    def _seen_by(self, places: Iterable[int]) -> int:
        texts = 0
        for place in places:
            texts |= self._trails[place].texts
        return texts

    def _found(self, form: Form) -> _Finds:
        """What is known of a form, with every text looked at."""
        finds = self._finds.get(form.line)
        if finds is None:
            wanted = frozenset([word for word in self._subject if f" {word} " not in form.line])
            finds = self._finds[form.line] = _Finds(wanted)
        first, line = form.words[0], form.line
        texts, looked, finds.looked = self._seen.texts, finds.looked, len(self._seen.texts)
        for number in range(looked, finds.looked):
            # Few texts have its first word; where characters are words, sets hold other terms.
            if (first in texts[number].words or number in self._seen.foreign) and line in texts[number].text:
                place = plain_place(texts[number].text, self._seen.heads[number], line, finds.wanted, self._kind)
                finds.places[number] = place
        return finds

    def _supported(self, meaning: _Meaning) -> _Counted:
        """Evidence and chains, counted again where anything has come to them: sets of texts and rollouts only grow."""
        sought = [(form, self._found(form)) for form in meaning.forms if not form.is_polar]  # yes and no stand nowhere
        of = (*meaning, *(len(finds.places) for _, finds in sought))
        known = self._counted.get(meaning.forms[0].line)
        if known is None or known[0] != of:
            counted = self._evidence(meaning, sought), self._chains(sought)
            known = self._counted[meaning.forms[0].line] = of, counted
        return known[1]

    def _evidence(self, meaning: _Meaning, sought: Sequence[tuple[Form, _Finds]]) -> _Support:
        own_texts, others_texts = meaning.own, meaning.others
        own: list[Place] = []
        others: list[Place] = []
        mentions: dict[int, int] = {}
        held = titled = is_kind = 0
        for form, finds in sought:
            for number, place in finds.places.items():
                bit = 1 << number
                held |= bit
                is_kind |= place.is_kind
                if own_texts & bit:
                    own.append(place)
                    mentions[number] = max(mentions.get(number, 0), place.mentions)
                    titled |= form.line in self._seen.heads[number]
                if others_texts & bit:
                    others.append(place)
        best_rank, is_last = 0.0, False
        if own:
            trails = [self._trails[place] for place in meaning.members]
            best_rank = max([1 / one.ranks[number] for one in trails for number in mentions if number in one.ranks])
            is_last = any(one.last & held for one in trails)
        best_own, best_others = _best_of(own), _best_of(others)
        return _Support(
            found=float(bool(own)),
            last_found=float(is_last),
            best_rank=best_rank,
            texts=math.log1p(len(mentions)),
            mentions=math.log1p(sum(mentions.values())),
            recall=1.0 if own else self._recall(sought, own_texts),
            window=best_own[0],
            close=best_own[1],
            head=best_own[2],
            in_head=float(titled),
            question_recall=self._asked_for(own_texts),
            others_found=float(bool(others)),
            others_recall=1.0 if others else self._recall(sought, others_texts),
            others_window=best_others[0],
            others_close=best_others[1],
            all_texts=math.log1p(held.bit_count()),
            kind_stated=float(is_kind),
        )

    def _asked_for(self, texts: int) -> float:
        """The best share of the question's words in one of these texts."""
        if not self._subject:
            return 0.0
        return max([len(said) for number, said in enumerate(self._said) if texts >> number & 1], default=0) / len(
            self._subject
        )

    def _recall(self, sought: Sequence[tuple[Form, _Finds]], texts: int) -> float:
        best = 0.0
        for form, finds in sought:
            content = form.content
            if content and texts:
                finds.covered += [len(content & text.words) for text in self._seen.texts[len(finds.covered) :]]
                counts = [count for number, count in enumerate(finds.covered) if texts >> number & 1]
                best = max(best, max(counts) / len(content))
        return best

    def _chains(self, sought: Sequence[tuple[Form, _Finds]]) -> Chains:
        best = NO_CHAINS
        for form, finds in sought:
            if not finds.places:
                continue
            own = frozenset(terms(form.words))
            asked = self._subject - own
            for place in form.rollouts:
                trail = self._trails[place]
                key = trail.queries, trail.texts  # rollouts often do the same
                found = finds.chains.get(key)
                if found is None:
                    found = finds.chains[key] = self._chained(finds, form.line, trail, asked, own)
                if found is not NO_CHAINS:
                    best = max(best[0], found[0]), max(best[1], found[1]), max(best[2], found[2])
        return best

    def _chained(self, finds: _Finds, line: str, trail: Trail, asked: frozenset[str], own: frozenset[str]) -> Chains:
        around = []
        for number in finds.places:
            if trail.texts >> number & 1:
                if number not in finds.around:
                    finds.around[number] = near(self._seen.texts[number], line)
                around.append(finds.around[number])
        if not around:
            return NO_CHAINS
        is_apart = len(asked) == len(self._subject)  # the answer has no word of the question
        texts = [
            (self._seen.texts[number].words, said if is_apart else said - own)
            for number, said in enumerate(self._said)
            if trail.texts >> number & 1
        ]
        return chained(map(self._words_searched, trail.queries), texts, around, asked, own)

    def _words_searched(self, query: str) -> tuple[frozenset[str], frozenset[str]]:
        """The words of a query, and those of them that the question does not say."""
        found = self._searched.get(query)
        if found is None:
            words = frozenset(words_held(query)) - FUNCTION_WORDS
            found = self._searched[query] = words, words - self._line.words
        return found

    def _searched_outside(self, meaning: _Meaning) -> float:
        """Whether rollouts with another answer searched for it."""
        for form in meaning.forms:
            if (asking := self._queries.asking(form)) and not asking.issubset(meaning.members):
                return 1.0
        return 0.0

    def _fit(self, forms: Sequence[Form]) -> Look:
        """The best of its wordings; what is missing says nothing."""
        looks = [self._looks.of(form) for form in forms]
        if len(looks) == 1:
            return Look(*(value if value == value else 0.0 for value in looks[0]))
        known = [[value for value in column if value == value] or [0.0] for column in zip(*looks, strict=True)]
        return Look(*(max(own) for own in known))._replace(misfit=min(known[1]), repeats_question=min(known[-1]))


def _poll(meanings: Sequence[_Meaning]) -> tuple[int, int, int]:
    """All votes, the most that a meaning has, and the second most."""
    first, second, *_ = *sorted([len(meaning.members) for meaning in meanings], reverse=True), 0, 0
    return sum([len(meaning.members) for meaning in meanings]), first, second


def _first_line(forms: Sequence[Form]) -> str:
    return forms[0].line if len(forms) == 1 else min([form.line for form in forms])


def _best_of(places: Sequence[Place]) -> tuple[float, float, float]:
    """The largest window, close and head."""
    if len(places) < 2:
        return places[0][:3] if places else (0.0, 0.0, 0.0)
    windows, closes, heads, _, _ = zip(*places, strict=True)
    return max(windows), max(closes), max(heads)
