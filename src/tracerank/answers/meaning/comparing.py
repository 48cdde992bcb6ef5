"""How far two readings give one answer, and what can never be one.

Scores are shares of telling words, by the weights that the question gives them; nothing here is fitted.
"""

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from itertools import combinations
from typing import TypeVar

from tracerank.answers.meaning.contradiction import agree, contradict
from tracerank.answers.meaning.reading import MAX_PLACED, AnswerReading
from tracerank.answers.meaning.values import is_value, likeness
from tracerank.answers.meaning.words import CHANGING, RANKS, STOP, keys
from tracerank.answers.question_profile import DATE, NUMBER, QuestionProfile
from tracerank.answers.values import relation

_LIKE = 0.6
"""Share from which the shorter of two cores is taken to stand in the other."""
_TELLING = 0.9
"""Weight of a word that would tell answers apart."""
_MAX_ALIKE = 256
"""Words of a pool that may share a beginning or an ending and still be compared; what more share tells nothing."""


Words = tuple[str, ...]
Item = TypeVar("Item", int, str)
_NONE: Mapping[str, float] = {}


class Lexicon:
    """What is known of the words of some answers to one question."""

    __slots__ = ("_near", "_reach", "_weights", "asserted", "cores", "may_add", "profile")

    def __init__(self, profile: QuestionProfile, words: Iterable[str], sought: Set[str]) -> None:
        """Of all words; only those that are sought will be asked for."""
        self.profile = profile
        self.may_add = False
        """Whether the first of two answers may list more than the second, a reference."""
        self.cores: dict[tuple[Words, Words], float] = {}
        """Likeness of two cores."""
        self.asserted: dict[tuple[Words, str], float] = {}
        """How strongly a text asserts a core."""
        self._near: dict[str, dict[str, float]] = {}
        self._reach: dict[Words, frozenset[str]] = {}
        self._weights: dict[Words, tuple[tuple[float, ...], float]] = {}
        for a, b in _candidates(set(words).difference(STOP)):  # stop words are found as they stand only
            if (a in sought or b in sought) and (like := likeness(a, b)):
                self._near.setdefault(a, {})[b] = like
                self._near.setdefault(b, {})[a] = like

    def near(self, word: str) -> Mapping[str, float]:
        """Other words of the pool that name the same, and how far."""
        return self._near.get(word, _NONE)

    def reach(self, core: Words) -> frozenset[str]:
        """The words of a core and all that name the same: what shares none of them shares nothing with it."""
        found = self._reach.get(core)
        if found is None:
            found = frozenset(core)
            if not found.isdisjoint(self._near):
                found = found.union(*map(self.near, core))
            self._reach[core] = found
        return found

    def weights(self, core: Words) -> tuple[tuple[float, ...], float]:
        """How much each word of a core tells, and the sum."""
        found = self._weights.get(core)
        if found is None:
            each = tuple(map(self.profile.weight, core))
            found = each, sum(each)
            self._weights[core] = found
        return found


def _candidates(words: Set[str]) -> set[tuple[str, str]]:
    """Pairs of words that share what words which name the same share."""
    first: dict[str, str] = {}
    shared: dict[str, list[str]] = {}
    letters: list[str] = []
    values: list[str] = []
    named: list[str] = []
    ranked: list[tuple[str, str]] = []
    for word in words:
        if is_value(word):
            values.append(word)
        elif len(word) == 1:
            letters.append(word)
        elif word[0].isdigit() and (rank := f"#{word[:-2]}") in words:
            ranked.append((rank, word))
        else:
            named.append(word)
            for key in keys(word):
                other = first.setdefault(key, word)
                if other is not word:
                    shared.setdefault(key, [other]).append(word)
    few = (held for held in shared.values() if len(held) <= _MAX_ALIKE)
    found = {ordered(a, b) for held in few for a, b in combinations(held, 2)}
    found.update(combinations(sorted(values[:_MAX_ALIKE]), 2))
    found.update(ranked)
    if letters:
        singles = set(letters)
        found.update((word[0], word) for word in named if word[0] in singles)
    return found


def read_lexicon(readings: Sequence[AnswerReading], profile: QuestionProfile) -> Lexicon:
    """The words of some answers, made ready for what their cores are compared by."""
    sought = {word for reading in readings for core in reading.cores for word in core.words}
    return Lexicon(profile, set().union(*(reading.said for reading in readings)), sought)


def held_share(core: Words, words: Container[str], lexicon: Lexicon) -> float:
    """The weighted share of a core's words that stand among words."""
    held = 0.0
    weights, total = lexicon.weights(core)
    for word, weight in zip(core, weights, strict=True):
        if word in words:
            held += weight
        elif near := lexicon.near(word):
            held += weight * max((like for other, like in near.items() if other in words), default=0.0)
    return held / total if total else 0.0


def core_likeness(a: Words, b: Words, lexicon: Lexicon) -> float:
    """Two cores, 0 to 1: a short name inside a long one is fine, words of their own on both sides are not."""
    known = lexicon.cores.get((a, b))
    if known is None:
        known = lexicon.cores[a, b] = _core_likeness(a, b, lexicon)
    return known


def _core_likeness(a: Words, b: Words, lexicon: Lexicon) -> float:
    if a == b or "".join(a) == "".join(b):
        return 1.0
    if abbreviates(a, b) or abbreviates(b, a):
        return 0.9
    if lexicon.reach(a).isdisjoint(b):
        return 0.0
    profile = lexicon.profile
    values_a, values_b = [word for word in a if is_value(word)], [word for word in b if is_value(word)]
    if values_a and values_b and not any(likeness(x, y) for x in values_a for y in values_b):
        return 0.0
    if profile.wants_day and values_a and values_b and max(map(_parts, values_a)) != max(map(_parts, values_b)):
        return 0.4
    of_a, of_b = held_share(a, b, lexicon), held_share(b, a, lexicon)
    low, high = sorted((of_a, of_b))
    if high < _LIKE:
        return 0.5 * high
    short, long = (a, b) if of_a >= of_b else (b, a)
    if _has_own(short, long, lexicon) and _has_own(long, short, lexicon):
        return min(0.5, 0.6 * low + 0.2)
    if any(word in CHANGING and word not in short and word not in profile.words for word in long):
        return 0.5
    telling = sum(profile.weight(word) for word in short if word not in RANKS)
    return max(0.0, 0.75 * high + 0.25 * low - (0.25 if telling < 0.5 else 0.0))


def _has_own(words: Words, others: Words, lexicon: Lexicon) -> bool:
    return any(
        word not in RANKS
        and lexicon.profile.weight(word) >= _TELLING
        and word not in others
        and lexicon.near(word).keys().isdisjoint(others)
        for word in words
    )


def _parts(value: str) -> int:
    """How much of a date is given."""
    return value.count("-")


def abbreviates(short: Words, long: Words) -> bool:
    """Whether the one is the initials of the other."""
    return len(short) == 1 and short[0] == initials(long)


def initials(words: Words) -> str:
    """What may abbreviate a name; empty: too short or too long for it."""
    found = "".join(word[0] for word in words if word not in STOP) if len(words) >= 2 else ""
    return found if 2 <= len(found) <= 6 else ""


def asserted(core: Words, reading: AnswerReading, lexicon: Lexicon) -> float:
    """How strongly an answer asserts a core: the best clause that holds it."""
    if lexicon.reach(core).isdisjoint(reading.said):
        return 0.0
    known = lexicon.asserted.get((core, reading.text))
    if known is None:
        known = lexicon.asserted[core, reading.text] = _asserted(core, reading, lexicon)
    return known


def _asserted(core: Words, reading: AnswerReading, lexicon: Lexicon) -> float:
    best = 0.0
    for clause in reading.clauses:
        if clause.strength > best:
            share = held_share(core, clause.words, lexicon)
            if share >= 0.7:
                share *= 0.5 if _is_changed(core, clause.words, lexicon.profile) else 1.0
                best = max(best, share * clause.strength * (1 - 0.004 * min(clause.order, 20)))
    return best


def _is_changed(core: Words, words: Words, profile: QuestionProfile) -> bool:
    """Whether a core stands among words only with one before it that makes another thing of it."""
    indices = [index for index, word in enumerate(words) if word == core[0]]
    before = [words[index - 1] if index else "" for index in indices]
    return bool(before) and all(word in CHANGING and word not in core and word not in profile.words for word in before)


def conflict(a: AnswerReading, b: AnswerReading, profile: QuestionProfile, *, may_add: bool = False) -> bool:
    """What can never be one answer: yes and no, two options, other regions, other values, what they state."""
    if a.polarity * b.polarity < 0:
        return True
    if a.option >= 0 and b.option >= 0 and a.option != b.option:
        return True
    if profile.wants_place and are_elsewhere(a.regions, b.regions):
        return max(a.length, b.length) <= MAX_PLACED
    if a.measure and b.measure:
        return not relation(a.measure, b.measure) or contradict(a, b, profile)
    if profile.kind in (DATE, NUMBER) and a.values and b.values:
        if profile.wants_day and a.is_bare and b.is_bare and _parts(a.values[0][0]) != _parts(b.values[0][0]):
            return True
        if not any(likeness(x, y) for x in _foremost(a) for y in _foremost(b)) and not agree(a, b, profile):
            return True
    return contradict(a, b, profile, may_add=may_add)


def are_elsewhere(a: Set[str], b: Set[str]) -> bool:
    """Paris in Texas and Paris in France."""
    return bool(a - b and b - a)


def _foremost(reading: AnswerReading) -> list[str]:
    least = (0.8 if reading.is_marked or reading.length <= MAX_PLACED else 0.4) * reading.values[0][1]
    return [value for value, strength in reading.values if strength >= least]


def pair_likeness(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> float:
    """How far two answers are one, 0 to 1, by themselves."""
    like = _likeness(a, b, lexicon)
    return 0.0 if like and conflict(a, b, lexicon.profile, may_add=lexicon.may_add) else like


def _likeness(a: AnswerReading, b: AnswerReading, lexicon: Lexicon) -> float:
    """The likeness of two answers that are not in conflict."""
    if a.polarity and a.polarity == b.polarity:
        return 1.0
    if a.option >= 0 and a.option == b.option:
        return 0.7 + 0.3 * min(1.0, a.option_margin, b.option_margin)
    if (a.measure and b.measure) or agree(a, b, lexicon.profile):
        return 1.0  # measures that are not in conflict agree
    return max(
        (
            core_likeness(x.words, y.words, lexicon) * min(x.strength, y.strength) ** 0.25
            for x in a.cores
            for y in b.cores
        ),
        default=0.0,
    )


NO_VETO: frozenset[tuple[int, int]] = frozenset()


def linked(
    indices: Iterable[int],
    pairs: Mapping[tuple[int, int], float],
    least: float,
    vetoed: Iterable[tuple[int, int]] = NO_VETO,
) -> list[list[int]]:
    """Groups by average linkage, each sorted, by first member; a veto between two members keeps their groups apart.

    Only pairs that are alike at all are held, so that a pool of strangers costs nothing. Ties go to the earlier pair;
    for groups that do not depend on the order, pass the indices of a sorted list.
    """
    groups = {index: [index] for index in indices}
    sums = {pair: like for pair, like in pairs.items() if like > 0}
    apart = set(vetoed)
    while best := _closest(groups, sums, least, apart):
        kept, gone = best
        groups[kept] = sorted(groups[kept] + groups.pop(gone))
        del sums[best]
        for pair in [pair for pair in sums if gone in pair]:
            moved = ordered(kept, pair[0] + pair[1] - gone)
            sums[moved] = sums.get(moved, 0.0) + sums.pop(pair)
        for pair in [pair for pair in apart if gone in pair]:
            apart.add(ordered(kept, pair[0] + pair[1] - gone))
    return [groups[index] for index in sorted(groups)]


def ordered(a: Item, b: Item) -> tuple[Item, Item]:
    return (a, b) if a < b else (b, a)


def _closest(
    groups: Mapping[int, list[int]],
    sums: Mapping[tuple[int, int], float],
    least: float,
    apart: Container[tuple[int, int]],
) -> tuple[int, int] | None:
    """The two groups that are most alike on the mean, above the least."""
    found, best = None, least
    for pair, total in sums.items():
        like = total / (len(groups[pair[0]]) * len(groups[pair[1]]))
        is_better = like > best or (like == best and found is not None and pair < found)
        if is_better and pair not in apart:
            found, best = pair, like
    return found
