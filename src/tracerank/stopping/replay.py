"""Saved pools replayed in random orders: where each rule would have stopped, its accuracy, and what it saves.

Every order is walked once, one rollout after the other; all rules then look at the same states.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracerank.errors import UsageError
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.tables import NUMBER, POINTS, TEXT, Column, Table
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question, Rollout
from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, Rule, State, WindowRule
from tracerank.stopping.session import Session
from tracerank.votes.base import Method

FIXED, BETA, WINDOW, GAIN = "fixed", "Beta", "window", "gain"
THRESHOLDS = (0.7, 0.76, 0.8, 0.85, 0.88, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
WINDOWS = (2, 3, 4, 5)
LOSSES = (0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.005)
"""Settings that are tried, from few rollouts to many."""
NEAR = 0.003
"""A loss of accuracy up to this much counts as none in the sentence."""

Floats = NDArray[np.float64]
Interval = tuple[float, float, float]
"""A mean with its paired 95% interval."""


@dataclass(frozen=True, slots=True)
class Walk:
    """One order of a pool's rollouts."""

    question: int
    """Index of the pool."""
    states: tuple[State, ...]
    """After each rollout."""
    right: tuple[float, ...]
    """Correctness of the answer that would have been returned then."""

    def end(self, rule: Rule) -> int:
        """After how many rollouts the rule stops."""
        for state in self.states[:-1]:
            if not rule.verdict(state, len(self.states) - state.rollouts):
                return state.rollouts
        return len(self.states)


def walks_of(
    pools: Iterable[Pool], method: Method, k: int | None = None, orders: int = 3, seed: int = 0
) -> Iterator[Walk]:
    """Random orders of K rollouts of every labelled pool with at least K; the same orders for every method."""
    for index, pool in enumerate(pools):
        if len(pool) >= (k or 2):
            for order in range(orders):
                drawn = list(pool.rollouts)
                Random(f"{seed}/{order}/{pool.question.id}/{pool.question.text}").shuffle(drawn)
                yield _walk(index, pool.question, drawn[:k], method)


def _walk(index: int, question: Question, rollouts: Sequence[Rollout], method: Method) -> Walk:
    session = Session(question, method, budget=len(rollouts))
    states, right = [], []
    for number, rollout in enumerate(rollouts):
        session.add(replace(rollout, sample_id=number))
        states.append(session.state)
        label = 0.0 if session.chosen is None else correctness(rollouts[session.chosen], question.references)
        if label is None:
            raise UsageError(f"question {question.id!r}: not labelled; give labels or references")
        right.append(label)
    return Walk(index, tuple(states), tuple(right))


def rules_for(k: int) -> Mapping[str, tuple[Rule, ...]]:
    """Family to the settings that are tried on K rollouts."""
    return {
        FIXED: tuple(FixedK(each) for each in range(1, k + 1)),
        BETA: tuple(map(BetaRule, THRESHOLDS)),
        WINDOW: tuple(WindowRule(size) for size in WINDOWS if size < k),
        GAIN: tuple(ExpectedGain(within=loss) for loss in LOSSES),
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one rule."""

    family: str
    rule: str
    rollouts: float
    """Mean."""
    accuracy: float
    loss: Interval
    """Accuracy less that of all rollouts."""


@dataclass(frozen=True, slots=True)
class Replay:
    """All rules on the same walks."""

    k: int
    questions: int
    orders: float
    outcomes: tuple[Outcome, ...]
    left_out: int = 0
    """Questions with fewer than K rollouts."""

    @property
    def full(self) -> Outcome:
        return next(one for one in self.outcomes if one.rule == FixedK(self.k).name)

    @property
    def best(self) -> Outcome:
        """The setting with the fewest rollouts and no loss, or else with the highest accuracy."""
        gains = [one for one in self.outcomes if one.family == GAIN]
        near = [one for one in gains if one.loss[0] >= -NEAR]
        return min(near, key=lambda one: one.rollouts) if near else max(gains, key=lambda one: one.accuracy)

    @property
    def sentence(self) -> str:
        """What the best setting costs and brings."""
        best = self.best
        mean, low, high = (100 * value for value in best.loss)
        verdict = "the same accuracy as" if best.loss[0] >= -NEAR else f"{-mean:.1f} points less accurate than"
        return (
            f"{best.rule}: {verdict} {self.k} rollouts ({100 * self.full.accuracy:.1f}%) with {best.rollouts:.1f} on "
            f"average ({mean:+.1f} points [{low:+.1f}, {high:+.1f}])"
        )

    def tables(self) -> tuple[Table, ...]:
        """One table, a row a setting."""
        columns = (
            *(Column("rule", TEXT), Column("rollouts", NUMBER), Column("accuracy")),
            *(Column("against all", POINTS), Column("low", POINTS), Column("high", POINTS)),
        )
        rows = tuple((one.rule, one.rollouts, one.accuracy, *one.loss) for one in self.outcomes)
        notes = [
            f"{self.questions:,} questions, {self.orders:g} random orders each; every rule returns what the method "
            "chooses among the rollouts so far. Points, with paired 95% intervals over questions.",
            f"{self.sentence}.",
        ]
        if self.left_out:
            notes.append(f"Left out: {self.left_out:,} questions with fewer than {self.k} rollouts.")
        return (Table("stopping", f"accuracy % and rollouts of {self.k}", columns, rows, tuple(notes)),)

    def record(self) -> dict[str, Any]:
        """In plain values."""
        return {**asdict(self), "sentence": self.sentence}


def replay(
    pools: Iterable[Pool],
    method: Method,
    k: int | None = None,
    orders: int = 3,
    seed: int = 0,
    on_walk: Callable[[], object] = lambda: None,
) -> Replay:
    """Every rule on random orders of labelled pools; ``k``: the budget, by default the most common size of a pool."""
    given = list(pools)
    budget = k or max(Counter(map(len, given)).items(), key=itemgetter(1), default=(0, 0))[0]
    sized = [pool for pool in given if len(pool) >= budget]
    walks = []
    for walk in walks_of(sized, method, budget, orders, seed):
        walks.append(walk)
        on_walk()
    return replace(compare_rules(walks, seed), left_out=len(given) - len(sized))


def compare_rules(walks: Sequence[Walk], seed: int = 0) -> Replay:
    """Every rule on walks of one length."""
    if not walks:
        raise UsageError("no labelled pool has enough rollouts to replay; give larger pools, or a smaller -k")
    k = len(walks[0].states)
    _, rows = np.unique([walk.question for walk in walks], return_inverse=True)
    counts = np.bincount(rows).astype(np.float64)

    def by_question(values: Iterable[float]) -> Floats:
        means: Floats = np.bincount(rows, np.array(list(values), np.float64)) / counts
        return means

    full = by_question(walk.right[-1] for walk in walks)
    outcomes = []
    for family, rules in rules_for(k).items():
        for rule in rules:
            ends = [walk.end(rule) for walk in walks]
            right = by_question(walk.right[end - 1] for walk, end in zip(walks, ends, strict=True))
            found = intervals((right - full)[:, None], seed)
            loss = float((right - full).mean()), float(found.low[0]), float(found.high[0])
            outcomes.append(Outcome(family, rule.name, float(by_question(ends).mean()), float(right.mean()), loss))
    return Replay(k, len(counts), len(walks) / len(counts), tuple(outcomes))
