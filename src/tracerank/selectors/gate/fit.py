"""Choosing when a selector may leave the vote, from decisions on questions that it was not fitted on.

Everything here is an array over questions. A gate is chosen on some folds and measured on another, so what is reported
was never looked at when choosing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracerank.pools.correctness import best_of_group, choice
from tracerank.pools.pool import Pool
from tracerank.selectors.features.fit import fit_calibration
from tracerank.selectors.gate.selector import BY_SELECTOR, BY_VOTE, COLUMNS, Chance, Gate, Sides

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

THRESHOLDS = (0.0, 0.05, 0.15)
"""Expected gains that may be asked for: few, because each more is a chance to be fooled."""
MEMBERS = (BY_VOTE, BY_SELECTOR)
VOTED, OWN = 0, 1
_L2 = 3.0
"""Penalty of the calibration's weights: a hundred questions settle four of them only roughly."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Held-out questions: what vote and selector want, and how good each would be."""

    standings: Floats
    """[questions, 2, columns]: of the vote's and of the selector's group."""
    groups: Floats
    """[questions, 2]: correctness of the best answer of either group."""
    answers: Floats
    """[questions, 2, 2]: correctness of the member of either group by the vote's rule and by the selector's."""
    differ: NDArray[np.bool_]
    """Whether the groups are two."""

    def take(self, places: Ints | NDArray[np.bool_]) -> "Cases":
        return Cases(self.standings[places], self.groups[places], self.answers[places], self.differ[places])

    def gains(self, chance: Chance) -> Floats:
        """Expected by leaving the vote."""
        chances = chances_of(chance, self.standings)
        gains: Floats = chances[:, OWN] - chances[:, VOTED]
        return gains


@dataclass(frozen=True, slots=True)
class Passed:
    """What a gate let through, per question."""

    sides: Ints
    members: Ints

    def answers(self, cases: Cases) -> Floats:
        found: Floats = cases.answers[np.arange(len(self.sides)), self.sides, self.members]
        return found

    def standings(self, cases: Cases) -> Floats:
        found: Floats = cases.standings[np.arange(len(self.sides)), self.sides]
        return found


def cases_of(pools: Sequence[Pool], sides: Sequence[Sides | None]) -> Cases:
    """The arrays of some pools; where there is nothing to choose, everything is wrong."""
    count = len(pools)
    standings, groups = np.zeros((count, 2, len(COLUMNS))), np.zeros((count, 2))
    answers, differ = np.zeros((count, 2, 2)), np.zeros(count, np.bool_)
    for place, (pool, found) in enumerate(zip(pools, sides, strict=True)):
        if found is None:
            continue
        differ[place] = found.differ
        for number, side in ((VOTED, found.voted), (OWN, found.own)):
            standings[place, number] = side.standing
            groups[place, number] = best_of_group(pool, side.members) or 0.0
            for member, rule in enumerate(MEMBERS):
                answers[place, number, member] = choice(pool, side.member(rule)).correct or 0.0
    return Cases(standings, groups, answers, differ)


def choose_gate(cases: Cases) -> Gate:
    """The gate with the most right answers here; among equals the one that keeps closest to the vote."""
    chance = group_chance(cases)
    best = max(_gates(chance), key=lambda gate: round(float(pass_gate(cases, gate).answers(cases).mean()), 9))
    return Gate(best.threshold, best.member, chance, answer_chance(cases, pass_gate(cases, best)))


def _gates(chance: Chance) -> list[Gate]:
    """From the vote itself on to the loosest."""
    thresholds = (None, *sorted(THRESHOLDS, reverse=True))
    return [Gate(threshold, member, chance, chance) for threshold in thresholds for member in MEMBERS]


def pass_gate(cases: Cases, gate: Gate) -> Passed:
    """What the gate returns for each question."""
    sides = np.zeros(len(cases.differ), np.int64)
    if gate.threshold is not None:
        sides = (cases.differ & (cases.gains(gate.group) > gate.threshold)).astype(np.int64)
    return Passed(sides, np.full(len(sides), MEMBERS.index(gate.member)))


def pass_nested(cases: Cases, folds: Ints) -> Passed:
    """What gates let through that were each chosen on the other folds."""
    passed = Passed(np.zeros(len(folds), np.int64), np.zeros(len(folds), np.int64))
    for fold in np.unique(folds):
        own = folds == fold
        found = pass_gate(cases.take(own), choose_gate(cases.take(~own)))
        passed.sides[own], passed.members[own] = found.sides, found.members
    return passed


def group_chance(cases: Cases) -> Chance:
    """How likely a group is to hold a right answer; a question with two groups counts each half."""
    second = cases.differ
    rows = np.concatenate([cases.standings[:, VOTED], cases.standings[second, OWN]])
    right = np.concatenate([cases.groups[:, VOTED], cases.groups[second, OWN]]) > 0.5
    shares = np.where(second, 0.5, 1.0)
    return _fitted(rows, right, np.concatenate([shares, shares[second]]))


def answer_chance(cases: Cases, passed: Passed) -> Chance:
    """How likely the returned answers are right."""
    return _fitted(passed.standings(cases), passed.answers(cases) > 0.5, np.ones(len(passed.sides)))


def _fitted(rows: Floats, right: NDArray[np.bool_], weights: Floats) -> Chance:
    # Where there is nothing to choose, nothing can be learned about choosing.
    known = rows[:, -1] > 0
    if not known.any():
        return Chance((0.0,) * len(COLUMNS))
    rows, right, weights = rows[known], right[known], weights[known]
    # One imagined average question of each kind: no run of luck makes anything certain.
    rows = np.concatenate([rows, np.repeat(np.average(rows, axis=0, weights=weights)[None], 2, axis=0)])
    right, weights = np.append(right, [True, False]), np.append(weights, [1.0, 1.0])
    found = fit_calibration(rows, right, weights, l2=_L2)
    scaled = found["weights"] / found["scale"]
    scaled[-1] -= float((scaled[:-1] * found["center"][:-1]).sum())
    return Chance(tuple(scaled.tolist()))


def chances_of(chance: Chance, standings: Floats) -> Floats:
    """``Chance.of`` for arrays whose last axis are the columns."""
    found: Floats = 1 / (1 + np.exp(-np.clip(standings @ np.array(chance.weights), -30, 30)))
    return found
