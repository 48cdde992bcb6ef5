"""Which questions and which rollouts: splits by question text; the first K of a pool, random K alike for all."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from tracerank.answers.exact import normalize_text
from tracerank.pools.pool import Pool

TRAIN_SHARE = 0.95
TEST_SHARE = 0.2


def is_validation(question: str) -> bool:
    """Whether a question is held out for choosing the epoch; the same for every run and machine."""
    # The salt is the official release's, so that both hold out the same questions.
    return _place("gnn-selector-question-split|42", question) >= TRAIN_SHARE


def is_test(question: str) -> bool:
    """Whether a question is kept for measuring where no test questions are given; independent of the other split."""
    return _place("tracerank-test", question) < TEST_SHARE


def _place(salt: str, question: str) -> float:
    """Between 0 and 1, the same for every run and machine."""
    digest = hashlib.sha256(f"{salt}|{normalize_text(question)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


FIRST = 0
"""The subset that the paper takes: the K samples with the lowest ids."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A pool reduced to a budget."""

    k: int
    subset: int
    """0: the first K; from 1 on: random subsets."""
    pool: Pool


def cuts(pool: Pool, ks: Sequence[int], subsets: int = 0, seed: int = 0) -> Iterator[Cut]:
    """The first K and so many random K, for each K."""
    for k in ks:
        yield Cut(k, FIRST, pool.first(k))
    orders = [_shuffled(pool, number, seed) for number in range(1, subsets + 1)]
    for k in ks:
        # A whole pool has one subset only; its mean needs no copies.
        for number, order in enumerate(orders if k < len(pool) else orders[:1], start=1):
            yield Cut(k, number, Pool(pool.question, tuple(pool.rollouts[place] for place in order[:k])))


def _shuffled(pool: Pool, number: int, seed: int) -> list[int]:
    # One order per subset number: the subsets of a larger K contain those of a smaller, so that K alone differs.
    order = list(range(len(pool)))
    Random(f"{seed}/{number}/{pool.question.id}").shuffle(order)
    return order
