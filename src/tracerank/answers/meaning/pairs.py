"""The probability that two answers of a pool are one: a logistic score over a handful of features of the pair.

The weights are in ``pair_weights.json``, made by ``studies/shipped_weights/meaning_weights.py``. What can never be one
answer gets no probability but a veto. The bare answers of a pool are its anchors: groups of short answers that are the
same by themselves. The profile of a longer answer says which of them it asserts. Only the set of answers enters, never
their order: callers give them sorted.
"""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import combinations

from tracerank.answers.meaning.comparing import (
    Lexicon,
    asserted,
    conflict,
    core_likeness,
    initials,
    linked,
    pair_likeness,
    read_lexicon,
)
from tracerank.answers.meaning.contradiction import agree, shared_parts
from tracerank.answers.meaning.reading import AnswerReading
from tracerank.answers.meaning.values import likeness
from tracerank.answers.question_profile import QuestionProfile

_SHORT = 10
"""Words of an answer that may be an anchor."""
_SAME = 0.78
"""Mean likeness of the answers of one anchor."""
_LIKE = 0.7
Pairs = Mapping[tuple[int, int], float]
"""Place of the earlier and of the later answer to their likeness; a pair that is left out has none."""

Shares = Mapping[int, float]
"""How strongly an answer asserts anchors, by their index, 0 to 1; what is left out it does not assert."""


def anchor_shares(readings: Sequence[AnswerReading], pairs: Pairs, lexicon: Lexicon) -> list[Shares]:
    """What each answer says in terms of the pool's anchors."""
    short = [
        index
        for index, one in enumerate(readings)
        if one.cores and (one.is_bare or one.length <= _SHORT) and not one.is_sentence
    ]
    known = set(short)
    among = {pair: like for pair, like in pairs.items() if pair[0] in known and pair[1] in known}
    rows: list[dict[int, float]] = [{} for _ in readings]
    alike: dict[int, set[int]] = {}
    for pair in pairs:
        for index in pair:
            alike.setdefault(index, set()).update(pair)
    long = {index for index, one in enumerate(readings) if not one.is_bare}
    for number, members in enumerate(linked(short, among, _SAME)):
        # a bare answer that shares nothing with another bare one does not assert it
        near: dict[int, Collection[int]] = {
            one: range(len(readings)) if one in long else alike.get(one, set()) | long for one in members
        }
        for index in set[int]().union(*near.values()).difference(members):
            met = (readings[one] for one in members if index in near[one])
            if share := max(asserts(readings[index], one, lexicon) for one in met):
                rows[index][number] = share
        for index in members:
            rows[index][number] = 1.0
    return list(rows)


def asserts(reading: AnswerReading, anchor: AnswerReading, lexicon: Lexicon) -> float:
    """How strongly an answer asserts what a bare one says."""
    if conflict(reading, anchor, lexicon.profile, may_add=lexicon.may_add):
        return 0.0
    if reading.polarity and reading.polarity == anchor.polarity:
        return 1.0
    if reading.option >= 0 and reading.option == anchor.option:
        return 0.7 + 0.3 * min(1.0, reading.option_margin)
    if (reading.measure and anchor.measure) or agree(reading, anchor, lexicon.profile):
        return 0.9
    words = anchor.cores[0].words
    likes = ((core_likeness(core.words, words, lexicon), core.strength) for core in reading.cores)
    best = max((0.95 * strength * like for like, strength in likes if like > _LIKE), default=0.0)
    return max(best, asserted(words, reading, lexicon))


FEATURES = (
    "likeness",
    "asserted",
    "same_choice",
    "same_value",
    "shared_words",
    "same_anchor",
    "other_anchor",
    "anchor_product",
    "least_anchor",
    "anchor_margin",
    "bare",
)
_HELD = 0.3
"""Share from which an answer is taken to assert its foremost anchor."""
_FIRST_VALUES = 4
_MAX_SHARED = 16.0
"""Anchors that two answers may share: far fewer make a pair certain."""
_LOWEST_SCORE = -700.0
"""Its probability is 0 to 300 digits; below, no float holds the odds."""

Pair = tuple[int, int]
_ANCHORED = ("same_anchor", "other_anchor", "anchor_product", "least_anchor", "anchor_margin")
_UNANCHORED = (0.0, 0.0, 0.0, 0.0, 0.0)
Top = tuple[int, float, float]
"""The foremost anchor of an answer, its share, and by how much it leads."""
Told = tuple[dict[str, float], float]
"""The new words of an answer with how much each tells, and the sum."""


@dataclass(frozen=True)
class PairWeights:
    """What was fitted."""

    threshold: float
    """Mean probability from which two groups are joined."""
    bias: float
    weights: tuple[float, ...]
    """In the order of ``FEATURES``."""

    def probability(self, features: Sequence[float]) -> float:
        """The probability that a pair is one answer."""
        score = self.bias
        for weight, feature in zip(self.weights, features, strict=True):
            score += weight * feature
        return _chance(score)

    @cached_property
    def named(self) -> dict[str, float]:
        """The weights by the names of their features."""
        return dict(zip(FEATURES, self.weights, strict=True))

    def may_join(
        self,
        pair: Pair,
        like: float,
        readings: Sequence[AnswerReading],
        shares: Sequence[Shares],
        tops: Sequence[Top],
        lexicon: Lexicon,
    ) -> bool:
        """Whether a pair's probability can reach the threshold, by cheap features; groups join by such pairs."""
        i, j = pair
        a, b = readings[i], readings[j]
        if not like and a.is_bare and b.is_bare:
            return False
        best = self.named
        score = self.bias + best["likeness"] * like + max(0.0, best["shared_words"])
        if a.values and b.values:
            score += max(0.0, best["same_value"]) * _share_value(a, b)
        if like or _touches(a, b, lexicon) or _touches(b, a, lexicon):
            score += max(0.0, best["asserted"])
        if a.polarity or a.option >= 0:
            score += max(0.0, best["same_choice"])
        anchored = _anchored(shares[i], shares[j], tops[i], tops[j])
        if anchored is not _UNANCHORED:
            score += sum(best[name] * feature for name, feature in zip(_ANCHORED, anchored, strict=True))
        return _chance(score + best["bare"] * (a.is_bare + b.is_bare)) >= self.threshold


def _share_value(a: AnswerReading, b: AnswerReading) -> bool:
    return any(likeness(x, y) for x, _ in a.values[:_FIRST_VALUES] for y, _ in b.values[:_FIRST_VALUES])


def _touches(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> bool:
    return bool(a.cores) and not lexicon.reach(a.cores[0].words).isdisjoint(b.said)


def _chance(score: float) -> float:
    return 1 / (1 + math.exp(-max(score, _LOWEST_SCORE)))


@cache
def pair_weights() -> PairWeights:
    """The weights that ship."""
    held = json.loads(files("tracerank.answers.meaning").joinpath("pair_weights.json").read_text(encoding="utf-8"))
    return PairWeights(held["threshold"], held["bias"], tuple(held["weights"][name] for name in FEATURES))


def pair_features(
    readings: Sequence[AnswerReading],
    profile: QuestionProfile,
    weights: PairWeights | None = None,
) -> tuple[dict[Pair, tuple[float, ...]], frozenset[Pair]]:
    """The features of every pair that may be one, in the order of ``FEATURES``, and the pairs that never are.

    ``weights``: those that the pairs are scored by, to leave out pairs that change no group.
    """
    lexicon = read_lexicon(readings, profile)
    akin = akin_pairs(readings, lexicon)
    is_bare = [reading.is_bare for reading in readings]
    long = not all(is_bare)
    # two names that share nothing are told apart without a score
    scored = (
        sorted(akin)
        if not long
        else [
            pair
            for pair in combinations(range(len(readings)), 2)
            if pair in akin or not (is_bare[pair[0]] and is_bare[pair[1]])
        ]
    )
    likes = {pair: like for pair in akin if (like := pair_likeness(readings[pair[0]], readings[pair[1]], lexicon))}
    if not likes and not long:
        return {}, frozenset()
    shares = anchor_shares(readings, likes, lexicon)
    tops = [_top(row) for row in shares]
    close = scored
    if weights:
        close = [
            pair for pair in scored if weights.may_join(pair, likes.get(pair, 0.0), readings, shares, tops, lexicon)
        ]
    root = _components(len(readings), close)
    if weights:
        scored = [pair for pair in scored if root[pair[0]] == root[pair[1]]]
    vetoed = _conflicts(root, readings, profile)
    told = _told(readings)
    found: dict[Pair, tuple[float, ...]] = {}
    for pair in scored:
        like = likes.get(pair, 0.0)
        is_apart = not like and readings[pair[0]].is_bare and readings[pair[1]].is_bare
        if pair not in vetoed and not is_apart:
            found[pair] = (like, *_features(pair, readings, shares, tops, told, lexicon))
    return found, vetoed


def _components(count: int, pairs: Iterable[Pair]) -> list[int]:
    """Each index to the first of those that pairs connect it with."""
    root = list(range(count))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = index = root[root[index]]
        return index

    for i, j in pairs:
        low, high = sorted((find(i), find(j)))
        root[high] = low
    return [find(index) for index in range(count)]


def _conflicts(root: Sequence[int], readings: Sequence[AnswerReading], profile: QuestionProfile) -> frozenset[Pair]:
    """The pairs in conflict, of those that could come into one group."""
    members: dict[int, list[int]] = {}
    for index, first in enumerate(root):
        members.setdefault(first, []).append(index)
    met = (pair for indices in members.values() for pair in combinations(indices, 2))
    return frozenset(pair for pair in met if conflict(readings[pair[0]], readings[pair[1]], profile))


def akin_pairs(readings: Sequence[AnswerReading], lexicon: Lexicon) -> set[Pair]:
    """The pairs whose cores share a word, the letters or the initials, or that choose of what is offered."""
    indices: dict[str, list[int]] = {}
    for index, reading in enumerate(readings):
        said = {word for core in reading.cores for word in lexicon.reach(core.words)}
        for core in reading.cores:
            said.add(f"={''.join(core.words)}")
            said.add(f".{initials(core.words) if len(core.words) > 1 else core.words[0]}")
        if reading.polarity or reading.option >= 0:
            said.add(f"?{reading.polarity} {reading.option}")
        if reading.measure:
            said.add(f"?{reading.measure.unit}")
        said.update(shared_parts(reading))
        for key in said:
            indices.setdefault(key, []).append(index)
    return {pair for listed in indices.values() if len(listed) > 1 for pair in combinations(listed, 2)}


def _features(
    pair: Pair,
    readings: Sequence[AnswerReading],
    shares: Sequence[Shares],
    tops: Sequence[Top],
    told: Sequence[Told],
    lexicon: Lexicon,
) -> tuple[float, ...]:
    """All but the likeness."""
    i, j = pair
    a, b = readings[i], readings[j]
    return (
        max(_asserted(a, b, lexicon), _asserted(b, a, lexicon)),
        float(bool(a.polarity and a.polarity == b.polarity) or a.option == b.option >= 0),
        float(_share_value(a, b)),
        _shared_words(told[i], told[j]),
        *_anchored(shares[i], shares[j], tops[i], tops[j]),
        float(a.is_bare) + float(b.is_bare),
    )


def _anchored(shares_a: Shares, shares_b: Shares, a: Top, b: Top) -> tuple[float, ...]:
    """What two answers say in terms of the anchors, in the order of ``_ANCHORED``."""
    if not shares_a or not shares_b:
        return _UNANCHORED
    (top_a, held_a, margin_a), (top_b, held_b, margin_b) = a, b
    is_held = min(held_a, held_b) > _HELD
    return (
        float(is_held and top_a == top_b),
        float(is_held and top_a != top_b),
        min(_MAX_SHARED, sum(share * shares_b[number] for number, share in shares_a.items() if number in shares_b)),
        min(held_a, held_b),
        min(margin_a, margin_b),
    )


def _asserted(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> float:
    return asserted(a.cores[0].words, b, lexicon) if a.cores else 0.0


def _top(shares: Shares) -> Top:
    """The foremost anchor, its share, and by how much it leads."""
    if not shares:
        return -1, 0.0, 0.0
    best = max(shares, key=lambda number: (shares[number], -number))
    others = max((share for number, share in shares.items() if number != best), default=0.0)
    return best, shares[best], shares[best] - others


def _told(readings: Sequence[AnswerReading]) -> list[Told]:
    """The new words of each reading; what more than half of the answers say tells less."""
    counts = Counter(word for reading in readings for word in reading.new_words)
    half = len(readings) / 2
    rarity = {word: 1 / (1 + max(0.0, count - half)) for word, count in counts.items()}
    found = []
    for reading in readings:
        words = {word: strength * rarity[word] for word, strength in reading.new_words.items()}
        found.append((words, sum(words.values())))
    return found


def _shared_words(a: Told, b: Told) -> float:
    """The share of the new words of the one with fewer that the other has, too, by how strongly both assert them."""
    (few, total), (many, _) = sorted((a, b), key=lambda told: len(told[0]))
    if not total or few.keys().isdisjoint(many):
        return 0.0
    return sum(min(weight, many[word]) for word, weight in few.items() if word in many) / total
