"""Where the answers stand in the evidence: own, of others, shared; how close to the question's words; which texts.

Also by two steps, through what a rollout searched for on the way; what other rollouts add to that is ``chains.py``'s.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum  # the same whatever the order, which sets do not keep

import numpy as np

from tracerank.pools.types import Rollout
from tracerank.selectors.features.forms import Form, Place, Queries, part_of, place_of
from tracerank.selectors.features.lines import Line, TextLines
from tracerank.selectors.features.view import PoolView, ReadAnswers, by_rules, view_of

NAN = float("nan")
OWN_CHAINS = ("bridge_near", "query_near", "chain_recall")
"""Best shares around it: of an own query's words that the question lacks, of all its words, of the question's."""
Chains = tuple[float, float, float]
NO_CHAINS: Chains = (0.0, 0.0, 0.0)


def support(view: PoolView) -> dict[str, list[float]]:
    """The columns of the families ``support`` and ``cross_support``."""
    queries = Queries.of(view.question.text, (seen.queries for seen in view.seen))
    readers = _readers(view)
    groups: dict[int, list[int]] = {}
    for form in view.forms:
        groups.setdefault(form.group, []).extend(form.rollouts)
    total = _searching_and_reading(view, range(len(view.rollouts)))
    others = {group: _Others(view, readers, frozenset(members), total) for group, members in groups.items()}
    rows = [_form_support(view, form, others[form.group], queries, readers) for form in view.forms]
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


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


def reached(texts: Sequence[Line], crossed: frozenset[str], asked: frozenset[str], here: frozenset[str]) -> float:
    """Best share of the question's words around the answer or in a text with all bridge words that stand there."""
    if not crossed:
        return part_of(here, asked)
    through = (asked & text.words for text in texts if crossed <= text.words)
    return max((part_of(here | there, asked) for there in through), default=part_of(here, asked))
