"""Pool to table: one row per meaning, columns as in ``table.py``."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.answers.meaning.grouping import answer_core, group_by_meaning
from tracerank.pools.types import Rollout
from tracerank.selectors.features.compute import FeatureTable
from tracerank.selectors.features.support import OWN_CHAINS, Place, Queries, chained, may_hold, place_of
from tracerank.selectors.features.table import LIMIT
from tracerank.selectors.features.view import (
    FUNCTION_WORDS,
    Form,
    Line,
    PoolView,
    TextLines,
    subject_of,
    terms,
    view_of,
    words_held,
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


@dataclass(frozen=True, slots=True)
class _Meaning:
    """One group with what its rollouts and the others saw."""

    forms: tuple[Form, ...]
    rows: tuple[int, ...]
    """Places of the forms in the view."""
    members: tuple[int, ...]
    own: frozenset[int]
    """Numbers of the texts that its rollouts saw."""
    others: frozenset[int]
    """The same of all other rollouts."""


def meaning_table(question: str, rollouts: Sequence[Rollout], lines: TextLines | None = None) -> FeatureTable:
    """The features of the rollouts' meanings; all must have an answer, abstentions get no row."""
    lines = lines or TextLines()
    view = view_of(question, rollouts, lines, by_meaning)
    meanings = _meanings(view)
    values = np.zeros((len(meanings), len(MEANING_FEATURES.features)), np.float32)
    if meanings:
        votes = [len(meaning.members) for meaning in meanings]
        most, next_most = [*sorted(votes, reverse=True)[:2], 0][:2]
        queries = Queries(view)
        asked = frozenset(subject_of(question, view.texts))
        trails = [_trail(view, place) for place in range(len(view.rollouts))]
        looks = shape(view, question)
        total = sum(votes)
        for row, meaning in enumerate(meanings):
            found = _votes(votes[row], next_most if votes[row] == most else most, total)
            found |= _evidence(view, meaning, asked) | _fit(meaning, looks) | _chains(meaning, trails, asked)
            inside = frozenset(meaning.members)
            found["searched_by_others"] = float(any(queries.asking(form) - inside for form in meaning.forms))
            values[row] = [found[name] for name in MEANING_FEATURES.names]
    return FeatureTable(
        values.clip(-LIMIT, LIMIT),
        np.arange(len(meanings), dtype=np.int64),
        np.array([len(meaning.members) for meaning in meanings], np.int64),
        tuple(meaning.members for meaning in meanings),
        view.note,
    )


def named(table: FeatureTable, row: int, names: Sequence[str]) -> dict[str, float]:
    """Some columns of a row."""
    values = table.values[row].tolist()
    return {name: values[MEANING_FEATURES.names.index(name)] for name in names}


def _meanings(view: PoolView) -> list[_Meaning]:
    rows: dict[int, list[int]] = {}
    for row, form in enumerate(view.forms):
        rows.setdefault(form.group, []).append(row)
    readers = _readers(view, range(len(view.rollouts)))
    found = []
    # By the alphabet, so that a tie, which goes to the first row, does not hang on the order of the rollouts.
    for own in sorted(rows.values(), key=lambda wordings: min(view.forms[row].line for row in wordings)):
        members = sorted(place for row in own for place in view.forms[row].rollouts)
        inside = _readers(view, members)
        others = frozenset(number for number, count in readers.items() if count > inside[number])
        forms = tuple(view.forms[row] for row in own)
        found.append(_Meaning(forms, tuple(own), tuple(members), frozenset(inside), others))
    return found


def _readers(view: PoolView, places: Iterable[int]) -> Counter[int]:
    """Text to the number of these rollouts that saw it."""
    return Counter(number for place in places for number in view.seen[place].ranks if number < len(view.texts))


def _votes(own: int, rival: int, total: int) -> dict[str, float]:
    return {"log_votes": math.log(own), "vote_share": own / total, "vote_lead": (own - rival) / total}


def _evidence(view: PoolView, meaning: _Meaning, asked: frozenset[str]) -> dict[str, float]:
    sought = [form for form in meaning.forms if not form.is_polar]  # yes and no stand nowhere
    places: dict[int, list[Place]] = {}
    titled = False
    for form in sought:
        wanted = dict.fromkeys((word for word in asked if f" {word} " not in form.line), 1.0)
        for number, text in enumerate(view.texts):
            if may_hold(text, form) and form.line in text.text:
                head = view.heads[number]
                places.setdefault(number, []).append(place_of(text.text, head, form.line, wanted, view.asked_kind))
                titled = titled or (number in meaning.own and form.line in head)
    own = [place for number, found in places.items() if number in meaning.own for place in found]
    others = [place for number, found in places.items() if number in meaning.others for place in found]
    seen = [view.seen[place] for place in meaning.members]
    ranks = (1 / one.ranks[number] for one in seen for number in one.ranks if number in places)
    return {
        "found": float(bool(own)),
        "last_found": float(any(number in places for one in seen for number in one.last)),
        "best_rank": max(ranks, default=0.0),
        "texts": math.log1p(sum(number in meaning.own for number in places)),
        "mentions": math.log1p(
            sum(max(one.mentions for one in found) for number, found in places.items() if number in meaning.own)
        ),
        "recall": 1.0 if own else _recall(view, sought, meaning.own),
        "window": max((place.window for place in own), default=0.0),
        "close": max((place.close for place in own), default=0.0),
        "head": max((place.head for place in own), default=0.0),
        "in_head": float(titled),
        "question_recall": _share_of(view, meaning.own, asked),
        "others_found": float(bool(others)),
        "others_recall": 1.0 if others else _recall(view, sought, meaning.others),
        "others_window": max((place.window for place in others), default=0.0),
        "others_close": max((place.close for place in others), default=0.0),
        "all_texts": math.log1p(len(places)),
        "kind_stated": float(any(place.is_kind for found in places.values() for place in found)),
    }


def _recall(view: PoolView, forms: Sequence[Form], numbers: Iterable[int]) -> float:
    texts = list(numbers)
    return max((_share_of(view, texts, form.content) for form in forms), default=0.0)


def _share_of(view: PoolView, numbers: Iterable[int], words: frozenset[str]) -> float:
    """Best share of the words in one text."""
    most = max((len(words & view.texts[number].words) for number in numbers), default=0)
    return most / len(words) if words else 0.0


@dataclass(frozen=True, slots=True)
class _Trail:
    """What one rollout searched for, and the texts that it saw."""

    searched: tuple[tuple[frozenset[str], frozenset[str]], ...]
    """The words of each query, and those of them that the question does not say."""
    texts: tuple[Line, ...]


def _trail(view: PoolView, place: int) -> _Trail:
    seen = view.seen[place]
    queries = dict.fromkeys(frozenset(words_held(query)) - FUNCTION_WORDS for query in seen.queries)
    searched = tuple((query, query - view.question.words) for query in queries)
    return _Trail(searched, tuple(view.texts[number] for number in seen.ranks if number < len(view.texts)))


def _chains(meaning: _Meaning, trails: Sequence[_Trail], asked: frozenset[str]) -> dict[str, float]:
    best = (0.0,) * len(OWN_CHAINS)
    for form in (form for form in meaning.forms if not form.is_polar):
        own = frozenset(terms(form.words))
        for trail in {trails[place]: None for place in form.rollouts}:
            found = chained(trail.searched, trail.texts, asked - own, form.line, own)
            best = tuple(map(max, best, found))
    return dict(zip(OWN_CHAINS, best, strict=True))


def _fit(meaning: _Meaning, looks: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The best of its wordings; what is missing says nothing."""

    def known(name: str) -> list[float]:
        return [looks[name][row] for row in meaning.rows if not math.isnan(looks[name][row])] or [0.0]

    best = {name: max(known(name)) for name in ("fits_kind", "kind_chance", "kind_lift", "is_polar", "is_option")}
    return best | {name: min(known(name)) for name in ("misfit", "repeats_question")}
