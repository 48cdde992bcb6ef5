"""Where the answers stand in the evidence: own, of others, shared; how close to the question's words; which texts.

Also by two steps, through what a rollout searched for on the way; what other rollouts add to that is ``chains.py``'s.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum  # the same whatever the order, which sets do not keep
from typing import NamedTuple

import numpy as np

from tracerank.pools.types import Rollout
from tracerank.selectors.features.lines import Line, TextLines, words_held
from tracerank.selectors.features.view import Form, PoolView, ReadAnswers, by_rules, view_of

NAN = float("nan")
_WINDOW = 160
"""Characters on either side of the answer, some 25 words; so in scripts whose characters stand apart, two for each."""
_CLOSE = 50
_MOST_OCCURRENCES = 3
OWN_CHAINS = ("bridge_near", "query_near", "chain_recall")
"""Best shares around it: of an own query's words that the question lacks, of all its words, of the question's."""
Chains = tuple[float, float, float]
NO_CHAINS: Chains = (0.0, 0.0, 0.0)


def support(view: PoolView) -> dict[str, list[float]]:
    """The columns of the families ``support`` and ``cross_support``."""
    queries, readers = Queries.of(view), _readers(view)
    groups: dict[int, list[int]] = {}
    for form in view.forms:
        groups.setdefault(form.group, []).extend(form.rollouts)
    total = _searching_and_reading(view, range(len(view.rollouts)))
    others = {group: _Others(view, readers, frozenset(members), total) for group, members in groups.items()}
    rows = [_form_support(view, form, others[form.group], queries, readers) for form in view.forms]
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


class Queries:
    """The distinct queries of a pool, and who asked each."""

    def __init__(self, question: str) -> None:
        self._question = question
        self._asking: dict[str, set[int]] = {}
        self._all = ""

    @classmethod
    def of(cls, view: PoolView) -> "Queries":
        """Those of all rollouts of a view."""
        queries = cls(view.question.text)
        for place, seen in enumerate(view.seen):
            queries.add(place, seen.queries)
        return queries

    def add(self, place: int, queries: Iterable[str]) -> None:
        """What the rollout at this place searched for."""
        for query in queries:
            asking = self._asking.get(query)
            if asking is None:
                self._asking[query] = {place}
                self._all = ""
            else:
                asking.add(place)

    def asking(self, form: Form) -> set[int]:
        """Places of the rollouts that searched for the answer itself."""
        # One look at all of them: most answers are not searched for. A line break is in no line.
        self._all = self._all or "\n".join(self._asking)
        line = form.line
        # A query that repeats the question contains what the question names: that is no sign of anything.
        if line not in self._all or line in self._question:
            return set()
        return set().union(*(asking for query, asking in self._asking.items() if line in query))


Readers = Mapping[int, set[int]]
"""Text to the places of the rollouts that saw it."""


def _readers(view: PoolView) -> Readers:
    found: dict[int, set[int]] = {}
    for place, seen in enumerate(view.seen):
        for number in seen.ranks:
            found.setdefault(number, set()).add(place)
    return found


class _Others:
    """What the rollouts outside a group asked and saw, counted from all and those inside: groups may be many."""

    def __init__(self, view: PoolView, readers: Readers, members: frozenset[int], total: tuple[int, int]) -> None:
        self.members = members
        searching, reading = _searching_and_reading(view, members)
        self.searching, self.reading = total[0] - searching, total[1] - reading
        self.all_reading = total[1]
        inside = Counter(number for place in members for number in view.seen[place].ranks)
        self.seen = [number for number, places in readers.items() if len(places) > inside[number]]


def _searching_and_reading(view: PoolView, places: Iterable[int]) -> tuple[int, int]:
    """How many of some rollouts searched for anything, and how many saw any text."""
    seen = [view.seen[place] for place in places]
    return sum(bool(one.queries) for one in seen), sum(bool(one.ranks) for one in seen)


def _form_support(view: PoolView, form: Form, others: _Others, queries: Queries, readers: Readers) -> dict[str, float]:
    own = [place for place in form.rollouts if view.seen[place].ranks]
    asking = queries.asking(form)
    queries_own = _share(place in asking for place in form.rollouts if view.seen[place].queries)
    queries_others = len(asking - others.members) / others.searching if others.searching else NAN
    row = {"in_own_queries": queries_own, "in_others_queries": queries_others}
    if form.is_polar:
        return row | dict.fromkeys((*_OWN, *_CROSS), NAN)
    holds = _holding(view, form)
    return row | _own(view, form, own, holds) | _cross(view, form, others, holds, readers)


_OWN = (
    *("own_found", "own_last_found", "own_rank", "own_texts", "own_recall", "own_window", "own_close", "own_head"),
    *("own_mentions", "in_head"),
)
_CROSS = ("others_found", "others_recall", "others_window", "kind_stated", "texts_share", "shared_found")


class Place(NamedTuple):
    """How an answer stands in a text that holds it."""

    window: float
    """Share of the question's words, by rarity, within the window around it."""
    close: float
    """The same for a few words around it."""
    head: float
    """The same for the head of the text."""
    mentions: int
    is_kind: bool
    """The kind of thing that is asked for stands next to it."""


def _holding(view: PoolView, form: Form) -> dict[int, Place]:
    """Text that holds the answer to how it stands there."""
    weights = _asked_beside(view, form)
    return {
        number: place_of(text.text, view.heads[number], form.line, weights, view.asked_kind)
        for number, text in enumerate(view.texts)
        if may_hold(text, form) and form.line in text.text
    }


def may_hold(text: Line, form: Form) -> bool:
    """Whether it has the answer's first word, as few texts have; where characters are words, sets hold other terms."""
    return form.words[0] in text.words or not text.text.isascii()


def _asked_beside(view: PoolView, form: Form) -> dict[str, float]:
    """The question's words that are not in the answer itself."""
    return {word: weight for word, weight in view.weights.items() if f" {word} " not in form.line}


def place_in(view: PoolView, form: Form, text: str) -> Place | None:
    """How the answer stands in the line of a text; None: it does not."""
    if form.line not in text:
        return None
    return place_of(text, "", form.line, _asked_beside(view, form), view.asked_kind)


def place_of(text: str, head: str, needle: str, weights: Mapping[str, float], kind: str | None) -> Place:
    """How the needle, which stands in the text, stands there."""
    total = fsum(weights.values()) or 1.0
    window = close = 0.0
    start = mentions = 0
    is_kind = False
    while mentions < _MOST_OCCURRENCES and (at := text.find(needle, start)) >= 0:
        mentions += 1
        start = at + len(needle) - 1
        window = max(window, _asked_near(text, at, start, _WINDOW, weights))
        close = max(close, _asked_near(text, at, start, _CLOSE, weights))
        is_kind = is_kind or (kind is not None and f" {kind}" in text[max(0, at - _CLOSE) : start + _CLOSE])
    in_head = fsum(weights[word] for word in weights.keys() & words_held(head))
    return Place(window / total, close / total, in_head / total, mentions, is_kind)


def _asked_near(text: str, at: int, end: int, reach: int, weights: Mapping[str, float]) -> float:
    near = words_held(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}")  # no term across the answer
    return fsum(weights[word] for word in weights.keys() & near)


def plain_place(text: str, head: str, needle: str, wanted: frozenset[str], kind: str | None) -> Place:
    """The same as ``place_of`` where all of the question's words weigh the same."""
    if not text.isascii():
        return place_of(text, head, needle, dict.fromkeys(wanted, 1.0), kind)
    total = len(wanted) or 1
    window = close = start = mentions = 0
    is_kind = False
    while mentions < _MOST_OCCURRENCES and (at := text.find(needle, start)) >= 0:
        mentions += 1
        start = at + len(needle) - 1
        window = max(window, _counted_near(text, at, start, _WINDOW, wanted))
        close = max(close, _counted_near(text, at, start, _CLOSE, wanted))
        is_kind = is_kind or (kind is not None and f" {kind}" in text[max(0, at - _CLOSE) : start + _CLOSE])
    return Place(window / total, close / total, len(wanted.intersection(head.split())) / total, mentions, is_kind)


def _counted_near(text: str, at: int, end: int, reach: int, wanted: frozenset[str]) -> int:
    return len(wanted.intersection(f"{text[max(0, at - reach) : at]} | {text[end : end + reach]}".split()))


def _own(view: PoolView, form: Form, own: list[int], holds: Mapping[int, Place]) -> dict[str, float]:
    if not own:
        return dict.fromkeys(_OWN, NAN)
    found = [[number for number in view.seen[place].ranks if number in holds] for place in own]
    texts = {number for numbers in found for number in numbers}
    ranks = [
        max((1 / view.seen[place].ranks[n] for n in numbers), default=0.0)
        for place, numbers in zip(own, found, strict=True)
    ]
    return {
        "own_found": _share(map(bool, found)),
        "own_last_found": _share(any(n in holds for n in view.seen[place].last) for place in own),
        "own_rank": float(np.mean(ranks)),
        "own_texts": float(np.log1p(np.mean([len(numbers) for numbers in found]))),
        "own_recall": _recall(view, form, {n for place in own for n in view.seen[place].ranks}, bool(texts)),
        "own_window": max((holds[number].window for number in texts), default=0.0),
        "own_close": max((holds[number].close for number in texts), default=0.0),
        "own_head": max((holds[number].head for number in texts), default=0.0),
        "own_mentions": float(np.log1p(np.mean([sum(holds[n].mentions for n in numbers) for numbers in found]))),
        "in_head": float(any(form.line in view.heads[number] for number in texts)),
    }


def _cross(
    view: PoolView, form: Form, others: _Others, holds: Mapping[int, Place], readers: Readers
) -> dict[str, float]:
    if not others.all_reading:
        return dict.fromkeys(_CROSS, NAN)
    seen_by = [len(readers[number]) for number in holds]
    row = {
        "kind_stated": NAN if view.asked_kind is None else float(any(place.is_kind for place in holds.values())),
        "texts_share": len(holds) / max(1, len(view.texts)),
        "shared_found": max(seen_by, default=0) / others.all_reading,
    }
    if not others.reading:
        return row | dict.fromkeys(("others_found", "others_recall", "others_window"), NAN)
    texts = [number for number in holds if not readers[number] <= others.members]
    finding = set().union(*(readers[number] for number in texts)) - others.members
    return row | {
        "others_found": len(finding) / others.reading,
        "others_recall": _recall(view, form, others.seen, bool(texts)),
        "others_window": max((holds[number].window for number in texts), default=0.0),
    }


def _recall(view: PoolView, form: Form, numbers: Iterable[int], is_found: bool) -> float:
    """Best share of the answer's content words in one text, by rarity."""
    if is_found:
        return 1.0
    texts, rarity = view.texts, view.rarity
    total = fsum(rarity[word] for word in form.content)
    found = (fsum(rarity[word] for word in form.content & texts[n].words) for n in numbers if n < len(texts))
    return max(found, default=0.0) / total if total else 0.0


def _share(flags: Iterable[bool]) -> float:
    values = list(flags)
    return sum(values) / len(values) if values else NAN


HELD = 0.25
"""What a text that holds the answer weighs without any word of the question near it."""


def grounds(question: str, rollouts: Sequence[Rollout], read: ReadAnswers = by_rules) -> list[dict[str, float]]:
    """For each rollout, its evidence texts to their weights, which sum to one; all 0: no text speaks for its answer."""
    lines = TextLines()
    view = view_of(question, rollouts, lines, read)
    found: list[dict[str, float]] = []
    forms = {place: form for form in view.forms for place in form.rollouts}
    for place, rollout in enumerate(rollouts):
        texts = dict.fromkeys(seen.text for search in rollout.searches for seen in search.evidence)
        form = forms.get(place)
        weights = {text: 0.0 if form is None else _weight(view, form, lines.of(text)) for text in texts}
        total = sum(weights.values())
        found.append({text: weight / total for text, weight in weights.items()} if total else weights)
    return found


def _weight(view: PoolView, form: Form, text: Line) -> float:
    if form.is_polar:  # yes and no stand nowhere: what the question is about does
        total = fsum(view.weights.values())
        return fsum(view.weights[word] for word in view.weights.keys() & text.words) / total if total else 0.0
    place = place_in(view, form, text.text)
    return 0.0 if place is None else HELD + place.window


def near(text: Line, needle: str) -> frozenset[str]:
    """Words around the first place where the needle stands in the text; none: it does not."""
    at = text.text.find(needle)
    if at < 0:
        return frozenset()
    return frozenset(words_held(text.text[max(0, at - _WINDOW) : at + len(needle) + _WINDOW]))


def reached(texts: Sequence[Line], crossed: frozenset[str], asked: frozenset[str], here: frozenset[str]) -> float:
    """Best share of the question's words around the answer or in a text with all bridge words that stand there."""
    if not crossed:
        return part_of(here, asked)
    through = (asked & text.words for text in texts if crossed <= text.words)
    return max((part_of(here | there, asked) for there in through), default=part_of(here, asked))


def part_of(part: frozenset[str], whole: frozenset[str]) -> float:
    """How much of the whole the part is; nothing of nothing."""
    return len(part) / len(whole) if whole else 0.0
