"""Sentences by their words: those that share most with a statement, in time that grows with the length of the texts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum, log

from tracerank.reports.statements import Report, Sentence

MAX_VISITS = 60
"""Sentences that are looked at for one statement and text, those with the statement's rarest words first."""
MAX_VISITS_IN_ALL = 2000
UNVISITED = 0.3
"""Share of a statement's weight, in its commonest words, that alone makes no sentence a candidate."""
MAX_READ = 3
"""Of these, how many of each text are compared word by word."""
MIN_WEIGHT = 0.05


class SentenceIndex:
    """All sentences of some texts; equal ones of a text once."""

    def __init__(self, texts: Sequence[Report], topic: frozenset[str]) -> None:
        distinct: dict[tuple[int, frozenset[str]], Sentence] = {}
        for number, text in enumerate(texts):
            for sentence in text.sentences:
                distinct.setdefault((number, sentence.tokens), sentence)
        self.owners = [number for number, _ in distinct]
        self.sentences = list(distinct.values())
        self._visits = min(MAX_VISITS * max(1, len(texts) - 1), MAX_VISITS_IN_ALL)
        self._is_single = len(texts) == 1
        self._holding: dict[str, list[int]] = {}
        for index, sentence in enumerate(self.sentences):
            for token in sentence.tokens:
                self._holding.setdefault(token, []).append(index)
        count = len(self.sentences) + 1
        self.weights: Mapping[str, float] = {
            token: 0.0 if token in topic else max(MIN_WEIGHT, log(count / (len(held) + 0.5)))
            for token, held in self._holding.items()
        }
        """Token to its rarity among the sentences; words of the prompt weigh nothing."""

    def weights_of(self, tokens: frozenset[str]) -> dict[str, float]:
        """Tokens of one of the texts with their weights."""
        return {token: self.weights[token] for token in tokens}

    def nearest(self, weights: Mapping[str, float], owner: int | None = None) -> list[tuple[float, int]]:
        """The sentences but the owner's that share most, likeliest first: upper bound of the share, and index."""
        if owner is not None and self._is_single:
            return []
        held: dict[int, float] = {}
        visits = self._visits
        total = left = fsum(weights.values())
        for token in sorted(weights, key=lambda token: (-weights[token], token)):
            if left <= UNVISITED * total or not visits:
                break
            weight = weights[token]
            postings = self._holding.get(token, ())
            if len(postings) <= visits:
                left -= weight
            for index in postings[:visits]:
                held[index] = held.get(index, 0.0) + weight
            visits -= min(visits, len(postings))
        likely = sorted([(-weight, index) for index, weight in held.items()])
        read: Counter[int | None] = Counter({owner: MAX_READ})
        found = []
        for weight, index in likely:
            if read[self.owners[index]] < MAX_READ:
                read[self.owners[index]] += 1
                found.append(((left - weight) / total, index))
        return found

    def holds(self, tokens: frozenset[str]) -> bool:
        """Whether one sentence has all of some tokens."""
        rarest = min((self._holding.get(token, []) for token in tokens), key=len)
        return any(tokens <= self.sentences[index].tokens for index in rarest[:MAX_VISITS_IN_ALL])


def share(weights: Mapping[str, float], held: frozenset[str]) -> float:
    """The part of the weights whose tokens are held."""
    total = fsum(weights.values())
    return fsum(map(weights.__getitem__, weights.keys() & held)) / total if total else 0.0
