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
from tracerank.answers.meaning.grouping import answer_core, group_by_meaning
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.support import OWN_CHAINS, Place, Queries, chained, may_hold, place_of
from tracerank.selectors.features.table import LIMIT
from tracerank.selectors.features.view import (
    FUNCTION_WORDS,
    HEAD,
    MOST_TEXTS,
    Form,
    Line,
    PoolView,
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
from tracerank.selectors.features.votes import shape
from tracerank.selectors.meaning.table import MEANING_FEATURES

BRIEF = 8
"""Words of an answer that is looked for as it is; of a longer one, its core."""


def by_meaning(answers: Sequence[str], question: str) -> Sequence[tuple[str, int]]:
    """What each answer is looked for by, and its group of answers that mean the same."""
    groups = group_by_meaning(answers, question)
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


@dataclass(frozen=True, slots=True)
class _Trail:
    """What one rollout searched for, and the texts that it saw."""

    searched: tuple[tuple[frozenset[str], frozenset[str]], ...]
    """The words of each query, and those of them that the question does not say."""
    texts: tuple[Line, ...]


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

    places: dict[int, Place] = field(default_factory=dict)
    """Text that holds it to how it stands there."""
    covered: list[int] = field(default_factory=list)
    """Its content words in each text, as far as texts were looked at."""
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
        self._places: dict[str, list[int]] = {}
        self._spelled: dict[str, Counter[str]] = {}
        self._read: tuple[list[str], Sequence[tuple[str, int]]] = ([], [])
        self._forms: dict[tuple[str, int], Form] = {}
        self._looks: tuple[list[tuple[str, int]], dict[int, dict[str, float]]] = ([], {})
        self._numbers: dict[str, int] = {}
        self._texts: list[Line] = []
        self._heads: list[str] = []
        self._seen: list[Seen] = []
        self._trails: list[_Trail] = []
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
        key = form_key(answer)
        self._places.setdefault(key, []).append(place)
        self._spelled.setdefault(key, Counter())[answer] += 1
        before = len(self._numbers)
        self._seen.append(seen_by(rollout, self._numbers, self._lines))
        for text in list(self._numbers)[before:MOST_TEXTS] if before < MOST_TEXTS else ():
            self._texts.append(self._lines.of(text))
            self._heads.append(self._texts[-1].text[:HEAD])
        self._trails.append(self._trail(self._seen[-1]))
        self._queries.add(place, self._seen[-1].queries)
        self._readers.update(self._numbers_seen(place))

    def table(self) -> FeatureTable:
        """One row for each meaning of all rollouts so far."""
        self._look_at_subject()
        view = self._view()
        meanings = self._meanings(view)
        values = np.zeros((len(meanings), len(MEANING_FEATURES.features)), np.float32)
        if meanings:
            votes = [len(meaning.members) for meaning in meanings]
            first, second = (*sorted(votes, reverse=True), 0)[:2]
            fits = self._fits(view)
            for row, meaning in enumerate(meanings):
                rival = second if votes[row] == first else first
                found = {**_votes(votes[row], rival, view.voters), **self._supported(view, meaning)}
                found |= fits[meaning.forms[0].group]
                inside = frozenset(meaning.members)
                found["searched_by_others"] = float(any(self._queries.asking(form) - inside for form in meaning.forms))
                values[row] = [found[name] for name in MEANING_FEATURES.names]
        return FeatureTable(
            values.clip(-LIMIT, LIMIT),
            np.arange(len(meanings), dtype=np.int64),
            np.array([len(meaning.members) for meaning in meanings], np.int64),
            tuple(meaning.members for meaning in meanings),
            view.note,
        )

    def _look_at_subject(self) -> None:
        """The question's words; where nothing parts words, the texts tell which, and all is looked for again."""
        subject = frozenset(subject_of(self.question, self._texts))
        if subject != self._subject:
            self._subject, self._about = subject, []
            self._finds.clear()
            self._counted.clear()
        self._about += [len(subject & text.words) for text in self._texts[len(self._about) :]]

    def _view(self) -> PoolView:
        forms = self._form_list()
        return PoolView(
            question=self._line,
            asked=self._asked,
            weights={},  # by rarity, which meanings do not go by
            rollouts=tuple(self.rollouts),
            forms=forms,
            groups=len({form.group for form in forms}),
            voters=sum(len(form.rollouts) for form in forms),
            texts=tuple(self._texts),
            heads=tuple(self._heads),
            seen=tuple(self._seen),
            asked_kind=self._kind,
            rarity={},
            note=crowd_note(len(self._places)) if len(self._read[0]) < len(self._places) else None,
        )

    def _form_list(self) -> tuple[Form, ...]:
        keys = commonest(self._places)
        answers = [spelling(self._spelled[key]) for key in keys]
        if answers != self._read[0]:  # groups depend on the set of answers alone
            self._read = answers, by_meaning(answers, self.question)
        found = []
        for (answer, group), own in zip(self._read[1], map(self._places.__getitem__, keys), strict=True):
            if group != NO_GROUP:
                known = self._forms.get((answer, group))
                if known is None or len(known.rollouts) != len(own) or known.rollouts[0] != own[0]:
                    known = self._forms[answer, group] = form_of(answer, group, own, self._asked)
                found.append(known)
        return tuple(found)

    def _meanings(self, view: PoolView) -> list[_Meaning]:
        forms: dict[int, list[Form]] = {}
        for form in view.forms:
            forms.setdefault(form.group, []).append(form)
        found, known = [], {}
        # By the alphabet, so that a tie, which goes to the first row, does not hang on the order of the rollouts.
        for wordings in sorted(forms.values(), key=lambda wordings: min(form.line for form in wordings)):
            members = tuple(sorted(place for form in wordings for place in form.rollouts))
            known[members] = self._seen_inside(members)
            found.append(_Meaning(tuple(wordings), members, known[members]))
        self._own = known
        return found

    def _seen_inside(self, members: tuple[int, ...]) -> Counter[int]:
        """Text to readers among these rollouts, from what is known of the same meaning, now or before its last one."""
        known = self._own.get(members)
        if known is None and (known := self._own.get(members[:-1])) is not None:
            known = known.copy()
            known.update(self._numbers_seen(members[-1]))
        return known or Counter(number for place in members for number in self._numbers_seen(place))

    def _numbers_seen(self, place: int) -> list[int]:
        return [number for number in self._seen[place].ranks if number < len(self._texts)]

    def _found(self, form: Form) -> _Finds:
        """What is known of a form, with every text looked at."""
        finds = self._finds.get(form.line) or self._finds.setdefault(form.line, _Finds())
        if len(finds.covered) == len(self._texts):
            return finds
        wanted = dict.fromkeys((word for word in self._subject if f" {word} " not in form.line), 1.0)
        for number in range(len(finds.covered), len(self._texts)):
            text = self._texts[number]
            finds.covered.append(len(form.content & text.words))
            if may_hold(text, form) and form.line in text.text:
                finds.places[number] = place_of(text.text, self._heads[number], form.line, wanted, self._kind)
        return finds

    def _supported(self, view: PoolView, meaning: _Meaning) -> Mapping[str, float]:
        """Evidence and chains, counted again where anything has come to them: sets of texts and rollouts only grow."""
        lines = tuple(form.line for form in meaning.forms)
        held = sum(len(self._found(form).places) for form in meaning.forms if not form.is_polar)
        alone = sum(self._readers[number] == count for number, count in meaning.own.items())
        of = (lines, meaning.members, len(meaning.own), len(self._texts) - alone, held)
        known = self._counted.get(lines[0])
        if known is None or known.of != of:
            known = self._counted[lines[0]] = _Counted(of, self._evidence(view, meaning) | self._chains(meaning))
        return known.found

    def _evidence(self, view: PoolView, meaning: _Meaning) -> dict[str, float]:
        sought = [form for form in meaning.forms if not form.is_polar]  # yes and no stand nowhere
        own_texts = meaning.own
        others_texts = {number for number, count in self._readers.items() if count > own_texts.get(number, 0)}
        places: dict[int, list[Place]] = {}
        titled = False
        for form in sought:
            for number, place in self._found(form).places.items():
                places.setdefault(number, []).append(place)
                titled = titled or (number in own_texts and form.line in self._heads[number])
        own = [place for number, found in places.items() if number in own_texts for place in found]
        others = [place for number, found in places.items() if number in others_texts for place in found]
        seen = [view.seen[place] for place in meaning.members]
        ranks = (1 / one.ranks[number] for one in seen for number in places if number in one.ranks)
        return {
            "found": float(bool(own)),
            "last_found": float(any(number in places for one in seen for number in one.last)),
            "best_rank": max(ranks, default=0.0),
            "texts": math.log1p(sum(number in own_texts for number in places)),
            "mentions": math.log1p(
                sum(max(one.mentions for one in found) for number, found in places.items() if number in own_texts)
            ),
            "recall": 1.0 if own else self._recall(sought, own_texts),
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

    def _recall(self, forms: Sequence[Form], numbers: Iterable[int]) -> float:
        texts = list(numbers)
        return max((_best(self._found(form).covered, texts, len(form.content)) for form in forms), default=0.0)

    def _trail(self, seen: Seen) -> _Trail:
        queries = dict.fromkeys(frozenset(words_held(query)) - FUNCTION_WORDS for query in seen.queries)
        searched = tuple((query, query - self._line.words) for query in queries)
        return _Trail(searched, tuple(self._texts[number] for number in seen.ranks if number < len(self._texts)))

    def _chains(self, meaning: _Meaning) -> dict[str, float]:
        best = (0.0,) * len(OWN_CHAINS)
        for form in (form for form in meaning.forms if not form.is_polar):
            known, own = self._found(form).chains, frozenset(terms(form.words))
            for place in form.rollouts:
                if place not in known:
                    trail = self._trails[place]
                    known[place] = chained(trail.searched, trail.texts, self._subject - own, form.line, own)
                best = tuple(map(max, best, known[place]))
        return dict(zip(OWN_CHAINS, best, strict=True))

    def _fits(self, view: PoolView) -> Mapping[int, Mapping[str, float]]:
        """Of each group how its forms look, which does not hang on who wrote them."""
        forms = [(form.answer, form.group) for form in view.forms]
        if forms != self._looks[0]:
            looks = shape(view, self.question)
            rows: dict[int, list[int]] = {}
            for place, form in enumerate(view.forms):
                rows.setdefault(form.group, []).append(place)
            self._looks = forms, {group: _fit(own, looks) for group, own in rows.items()}
        return self._looks[1]


def _votes(own: int, rival: int, total: int) -> dict[str, float]:
    return {"log_votes": math.log(own), "vote_share": own / total, "vote_lead": (own - rival) / total}


def _best(counts: Sequence[int], numbers: Iterable[int], whole: int) -> float:
    """The best share of so many words in one of these texts."""
    return max((counts[number] for number in numbers), default=0) / whole if whole else 0.0


def _fit(rows: Sequence[int], looks: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The best of its wordings; what is missing says nothing."""

    def known(name: str) -> list[float]:
        return [looks[name][row] for row in rows if not math.isnan(looks[name][row])] or [0.0]

    best = {name: max(known(name)) for name in ("fits_kind", "kind_chance", "kind_lift", "is_polar", "is_option")}
    return best | {name: min(known(name)) for name in ("misfit", "repeats_question")}
