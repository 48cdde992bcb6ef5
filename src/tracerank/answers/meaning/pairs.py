"""The chance that two answers of a pool are one: a logistic score over a handful of features of the pair.

The weights are in ``pair_weights.json``, made by ``studies/shipped_weights/meaning_weights.py``. What can never be one
answer gets no chance at all but a veto. Only the set of answers enters, never their order.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations

from tracerank.answers.meaning.anchors import Profiles, Shares, anchor_profiles
from tracerank.answers.meaning.asking import Asking
from tracerank.answers.meaning.comparing import (
    Lexicon,
    Memory,
    asserted,
    conflict,
    initials,
    pair_likeness,
    read_lexicon,
)
from tracerank.answers.meaning.granularity import differs_in_detail, strays
from tracerank.answers.meaning.reading import AnswerReading
from tracerank.answers.meaning.values import likeness

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
_MOST_SHARED = 16.0
"""Anchors that two answers may share: far fewer make a pair certain."""
_LOWEST_SCORE = -700.0
"""Its chance is 0 to 300 digits; below, no float holds the odds."""

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PairWeights:
    """What was fitted."""

    threshold: float
    """Mean chance from which two groups are joined."""
    bias: float
    weights: tuple[float, ...]
    """In the order of ``FEATURES``."""

    def chance(self, features: Sequence[float]) -> float:
        """The chance that a pair is one answer."""
        score = self.bias
        for weight, feature in zip(self.weights, features, strict=True):
            score += weight * feature
        return 1 / (1 + math.exp(-max(score, _LOWEST_SCORE)))


@cache
def pair_weights() -> PairWeights:
    """The weights that ship."""
    held = json.loads(files("tracerank.answers.meaning").joinpath("pair_weights.json").read_text(encoding="utf-8"))
    return PairWeights(held["threshold"], held["bias"], tuple(held["weights"][name] for name in FEATURES))


def pair_features(
    readings: Sequence[AnswerReading], asking: Asking, memory: Memory | None = None
) -> tuple[dict[Pair, tuple[float, ...]], frozenset[Pair]]:
    """The features of every pair that may be one, in the order of ``FEATURES``, and the pairs that never are."""
    lexicon = read_lexicon(readings, asking, memory)
    akin = akin_pairs(readings, lexicon)
    long = [place for place, reading in enumerate(readings) if not reading.is_bare]
    # two names that share nothing are told apart without a score
    others = (_ordered(place, other) for place in long for other in range(len(readings)) if other != place)
    scored = sorted(akin.union(others))
    vetoed = _other_detail(akin, readings, lexicon)
    if asking.may_conflict:
        vetoed |= _vetoed(scored, readings, asking)
    likes = {
        pair: like
        for pair in akin
        if pair not in vetoed and (like := pair_likeness(readings[pair[0]], readings[pair[1]], lexicon))
    }
    if not likes and not long:
        return {}, vetoed
    profiles = anchor_profiles(readings, likes, lexicon)
    tops = [_top(row) for row in profiles.shares]
    rarity = _rarity(readings)
    found: dict[Pair, tuple[float, ...]] = {}
    for pair in scored:
        like = likes.get(pair, 0.0)
        is_apart = not like and readings[pair[0]].is_bare and readings[pair[1]].is_bare
        if pair not in vetoed and not is_apart:
            found[pair] = (like, *_features(pair, readings, profiles, tops, rarity, lexicon))
    return found, vetoed


def akin_pairs(readings: Sequence[AnswerReading], lexicon: Lexicon) -> set[Pair]:
    """The pairs whose cores share a word, the letters or the initials, or that choose of what is offered."""
    places: dict[str, list[int]] = {}
    for place, reading in enumerate(readings):
        said = {word for core in reading.cores for word in lexicon.reach(core.words)}
        for core in reading.cores:
            said.add(f"={''.join(core.words)}")
            said.add(f".{initials(core.words) if len(core.words) > 1 else core.words[0]}")
        if reading.polarity or reading.option >= 0:
            said.add(f"?{reading.polarity} {reading.option}")
        if reading.measure:
            said.add(f"?{reading.measure.base}")
        for key in said:
            places.setdefault(key, []).append(place)
    return {pair for listed in places.values() if len(listed) > 1 for pair in combinations(listed, 2)}


def _ordered(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def _vetoed(scored: Sequence[Pair], readings: Sequence[AnswerReading], asking: Asking) -> frozenset[Pair]:
    """The pairs in conflict, of those that could come into one group by way of scored pairs."""
    root = list(range(len(readings)))
    for i, j in scored:
        if root[i] != root[j]:
            low, high = sorted((root[i], root[j]))
            root = [low if one == high else one for one in root]
    met = (pair for pair in combinations(range(len(readings)), 2) if root[pair[0]] == root[pair[1]])
    return frozenset(pair for pair in met if conflict(readings[pair[0]], readings[pair[1]], asking))


def _other_detail(akin: Collection[Pair], readings: Sequence[AnswerReading], lexicon: Lexicon) -> frozenset[Pair]:
    """Pairs of bare answers that share words and yet tell more or less than each other."""
    bare = [pair for pair in akin if readings[pair[0]].is_bare and readings[pair[1]].is_bare]
    found = {pair for pair in bare if differs_in_detail(readings[pair[0]], readings[pair[1]], lexicon)}
    if any(reading.regions for reading in readings):
        for place, reading in enumerate(readings):
            if reading.is_bare and not reading.regions:
                others = [pair[0] + pair[1] - place for pair in akin if place in pair]
                if all(readings[other].is_bare for other in others):  # else long answers tell where it is
                    found.update(_ordered(place, other) for other in strays(readings, others))
    return frozenset(found)


def _features(
    pair: Pair,
    readings: Sequence[AnswerReading],
    profiles: Profiles,
    tops: Sequence[tuple[int, float, float]],
    rarity: Mapping[str, float],
    lexicon: Lexicon,
) -> tuple[float, ...]:
    """All but the likeness."""
    i, j = pair
    a, b = readings[i], readings[j]
    shares_a, shares_b = profiles.shares[i], profiles.shares[j]
    (top_a, held_a, margin_a), (top_b, held_b, margin_b) = tops[i], tops[j]
    is_held = min(held_a, held_b) > _HELD
    return (
        max(_asserted(a, b, lexicon), _asserted(b, a, lexicon)),
        float(bool(a.polarity and a.polarity == b.polarity) or a.option == b.option >= 0),
        float(any(likeness(x, y) for x, _ in a.values[:_FIRST_VALUES] for y, _ in b.values[:_FIRST_VALUES])),
        _shared_words(a, b, rarity),
        float(is_held and top_a == top_b),
        float(is_held and top_a != top_b),
        min(_MOST_SHARED, sum(share * shares_b[number] for number, share in shares_a.items() if number in shares_b)),
        min(held_a, held_b),
        min(margin_a, margin_b),
        float(a.is_bare) + float(b.is_bare),
    )


def _asserted(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> float:
    return asserted(a.cores[0].words, b, lexicon) if a.cores else 0.0


def _top(shares: Shares) -> tuple[int, float, float]:
    """The foremost anchor, its share, and by how much it leads."""
    if not shares:
        return -1, 0.0, 0.0
    best = max(shares, key=lambda number: (shares[number], -number))
    others = max((share for number, share in shares.items() if number != best), default=0.0)
    return best, shares[best], shares[best] - others


def _rarity(readings: Sequence[AnswerReading]) -> dict[str, float]:
    """How much a new word tells in this pool: what more than half of the answers say tells less."""
    counts: dict[str, int] = {}
    for reading in readings:
        for word in reading.new_words:
            counts[word] = counts.get(word, 0) + 1
    return {word: 1 / (1 + max(0.0, count - len(readings) / 2)) for word, count in counts.items()}


def _shared_words(a: AnswerReading, b: AnswerReading, rarity: Mapping[str, float]) -> float:
    """The share of the new words of the one with fewer that the other has, too, by how strongly both assert them."""
    if a.new_words.keys().isdisjoint(b.new_words):
        return 0.0
    few, many = sorted((a.new_words, b.new_words), key=len)
    total = sum(strength * rarity[word] for word, strength in few.items())
    shared = sum(min(strength, many[word]) * rarity[word] for word, strength in few.items() if word in many)
    return shared / total if total else 0.0
