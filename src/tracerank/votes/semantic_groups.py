"""Groups of equal answers by vectors, on top of the default level's groups.

They merge default groups and never split them. What rules understand, rules decide: two numbers, two dates, or yes and
no are never merged, nor answers with different digits, nor a denial with what it denies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.answers.asked import read_question
from tracerank.answers.english import NEGATIONS
from tracerank.answers.equivalence import DEFAULT, NO_GROUP, group_answers
from tracerank.answers.readings import NAME, read_answer
from tracerank.answers.text_keys import readable, tokens_of
from tracerank.embedding.base import Embedder, check_vectors

Similarity = NDArray[np.float64]
THRESHOLD = 0.95
"""Cosine from which two answers are one to the default encoder."""


@dataclass(frozen=True, slots=True)
class AnswerUnit:
    """One default group, independent of the order of the answers."""

    texts: tuple[str, ...]
    """Distinct, the shortest first: it stands for the group."""
    numbers: frozenset[str]
    denies: bool
    is_name: bool
    """False: a number, a date, yes or no."""

    def may_equal(self, other: "AnswerUnit") -> bool:
        return self.is_name and other.is_name and self.numbers == other.numbers and self.denies == other.denies


class SemanticGroups:
    """Merges default groups while every pair of their answers is as similar as the threshold requires."""

    name = "semantic"

    def __init__(self, embedder: Embedder, threshold: float = THRESHOLD) -> None:
        if not -1 <= threshold <= 1:
            raise ValueError(f"threshold must lie between -1 and 1, got {threshold}")
        self.embedder, self.threshold = embedder, threshold

    def groups(self, question: str, answers: Sequence[str | None]) -> tuple[int, ...]:
        return merged_groups(question, answers, self._similarity, self.threshold)

    def _similarity(self, units: Sequence[AnswerUnit]) -> Similarity:
        """The least cosine between any two answers of two units; -1 where they must stay apart."""
        owner = np.array([index for index, unit in enumerate(units) for _ in unit.texts], dtype=np.int64)
        texts = [text for unit in units for text in unit.texts]
        found = self.embedder.embed(texts)
        vectors = check_vectors(found, len(texts), self.embedder.width, self.embedder.name, texts)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        similarity = np.full((len(units), len(units)), 2.0)
        np.minimum.at(similarity, (owner[:, None], owner[None, :]), vectors @ vectors.T)
        apart = [[not one.may_equal(other) for other in units] for one in units]
        return np.where(np.array(apart), -1.0, similarity)


def merged_groups(
    question: str,
    answers: Sequence[str | None],
    similarity: Callable[[Sequence[AnswerUnit]], Similarity],
    threshold: float,
) -> tuple[int, ...]:
    """Default groups, merged where all their pairs are similar enough."""
    base = group_answers(answers, question, DEFAULT)
    units = answer_units(base, answers, question)
    if not units:
        return base
    labels = complete_linkage(similarity(list(units.values())), threshold)
    label_of = dict(zip(units, labels, strict=True))
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if group == NO_GROUP else numbers.setdefault(label_of[group], len(numbers)) for group in base)


def answer_units(base: Sequence[int], answers: Sequence[str | None], question: str) -> dict[int, AnswerUnit]:
    """Each default group as a unit, in the order of their texts and not of the pool."""
    asked = read_question(question)
    members: dict[int, set[str]] = {}
    for group, answer in zip(base, answers, strict=True):
        if group != NO_GROUP and answer is not None:
            members.setdefault(group, set()).add(answer)
    units = {}
    for group, found in members.items():
        texts = tuple(sorted(set(map(readable, found)), key=lambda text: (len(text), text)))
        tokens = tokens_of(texts[0])
        numbers = frozenset(token for token in tokens if token[0].isdigit())
        is_name = all(read_answer(answer, asked).kind == NAME for answer in found)
        units[group] = AnswerUnit(texts, numbers, not NEGATIONS.isdisjoint(tokens), is_name)
    return dict(sorted(units.items(), key=lambda item: item[1].texts))


def complete_linkage(similarity: Similarity, threshold: float) -> list[int]:
    """Clusters whose members are all at least that similar to each other: the closest pair merges first.

    Ties go to the pair that comes first in the matrix, whose order the caller makes independent of the pool's.
    """
    labels = list(range(len(similarity)))
    linked = similarity.copy()
    np.fill_diagonal(linked, -np.inf)
    while True:
        first, second = sorted(divmod(int(np.argmax(linked)), len(linked)))
        if first == second or linked[first, second] < threshold:
            return labels
        labels = [first if label == second else label for label in labels]
        linked[first] = linked[:, first] = np.minimum(linked[first], linked[second])
        linked[second] = linked[:, second] = -np.inf
        linked[first, first] = -np.inf
