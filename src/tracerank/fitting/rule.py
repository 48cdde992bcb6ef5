"""Which rung wins: outcomes per question of votes and rungs, and the rule that picks one of them.

The rule: the simplest rung whose answers are within one standard error of the best rung's, gated as they will be. It
must be better than the better vote at all; with few questions its interval must exclude zero. Otherwise the vote.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tracerank.evaluation.bootstrap import intervals
from tracerank.selectors.gate.fit import VOTED, Cases, Passed

Floats = NDArray[np.float64]

VOTE = "better vote"
WHOLE = "fit"
"""The row of the whole procedure: on each fold what it would have picked by looking at the others."""
FEW_QUESTIONS = 50
"""Below this a difference of ten points is within chance."""
RULE = (
    "the simplest rung within one standard error (of the paired difference) of the best, gated; the vote unless it is "
    f"better, and with fewer than {FEW_QUESTIONS} questions unless the 95% interval of the gain excludes zero"
)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How right a vote or a rung is on each question that it was not fitted on; empty: it could not be fitted."""

    name: str
    alone: Floats = field(default_factory=lambda: np.zeros(0))
    """Correctness of the answers that it chooses itself."""
    alone_groups: Floats = field(default_factory=lambda: np.zeros(0))
    """Of the best answer of the group that it chooses."""
    gated: Floats = field(default_factory=lambda: np.zeros(0))
    """The same, where it follows the vote unless a gate chosen on other folds lets it pass."""
    gated_groups: Floats = field(default_factory=lambda: np.zeros(0))
    left: Floats = field(default_factory=lambda: np.zeros(0))
    """1 where the gate lets it leave the vote's group."""
    is_rung: bool = True
    """False: a form of the vote, listed for comparison."""
    seconds: float | None = None
    """Fitting and deciding on all folds; None: nothing is fitted."""
    problem: str | None = None
    """Why it could not be fitted."""

    @staticmethod
    def plain(cases: Cases) -> Passed:
        """Nothing is gated: the vote's side everywhere, by its own rule."""
        return Passed(np.zeros(len(cases.differ), np.int64), np.zeros(len(cases.differ), np.int64))

    @classmethod
    def of_votes(cls, name: str, cases: Cases) -> "Outcomes":
        right, groups = cls.plain(cases).answers(cases), cases.groups[:, VOTED]
        return cls(name, right, groups, right, groups, np.zeros(len(right)), is_rung=name == VOTE)

    @classmethod
    def of_gated(cls, name: str, alone: Cases, cases: Cases, passed: Passed, seconds: float) -> "Outcomes":
        groups = cases.groups[np.arange(len(passed.sides)), passed.sides]
        return cls(
            name,
            cls.plain(alone).answers(alone),
            alone.groups[:, VOTED],
            passed.answers(cases),
            groups,
            passed.sides.astype(np.float64),
            seconds=seconds,
        )

    def take(self, where: NDArray[np.bool_]) -> "Outcomes":
        """On some of the questions."""
        if self.problem is not None:
            return self
        return replace(
            self,
            alone=self.alone[where],
            alone_groups=self.alone_groups[where],
            gated=self.gated[where],
            gated_groups=self.gated_groups[where],
            left=self.left[where],
        )

    @classmethod
    def failed(cls, name: str, problem: str) -> "Outcomes":
        return cls(name, problem=problem)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; shares between 0 and 1, unrounded. None: nothing is gated, or it could not be fitted."""

    name: str
    alone: float | None = None
    alone_group: float | None = None
    gated: float | None = None
    gated_group: float | None = None
    left: float | None = None
    """Share of questions on which it leaves the vote's group."""
    against: float | None = None
    """As it would be returned, less the better vote."""
    low: float | None = None
    high: float | None = None
    """Paired 95% interval of the difference."""
    group_against: float | None = None
    group_low: float | None = None
    group_high: float | None = None
    """The same for groups."""
    seconds: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who won and why."""

    winner: str
    best: str
    """The rung with the most right answers."""
    reason: str
    questions: int
    rows: tuple[Row, ...]
    """Votes and rungs from simple to complex, last the whole procedure."""

    @property
    def is_too_few(self) -> bool:
        return self.questions < FEW_QUESTIONS

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)


def judge(outcomes: Sequence[Outcomes], folds: NDArray[np.int64], questions: int) -> Verdict:
    """The table and its winner; the outcomes stand from simple to complex."""
    winner, best, reason = _winner(outcomes, questions)
    vote = _vote_of(outcomes)
    whole = Outcomes(WHOLE, gated=vote.gated.copy(), gated_groups=vote.gated_groups.copy(), left=np.zeros(len(folds)))
    for fold in np.unique(folds):
        own = folds == fold
        picked, _, _ = _winner([one.take(~own) for one in outcomes], questions)
        found = next(one for one in outcomes if one.name == picked).take(own)
        whole.gated[own], whole.gated_groups[own], whole.left[own] = found.gated, found.gated_groups, found.left
    return Verdict(winner, best, reason, questions, _rows([*outcomes, whole], vote))


def _winner(outcomes: Sequence[Outcomes], questions: int) -> tuple[str, str, str]:
    """The winner, the best, and why it is the winner."""
    vote = _vote_of(outcomes)
    ladder = [one for one in outcomes if one.is_rung and one.problem is None]
    best = max(ladder, key=lambda one: round(float(one.gated.mean()), 9))
    winner = next(one for one in ladder if _is_near(one.gated, best.gated))
    gain = winner.gated - vote.gated
    if winner is not vote and gain.mean() <= 0:
        return VOTE, best.name, f"{winner.name} is no better than the vote on questions that it was not fitted on"
    if winner is not vote and questions < FEW_QUESTIONS and not intervals(gain[:, None]).low[0] > 0:
        return VOTE, best.name, f"with {questions} questions the gain of {winner.name} cannot be told from chance"
    rivals = "the best" if winner is best else f"within one standard error of the best, {best.name}"
    return winner.name, best.name, f"{winner.name} is {rivals}, and nothing simpler is"


def _vote_of(outcomes: Sequence[Outcomes]) -> Outcomes:
    return next(one for one in outcomes if one.name == VOTE)


def _is_near(values: Floats, best: Floats) -> bool:
    behind = best - values
    error = float(behind.std(ddof=1)) / sqrt(len(behind)) if len(behind) > 1 else 0.0
    # One question more or less is exactly one standard error.
    return round(float(behind.mean()), 9) <= round(error, 9)


def _rows(outcomes: Sequence[Outcomes], vote: Outcomes) -> tuple[Row, ...]:
    measured = [one for one in outcomes if one.problem is None]
    columns = [gap for one in measured for gap in (one.gated - vote.gated, one.gated_groups - vote.gated_groups)]
    bounds = intervals(np.column_stack(columns))
    found = {}
    for number, one in enumerate(measured):
        answer, group = 2 * number, 2 * number + 1
        is_gated = one.seconds is not None or one.name == WHOLE
        found[one.name] = Row(
            one.name,
            _mean(one.alone),
            _mean(one.alone_groups),
            _mean(one.gated) if is_gated else None,
            _mean(one.gated_groups) if is_gated else None,
            _mean(one.left) if is_gated else None,
            _mean(columns[answer]),
            float(bounds.low[answer]),
            float(bounds.high[answer]),
            _mean(columns[group]),
            float(bounds.low[group]),
            float(bounds.high[group]),
            one.seconds,
        )
    return tuple(found.get(one.name) or Row(one.name, problem=one.problem) for one in outcomes)


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None
