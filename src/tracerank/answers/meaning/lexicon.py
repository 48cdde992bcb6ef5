"""The words of a pool's answers: which of them name the same, and how much each tells about what is asked.

Made anew for every pool. Words are filed by what they could share, so that answers which share nothing cost next to
nothing.
"""

from collections.abc import Iterable, Mapping, Set
from itertools import combinations

from tracerank.answers.meaning.asking import Asking
from tracerank.answers.meaning.values import likeness
from tracerank.answers.meaning.words import STOP, keys

Words = tuple[str, ...]
_NONE: Mapping[str, float] = {}


class Lexicon:
    """What is known of the words of some answers to one question."""

    __slots__ = ("_near", "_reach", "_weights", "asking", "likes")

    def __init__(self, asking: Asking, words: Iterable[str], sought: Set[str]) -> None:
        """Of all words; only those that are sought will be asked for."""
        self.asking = asking
        self.likes: dict[tuple[Words, Words], float] = {}
        """Likeness of two cores, once it is known."""
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
            each = tuple(map(self.asking.weight, core))
            found = each, sum(each)
            self._weights[core] = found
        return found


def _candidates(words: Iterable[str]) -> set[tuple[str, str]]:
    """Pairs of words that share what words which name the same share."""
    first: dict[str, str] = {}
    shared: dict[str, list[str]] = {}
    letters: list[str] = []
    values: list[str] = []
    named: list[str] = []
    for word in words:
        if word[0] in "#@":
            values.append(word)
        elif len(word) == 1:
            letters.append(word)
        else:
            named.append(word)
            for key in keys(word):
                other = first.setdefault(key, word)
                if other is not word:
                    shared.setdefault(key, [other]).append(word)
    found = {(a, b) if a < b else (b, a) for held in (*shared.values(), values) for a, b in combinations(held, 2)}
    found.update((letter, word) for letter in letters for word in named if word[0] == letter)
    return found
