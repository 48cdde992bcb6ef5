"""The words of a pool's answers: which of them name the same, and how much each tells about what is asked.

Made anew for every pool and filled as it is asked, so that answers which share nothing cost next to nothing.
"""

from collections.abc import Iterable, Mapping

from tracerank.answers.meaning.asking import Asking
from tracerank.answers.meaning.values import likeness
from tracerank.answers.meaning.words import STOP, keys

Words = tuple[str, ...]


class Lexicon:
    """What is known of the words of some answers to one question."""

    __slots__ = ("_first", "_letters", "_near", "_reach", "_shared", "_values", "_weights", "asking", "likes")

    def __init__(self, asking: Asking, words: Iterable[str]) -> None:
        self.asking = asking
        self.likes: dict[tuple[Words, Words], float] = {}
        """Likeness of two cores, once it is known."""
        self._first: dict[str, str] = {}
        """What words are found by, to the first of them."""
        self._shared: dict[str, list[str]] = {}
        """What several words are found by, to all of them."""
        self._letters: list[str] = []
        """Words of one letter: initials."""
        self._values: list[str] = []
        self._near: dict[str, dict[str, float]] = {}
        self._reach: dict[Words, frozenset[str]] = {}
        self._weights: dict[Words, tuple[tuple[float, ...], float]] = {}
        for word in set(words).difference(STOP):  # those are found as they stand only
            if word[0] in "#@":
                self._values.append(word)
            elif len(word) == 1:
                self._letters.append(word)
            else:
                self._add(word)

    def _add(self, word: str) -> None:
        first = self._first
        for key in keys(word):
            other = first.setdefault(key, word)
            if other is not word:
                self._shared.setdefault(key, [other]).append(word)

    def near(self, word: str) -> Mapping[str, float]:
        """Other words of the pool that name the same, and how far."""
        found = self._near.get(word)
        if found is None:
            listed = self._listed(word)
            found = {other: like for other in listed if other != word and (like := likeness(word, other))}
            self._near[word] = found
        return found

    def _listed(self, word: str) -> Iterable[str]:
        """Words among which those are that name the same."""
        if word[0] in "#@":
            return self._values
        if len(word) == 1:
            return {other for key, other in self._first.items() if key[:2] == f"<{word}"}.union(
                *(held for key, held in self._shared.items() if key[:2] == f"<{word}")
            )
        listed: set[str] = set()
        if word not in STOP:
            listed = listed.union(*(self._shared[key] for key in keys(word) if key in self._shared))
        return listed.union(self._letters) if word[0] in self._letters else listed

    def reach(self, core: Words) -> frozenset[str]:
        """The words of a core and all that name the same: what shares none of them shares nothing with it."""
        found = self._reach.get(core)
        if found is None:
            found = frozenset(core).union(*map(self.near, core))
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
