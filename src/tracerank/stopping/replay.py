"""Saved pools replayed in random orders: where each rule would have stopped, how right that is, and what it saves.

Every order is walked once, one rollout after the other; all rules then look at the same states. Decides nothing itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

import numpy as np
import numpy.typing as npt

from tracerank.errors import UsageError
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.tables import NUMBER, POINTS, TEXT, Column, Table
from tracerank.pools.correctness import correctness
from tracerank.pools.pool import Pool
from tracerank.stopping.rules import BetaRule, ExpectedGain, FixedK, Rule, State, WindowRule
from tracerank.stopping.session import Session
from tracerank.votes.base import Method

FIXED, BETA, WINDOW, GAIN = "fixed", "Beta", "window", "gain"
THRESHOLDS = (0.7, 0.76, 0.8, 0.85, 0.88, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
LOSSES = (0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.005)
"""Settings that a replay tries, from few rollouts to many."""
NEAR = 0.003
"""Less accurate than all rollouts by no more is as accurate, in the sentence."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Walk:
    """One order of a pool's rollouts."""

    question: int
    """Number of the pool."""
    states: tuple[State, ...]
    """After each rollout."""
    right: tuple[float, ...]
    """How right the answer is that would have been returned then."""

    def end(self, rule: Rule) -> int:
        """After how many rollouts the rule stops."""
        for state in self.states[:-1]:
            if not rule.verdict(state, len(self.states) - state.rollouts):
                return state.rollouts
        return len(self.states)


def walks_of(
    pools: Iterable[Pool], method: Method, k: int | None = None, orders: int = 3, seed: int = 0
) -> Iterator[Walk]:
    """Random orders of K rollouts of every pool that has so many and is labelled; the same orders for every method."""
    for number, pool in enumerate(pools):
        if len(pool) < (k or 2):
            continue
        for order in range(orders):
            drawn = list(pool.rollouts)
            Random(f"{seed}/{order}/{pool.question.id}/{pool.question.text}").shuffle(drawn)
            ordered = (replace(one, sample_id=place) for place, one in enumerate(drawn[:k]))
            yield _walk(number, Pool(pool.question, tuple(ordered)), method)


def _walk(number: int, pool: Pool, method: Method) -> Walk:
    session = Session(pool.question, method, budget=len(pool))
    states, right = [], []
    for rollout in pool.rollouts:
        session.add(rollout)
        states.append(session.state)
        chosen = session.chosen
        known = 0.0 if chosen is None else correctness(pool.rollouts[chosen], pool.question.references)
        if known is None:
            raise UsageError(f"question {pool.question.id!r}: not labelled; give labels or references")
        right.append(known)
    return Walk(number, tuple(states), tuple(right))


def rules_for(k: int) -> Mapping[str, tuple[Rule, ...]]:
    """Family to the settings that are tried where K rollouts are all there are."""
    return {
        FIXED: tuple(FixedK(each) for each in range(1, k + 1)),
        BETA: tuple(map(BetaRule, THRESHOLDS)),
        WINDOW: tuple(WindowRule(size) for size in (2, 3, 4, 5) if size < k),
        GAIN: tuple(ExpectedGain(within=loss) for loss in LOSSES),
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What comes of one rule."""

    family: str
    rule: str
    rollouts: float
    """On average."""
    accuracy: float
    loss: tuple[float, float, float]
    """Accuracy less that of all rollouts, with its paired 95% interval."""
    over_beta: tuple[float, float, float] | None
    """Accuracy less that of the Beta rule with as many rollouts; None: it has no setting with as few or as many."""


@dataclass(frozen=True, slots=True)
class Replay:
    """All rules on the same walks."""

    k: int
    questions: int
    orders: float
    outcomes: tuple[Outcome, ...]

    @property
    def full(self) -> Outcome:
        return next(one for one in self.outcomes if one.rule == FixedK(self.k).name)

    @property
    def sentence(self) -> str:
        """What it means for whoever runs these agents."""
        ours = [one for one in self.outcomes if one.family == GAIN]
        near = [one for one in ours if one.loss[0] >= -NEAR]
        best = min(near, key=lambda one: one.rollouts) if near else max(ours, key=lambda one: one.accuracy)
        lost, low, high = (100 * value for value in best.loss)
        same = "the same accuracy as" if near else f"{-lost:.1f} points less accurate than"
        return (
            f"{best.rule}: {same} {self.k} rollouts ({100 * self.full.accuracy:.1f}%) with {best.rollouts:.1f} on "
            f"average ({lost:+.1f} points [{low:+.1f}, {high:+.1f}])"
        )

    def table(self) -> Table:
        """A row a setting."""
        columns = (
            *(Column("rule", TEXT), Column("rollouts", NUMBER), Column("accuracy")),
            *(Column("against all", POINTS), Column("low", POINTS), Column("high", POINTS)),
            *(Column("against Beta", POINTS), Column("low ", POINTS), Column("high ", POINTS)),
        )
        rows = tuple(
            (one.rule, one.rollouts, one.accuracy, *one.loss, *(one.over_beta or (None, None, None)))
            for one in self.outcomes
        )
        notes = (
            f"{self.questions:,} questions, {self.orders:g} random orders each; every rule returns what the selector "
            "chooses among the rollouts so far. Against Beta: the Beta rule with as many rollouts on average. Points, "
            "with paired 95% intervals over questions.",
            f"{self.sentence}.",
        )
        return Table("budget", f"accuracy % and rollouts of {self.k}", columns, rows, notes)


def replay(walks: Sequence[Walk], seed: int = 0) -> Replay:
    """Every rule on the walks, which must be equally long."""
    if not walks:
        raise UsageError("no labelled pool has enough rollouts to replay; give larger pools, or a smaller -k")
    k = len(walks[0].states)
    questions = sorted({walk.question for walk in walks})
    place = {question: row for row, question in enumerate(questions)}
    rows = np.array([place[walk.question] for walk in walks])
    counts = np.bincount(rows).astype(np.float64)

    def by_question(values: Iterable[float]) -> Floats:
        found: Floats = np.bincount(rows, np.array(list(values), np.float64)) / counts
        return found

    found: list[tuple[str, str, Floats, Floats]] = []
    for family, rules in rules_for(k).items():
        for rule in rules:
            ends = [walk.end(rule) for walk in walks]
            right = by_question(walk.right[end - 1] for walk, end in zip(walks, ends, strict=True))
            found.append((family, rule.name, by_question(ends), right))
    full = next(right for _, name, _, right in found if name == FixedK(k).name)
    curve = sorted(((used.mean(), right) for family, _, used, right in found if family == BETA), key=lambda one: one[0])
    outcomes = []
    for family, name, used, right in found:
        beta = _between(curve, float(used.mean())) if family == GAIN else None
        over = None if beta is None else _interval(right - beta, seed)
        loss = _interval(right - full, seed)
        outcomes.append(Outcome(family, name, float(used.mean()), float(right.mean()), loss, over))
    return Replay(k, len(questions), len(walks) / len(questions), tuple(outcomes))


def _between(curve: Sequence[tuple[float, Floats]], rollouts: float) -> Floats | None:
    """What a rule has with so many rollouts on average, if two of its settings are mixed."""
    for (low, before), (high, after) in pairwise(curve):
        if low <= rollouts <= high:
            share = (rollouts - low) / (high - low) if high > low else 0.0
            mixed: Floats = (1 - share) * before + share * after
            return mixed
    return None


def _interval(values: Floats, seed: int) -> tuple[float, float, float]:
    found = intervals(values[:, None], seed)
    return float(values.mean()), float(found.low[0]), float(found.high[0])
