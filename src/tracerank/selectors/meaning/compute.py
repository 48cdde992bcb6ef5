"""Pool to table: one row per meaning, columns as in ``table.py``.

``MeaningLedger`` takes one rollout after the other and remembers what it read of answers, texts and pairs of both, so
that a rollout more costs what it brings, not what was there before.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracerank.answers.asked import read_question
from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.blocks import crowd_note
from tracerank.answers.meaning.comparing import Memory
from tracerank.answers.meaning.grouping import answer_core, group_by_meaning
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.support import OWN_CHAINS, Place, Queries, chained, near, plain_place
from tracerank.selectors.features.table import LIMIT
from tracerank.selectors.features.view import (
    FUNCTION_WORDS,
    HEAD,
    MOST_TEXTS,
    Form,
    Line,
    Seen,
    TextLines,
    asked_kind_of,
    commonest,
    form_key,
    form_of,
    seen_by,
    spelling,
    subject_of,
    terms,
    words_held,
    words_of,
)
from tracerank.selectors.features.votes import looks_of
from tracerank.selectors.meaning.table import MEANING_FEATURES

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
    ledger = MeaningLedger(question, lines)
    for rollout in rollouts:
        ledger.add(rollout)
    return ledger.table()


def named(table: FeatureTable, row: int, names: Sequence[str]) -> dict[str, float]:
    """Some columns of a row."""
    values = table.values[row].tolist()
    return {name: values[MEANING_FEATURES.names.index(name)] for name in names}


_Searched = tuple[frozenset[str], frozenset[str]]
"""The words of a query, and those of them that the question does not say."""


@dataclass(frozen=True, slots=True)
class _Trail:
    """What one rollout searched for, and the texts that it saw."""

    searched: tuple[_Searched, ...]
    numbers: list[int]
    """Of the texts, those that are searched."""


@dataclass(frozen=True, slots=True)
class _Meaning:
    """One group with what its rollouts and the others saw."""

    forms: tuple[Form, ...]
    members: tuple[int, ...]
    own: Mapping[int, int]
    """Text to the number of its rollouts that saw it."""


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
    chains: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    """Rollout to the chains that lead there."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """What was counted of a meaning's evidence, and of what."""

    of: tuple[object, ...]
    found: Mapping[str, float]


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
        self._looks: dict[str, Mapping[str, float]] = {}
        self._fit: tuple[list[tuple[str, int]], dict[int, dict[str, float]]] = ([], {})
        self._numbers: dict[str, int] = {}
        self._texts: list[Line] = []
        self._heads: list[str] = []
        self._foreign: list[int] = []
        self._seen: list[Seen] = []
        self._trails: list[_Trail] = []
        self._searched: dict[str, _Searched] = {}
        self._subject: frozenset[str] = frozenset()
        self._about: list[int] = []
        self._finds: dict[str, _Finds] = {}
        self._queries = Queries(self._line.text)
        self._readers: Counter[int] = Counter()
        self._own: dict[tuple[int, ...], Counter[int]] = {}
        self._counted: dict[str, _Counted] = {}

    def add(self, rollout: Rollout) -> None:
        """One rollout more; it must have an answer."""
        place, answer = len(self.rollouts), rollout.answer or ""
        self.rollouts.append(rollout)
        key = self._keys.get(answer)
        if key is None:
            key = self._keys[answer] = form_key(answer)
        self._places.setdefault(key, []).append(place)
        spelled = self._spelled.setdefault(key, {})
        spelled[answer] = spelled.get(answer, 0) + 1
        before = len(self._numbers)
        seen = seen_by(rollout, self._numbers, self._lines)
        self._seen.append(seen)
        if before < min(len(self._numbers), MOST_TEXTS):
            self._look_at(list(self._numbers)[before:MOST_TEXTS])
        trail = self._trail(seen)
        self._trails.append(trail)
        self._queries.add(place, seen.queries)
        self._readers.update(trail.numbers)

    def _look_at(self, texts: Sequence[str]) -> None:
        for text in texts:
            line = self._lines.of(text)
            if not line.text.isascii():
                self._foreign.append(len(self._texts))
            self._texts.append(line)
            self._heads.append(line.text[:HEAD])

    def _trail(self, seen: Seen) -> _Trail:
        searched = dict.fromkeys(map(self._words_searched, seen.queries))
        count = len(self._texts)
        numbers = list(seen.ranks)
        if len(self._numbers) > count:
            numbers = [number for number in numbers if number < count]
        return _Trail(tuple(searched), numbers)

    def _words_searched(self, query: str) -> _Searched:
        found = self._searched.get(query)
        if found is None:
            words = frozenset(words_held(query)) - FUNCTION_WORDS
            found = self._searched[query] = words, words - self._line.words
        return found

    def table(self) -> FeatureTable:
        """One row for each meaning of all rollouts so far."""
        self._look_at_subject()
        forms = self._form_list()
        meanings = self._meanings(forms)
        values = np.zeros((len(meanings), len(MEANING_FEATURES.names)), np.float32)
        if meanings:
            votes = [len(meaning.members) for meaning in meanings]
            first, second = (*sorted(votes, reverse=True), 0)[:2]
            voters, fits = sum(votes), self._fits(forms)
            rows = []
            for meaning, own in zip(meanings, votes, strict=True):
                found = _votes(own, second if own == first else first, voters)
                found |= self._supported(meaning)
                found |= fits[meaning.forms[0].group]
                found["searched_by_others"] = self._searched_outside(meaning)
                rows.append([found[name] for name in MEANING_FEATURES.names])
            values[:] = rows
        return FeatureTable(
            values.clip(-LIMIT, LIMIT),
            np.arange(len(meanings), dtype=np.int64),
            np.array([len(meaning.members) for meaning in meanings], np.int64),
            tuple(meaning.members for meaning in meanings),
            crowd_note(len(self._places)) if len(self._read[0]) < len(self._places) else None,
        )

    def _look_at_subject(self) -> None:
        """The question's words; where nothing parts words, the texts tell which, and all is looked for again."""
        subject = frozenset(subject_of(self.question, self._texts))
        if subject != self._subject:
            self._subject, self._about = subject, []
            self._finds.clear()
            self._counted.clear()
        self._about += [len(subject & text.words) for text in self._texts[len(self._about) :]]

    def _form_list(self) -> tuple[Form, ...]:
        keys = commonest(self._places)
        answers = [spelling(self._spelled[key]) for key in keys]
        if answers != self._read[0]:  # groups depend on the set of answers alone
            self._read = answers, by_meaning(answers, self.question, self._memory)
        found = []
        for (answer, group), own in zip(self._read[1], map(self._places.__getitem__, keys), strict=True):
            if group != NO_GROUP:
                known = self._forms.get((answer, group))
                if known is None or len(known.rollouts) != len(own) or known.rollouts[0] != own[0]:
                    known = self._forms[answer, group] = form_of(answer, group, own, self._asked)
                found.append(known)
        return tuple(found)

    def _meanings(self, forms: Sequence[Form]) -> list[_Meaning]:
        groups: dict[int, list[Form]] = {}
        for form in forms:
            groups.setdefault(form.group, []).append(form)
        found, known = [], {}
        # By the alphabet, so that a tie, which goes to the first row, does not hang on the order of the rollouts.
        for wordings in sorted(groups.values(), key=lambda wordings: min(form.line for form in wordings)):
            members = tuple(sorted(place for form in wordings for place in form.rollouts))
            known[members] = self._seen_inside(members)
            found.append(_Meaning(tuple(wordings), members, known[members]))
        self._own = known
        return found

    def _seen_inside(self, members: tuple[int, ...]) -> Counter[int]:
        """Text to readers among these rollouts, from what is known of the same meaning, now or before its last one."""
        known = self._own.get(members)
        if known is not None:
            return known
        known, left = self._own.get(members[:-1]), members[-1:]
        known, left = (Counter(), members) if known is None else (known.copy(), left)
        for place in left:
            known.update(self._trails[place].numbers)
        return known

    def _found(self, form: Form) -> _Finds:
        """What is known of a form, with every text looked at."""
        finds = self._finds.get(form.line)
        if finds is None:
            wanted = frozenset(word for word in self._subject if f" {word} " not in form.line)
            finds = self._finds[form.line] = _Finds(wanted)
        if finds.looked == len(self._texts):
            return finds
        # Few texts have its first word; where characters are words, sets hold other terms.
        first, looked, finds.looked = form.words[0], finds.looked, len(self._texts)
        for number in range(looked, finds.looked):
            text = self._texts[number]
            if (first in text.words or number in self._foreign) and form.line in text.text:
                finds.places[number] = plain_place(text.text, self._heads[number], form.line, finds.wanted, self._kind)
        return finds

    def _supported(self, meaning: _Meaning) -> Mapping[str, float]:
        """Evidence and chains, counted again where anything has come to them: sets of texts and rollouts only grow."""
        lines = tuple(form.line for form in meaning.forms)
        held = sum(len(self._found(form).places) for form in meaning.forms if not form.is_polar)
        alone = len(meaning.own.items() & self._readers.items())  # nobody else has read them
        of = (lines, meaning.members, len(meaning.own), len(self._texts) - alone, held)
        known = self._counted.get(lines[0])
        if known is None or known.of != of:
            known = self._counted[lines[0]] = _Counted(of, self._evidence(meaning) | self._chains(meaning))
        return known.found

    def _evidence(self, meaning: _Meaning) -> dict[str, float]:
        sought = [form for form in meaning.forms if not form.is_polar]  # yes and no stand nowhere
        own_texts, readers = meaning.own, self._readers
        places: dict[int, list[Place]] = {}
        titled = False
        for form in sought:
            for number, place in self._found(form).places.items():
                places.setdefault(number, []).append(place)
                titled = titled or (number in own_texts and form.line in self._heads[number])
        own, others = [], []
        for number, found in places.items():
            inside = own_texts.get(number, 0)
            if inside:
                own += found
            if readers[number] > inside:
                others += found
        seen = [self._seen[place] for place in meaning.members] if places else []
        ranks = [1 / one.ranks[number] for one in seen for number in places if number in one.ranks]
        mentions = [max(one.mentions for one in found) for number, found in places.items() if number in own_texts]
        if not others:
            others_texts = [number for number, count in readers.items() if count > own_texts.get(number, 0)]
        return {
            "found": float(bool(own)),
            "last_found": float(any(not one.last.isdisjoint(places) for one in seen)),
            "best_rank": max(ranks, default=0.0),
            "texts": math.log1p(len(mentions)),
            "mentions": math.log1p(sum(mentions)),
            "recall": 1.0 if own else self._recall(sought, list(own_texts)),
            "window": max((place.window for place in own), default=0.0),
            "close": max((place.close for place in own), default=0.0),
            "head": max((place.head for place in own), default=0.0),
            "in_head": float(titled),
            "question_recall": _best(self._about, own_texts, len(self._subject)),
            "others_found": float(bool(others)),
            "others_recall": 1.0 if others else self._recall(sought, others_texts),
            "others_window": max((place.window for place in others), default=0.0),
            "others_close": max((place.close for place in others), default=0.0),
            "all_texts": math.log1p(len(places)),
            "kind_stated": float(any(place.is_kind for found in places.values() for place in found)),
        }

    def _recall(self, forms: Sequence[Form], numbers: Sequence[int]) -> float:
        best = 0.0
        for form in forms:
            finds = self._found(form)
            if len(finds.covered) < len(self._texts):
                content = form.content
                finds.covered += [len(content & text.words) for text in self._texts[len(finds.covered) :]]
            best = max(best, _best(finds.covered, numbers, len(form.content)))
        return best

    def _chains(self, meaning: _Meaning) -> dict[str, float]:
        best = (0.0,) * len(OWN_CHAINS)
        for form in meaning.forms:
            if form.is_polar or not (finds := self._found(form)).places:
                continue
            own = frozenset(terms(form.words))
            asked = self._subject - own
            for place in form.rollouts:
                if place not in finds.chains:
                    finds.chains[place] = self._chained(finds, form, self._trails[place], asked, own)
                best = tuple(map(max, best, finds.chains[place]))
        return dict(zip(OWN_CHAINS, best, strict=True))

    def _chained(
        self, finds: _Finds, form: Form, trail: _Trail, asked: frozenset[str], own: frozenset[str]
    ) -> tuple[float, float, float]:
        around = []
        for number in trail.numbers:
            if number in finds.places:
                if number not in finds.around:
                    finds.around[number] = near(self._texts[number], form.line)
                around.append(finds.around[number])
        if not around:
            return 0.0, 0.0, 0.0
        return chained(trail.searched, [self._texts[number] for number in trail.numbers], around, asked, own)

    def _searched_outside(self, meaning: _Meaning) -> float:
        """Whether rollouts with another answer searched for it."""
        inside = frozenset(meaning.members)
        return float(any(not self._queries.asking(form) <= inside for form in meaning.forms))

    def _fits(self, found: Sequence[Form]) -> Mapping[int, Mapping[str, float]]:
        """Of each group how its forms look, which does not hang on who wrote them."""
        forms = [(form.answer, form.group) for form in found]
        if forms != self._fit[0]:
            new = [form for form in found if form.answer not in self._looks]
            looks = looks_of(self._line, self._asked, new, self.question) if new else []
            self._looks |= {form.answer: look for form, look in zip(new, looks, strict=True)}
            rows: dict[int, list[Mapping[str, float]]] = {}
            for form in found:
                rows.setdefault(form.group, []).append(self._looks[form.answer])
            self._fit = forms, {group: _fit(own) for group, own in rows.items()}
        return self._fit[1]


def _votes(own: int, rival: int, total: int) -> dict[str, float]:
    return {"log_votes": math.log(own), "vote_share": own / total, "vote_lead": (own - rival) / total}


def _best(counts: Sequence[int], numbers: Iterable[int], whole: int) -> float:
    """The best share of so many words in one of these texts."""
    return max(map(counts.__getitem__, numbers), default=0) / whole if whole else 0.0


def _fit(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The best of its wordings; what is missing says nothing."""

    def known(name: str) -> list[float]:
        return [row[name] for row in rows if row[name] == row[name]] or [0.0]

    best = {name: max(known(name)) for name in ("fits_kind", "kind_chance", "kind_lift", "is_polar", "is_option")}
    return best | {name: min(known(name)) for name in ("misfit", "repeats_question")}
