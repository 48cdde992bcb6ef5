"""The chance that two answers of a pool are one: a logistic score over a handful of features of the pair.

The weights are in ``pair_weights.json``, made by ``studies/shipped_weights/meaning_weights.py``. What can never be one
answer gets no chance at all but a veto. Only the set of answers enters, never their order.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import combinations

from tracerank.answers.meaning.anchors import Profiles, Shares, anchor_profiles
from tracerank.answers.meaning.asking import Asking
from tracerank.answers.meaning.comparing import (
    Lexicon,
    Memory,
    abbreviates,
    asserted,
    conflict,
    held_share,
    initials,
    pair_likeness,
    read_lexicon,
)
from tracerank.answers.meaning.contradiction import shared_parts
from tracerank.answers.meaning.granularity import differs_in_detail, strays
from tracerank.answers.meaning.reading import AnswerReading
from tracerank.answers.meaning.values import likeness
from tracerank.answers.meaning.words import STOP

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
_STRANGE = 0.6
"""Share of its words below which neither of two names stands in the other; their likeness is then below half of it."""
_ACRONYM = range(3, 7)
"""Letters of a word that may be spelt out by the initials of another answer."""
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

    parts_strangers: bool = field(init=False, compare=False)
    """Whether two names that share little can never be joined by themselves, whatever else is found of them."""

    def __post_init__(self) -> None:
        most = {"likeness": _STRANGE / 2, "shared_words": 1.0, "anchor_margin": 1.0}
        fixed = {"other_anchor": 1.0, "least_anchor": 1.0, "bare": 2.0}
        best = [max(0.0, weight) * most.get(name, 0.0) for name, weight in zip(FEATURES, self.weights, strict=True)]
        held = [weight * fixed.get(name, 0.0) for name, weight in zip(FEATURES, self.weights, strict=True)]
        object.__setattr__(self, "parts_strangers", _chance(self.bias + sum(best) + sum(held)) < self.threshold)

    def chance(self, features: Sequence[float]) -> float:
        """The chance that a pair is one answer."""
        score = self.bias
        for weight, feature in zip(self.weights, features, strict=True):
            score += weight * feature
        return _chance(score)


def _chance(score: float) -> float:
    return 1 / (1 + math.exp(-max(score, _LOWEST_SCORE)))


@cache
def pair_weights() -> PairWeights:
    """The weights that ship."""
    held = json.loads(files("tracerank.answers.meaning").joinpath("pair_weights.json").read_text(encoding="utf-8"))
    return PairWeights(held["threshold"], held["bias"], tuple(held["weights"][name] for name in FEATURES))


def pair_features(
    readings: Sequence[AnswerReading], asking: Asking, memory: Memory | None = None, *, leaves_strangers: bool = False
) -> tuple[dict[Pair, tuple[float, ...]], frozenset[Pair]]:
    """The features of every pair that may be one, in the order of ``FEATURES``, and the pairs that never are.

    ``leaves_strangers``: without those that change no group by weights that part strangers.
    """
    lexicon = read_lexicon(readings, asking, memory)
    akin = akin_pairs(readings, lexicon)
    long = [place for place, reading in enumerate(readings) if not reading.is_bare]
    if leaves_strangers and akin and not long and not any(reading.regions for reading in readings):
        akin = _acquainted(akin, readings, lexicon)
    # two names that share nothing are told apart without a score
    others = (_ordered(place, other) for place in long for other in range(len(readings)) if other != place)
    scored = sorted(akin.union(others))
    vetoed = _other_detail(akin, readings, lexicon)
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
        said.update(shared_parts(reading, lexicon.asking))
        for key in said:
            places.setdefault(key, []).append(place)
    return {pair for listed in places.values() if len(listed) > 1 for pair in combinations(listed, 2)}


def _acquainted(akin: Collection[Pair], readings: Sequence[AnswerReading], lexicon: Lexicon) -> set[Pair]:
    """The pairs of names that hang together by pairs of which one may stand in the other.

    Groups are joined by such pairs alone: two names that share little, as all rivers share a word, never are one by
    themselves, and count only beside others that are. Most pairs of a wide pool are of this kind.
    """
    root = list(range(len(readings)))

    def find(place: int) -> int:
        while root[place] != place:
            root[place] = place = root[root[place]]
        return place

    plain = [_is_plain_name(reading) for reading in readings]
    for i, j in akin:
        if not (plain[i] and plain[j]) or not _are_strangers(readings[i], readings[j], lexicon):
            root[find(i)] = find(j)
    roots = [find(place) for place in root]
    return {pair for pair in akin if roots[pair[0]] == roots[pair[1]]}


def _is_plain_name(reading: AnswerReading) -> bool:
    """Whether an answer is a few telling words and nothing besides, which nobody can spell out."""
    if len(reading.cores) != 1 or len(reading.clauses) != 1 or reading.is_sentence:
        return False
    if reading.values or reading.measure or reading.polarity or reading.option >= 0:
        return False
    words = reading.cores[0].words
    if len(words) == 1 and len(words[0]) in _ACRONYM and words[0].upper() in reading.text:
        return False
    return STOP.isdisjoint(words) and STOP.union(words).issuperset(reading.clauses[0].words)


def _are_strangers(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> bool:
    """Whether little of either of two plain names stands in the other, and neither is the other's letters."""
    known = lexicon.memory.strangers.get((a.text, b.text))
    if known is None:
        known = lexicon.memory.strangers[a.text, b.text] = _share_little(a, b, lexicon)
    return known


def _share_little(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> bool:
    short, long = a.cores[0].words, b.cores[0].words
    if "".join(short) == "".join(long) or abbreviates(short, long) or abbreviates(long, short):
        return False
    return held_share(short, long, lexicon) < _STRANGE and held_share(long, short, lexicon) < _STRANGE


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
