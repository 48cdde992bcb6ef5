"""The words of a pool's answers: which of them name the same, and how much each tells about what is asked.

Made anew for every pool and filled as it is asked, so that answers which share nothing cost next to nothing.
"""

from collections.abc import Iterable, Mapping

from tracerank.answers.meaning.asking import Asking
from tracerank.answers.meaning.values import likeness
from tracerank.answers.meaning.words import initial

Words = tuple[str, ...]


class Lexicon:
    """What is known of the words of some answers to one question."""

    __slots__ = ("_by_initial", "_near", "_reach", "_weights", "asking", "likes")

    def __init__(self, asking: Asking, words: Iterable[str]) -> None:
        self.asking = asking
        self.likes: dict[tuple[Words, Words], float] = {}
        """Likeness of two cores, once it is known."""
        self._by_initial: dict[str, list[str]] = {}
        self._near: dict[str, dict[str, float]] = {}
        self._reach: dict[Words, frozenset[str]] = {}
        self._weights: dict[Words, tuple[tuple[float, ...], float]] = {}
        for word in dict.fromkeys(words):
            self._by_initial.setdefault(initial(word), []).append(word)

    def near(self, word: str) -> Mapping[str, float]:
        """Other words of the pool that name the same, and how far."""
        found = self._near.get(word)
        if found is None:
            listed = self._by_initial.get(initial(word), ())
            found = {other: like for other in listed if other != word and (like := likeness(word, other))}
            self._near[word] = found
        return found

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
