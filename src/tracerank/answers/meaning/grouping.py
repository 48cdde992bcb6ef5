"""Groups of a pool's answers by meaning, whether two answers are one, and the span of an answer that answers.

A pair's chance comes from what the two say by themselves and from what they say in terms of the pool's anchors; groups
are linked by their mean chance above one threshold, and conflicts keep them apart. Only the set of answers counts:
neither their order nor how often one is repeated changes a group.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tracerank.answers.abstentions import abstains
from tracerank.answers.equivalence import NO_GROUP
from tracerank.answers.meaning.asking import read_asking
from tracerank.answers.meaning.linkage import linked
from tracerank.answers.meaning.pairs import PairWeights, pair_features, pair_weights
from tracerank.answers.meaning.reading import read_answer


@dataclass(frozen=True, slots=True)
class Core:
    """The span of a text that answers: ``text[start:end]``."""

    text: str
    start: int
    end: int


def answer_core(question: str, text: str) -> Core:
    """The span that answers a question, with its place in the text; the whole text where nothing smaller is found."""
    reading = read_answer(text, question)
    start, end = reading.core_span
    return Core(text[start:end], start, end)


def group_by_meaning(answers: Sequence[str | None], question: str = "") -> tuple[int, ...]:
    """A group number per answer, in order of first appearance; ``NO_GROUP`` for what answers nothing."""
    return grouped(answers, question, pair_weights())


def grouped(answers: Sequence[str | None], question: str, weights: PairWeights) -> tuple[int, ...]:
    """The same by given weights."""
    said = [None if answer is None or abstains(answer, question) else answer.strip() for answer in answers]
    root = _groups(sorted({answer for answer in said if answer is not None}), question, weights)
    numbers: dict[int, int] = {}
    return tuple(NO_GROUP if answer is None else numbers.setdefault(root[answer], len(numbers)) for answer in said)


def same_answer(question: str, a: str | None, b: str | None) -> bool:
    """Whether two answers alone would form one group."""
    first, second = group_by_meaning((a, b), question)
    return first == second != NO_GROUP


def _groups(distinct: Sequence[str], question: str, weights: PairWeights) -> dict[str, int]:
    """Each of the sorted texts to the number of its group."""
    if len(distinct) < 2:
        return dict.fromkeys(distinct, 0)
    features, vetoed = pair_features([read_answer(text, question) for text in distinct], read_asking(question))
    chances = {pair: weights.chance(row) for pair, row in features.items()}
    groups = linked(range(len(distinct)), chances, weights.threshold, vetoed)
    return {distinct[place]: number for number, members in enumerate(groups) for place in members}
