"""Stopping rules as values: a fixed number, two rules from the literature, and the expected gain of continuing.

A rule looks at what is known after some rollouts (``State``) and how many are left, and answers with a reason in words.
All rules count meanings, not strings.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from tracerank.errors import UsageError
from tracerank.evidence.model import Logistic
from tracerank.votes.folders import SHIPPED, folder_of, read_description

FORMAT = "tracerank-stopping/1"
RECOVERY = "stopping.json"
"""Beside the shipped weights: how often the rest of a budget corrects a wrong answer."""
COLUMNS = ("lead", "rollouts", "spread", "agrees", "changed", "left")
"""Log odds that the largest meaning stays the largest; log of the number of rollouts; meanings besides the first over
votes; whether the last rollout agrees with the choice, and whether it changed it; log of the rollouts left."""
WITHIN = 0.02
"""Accuracy that may be lost against spending the whole budget, by default."""
MAX_LEAD = 6.2
"""Log odds."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known after some rollouts."""

    rollouts: int
    """All of them, including failed ones."""
    votes: tuple[int, ...] = ()
    """Of each meaning, the largest first."""
    confidence: float | None = None
    """In the answer that would be returned now, or its rank score; None: unknown."""
    agrees: bool = False
    """Whether the last rollout gave that answer."""
    changed: bool = False
    """Whether the last rollout changed the choice."""
    run: int = 0
    """How many of the last rollouts in a row have the same meaning."""

    @property
    def lead(self) -> float:
        """The probability that the largest meaning would also be the largest of many rollouts.

        For two meanings with a and b votes: that a coin with Beta(a + 1, b + 1) shows heads more often than not.
        """
        first, second = (*self.votes, 0, 0)[:2]
        tosses = first + second + 1
        return float(sum(math.comb(tosses, heads) for heads in range(first + 1)) / 2**tosses)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to run another rollout, and why; true if so."""

    continues: bool
    reason: str

    def __bool__(self) -> bool:
        return self.continues


class Rule(Protocol):
    """Decides when to stop; deterministic, and sees no label."""

    @property
    def name(self) -> str: ...

    def verdict(self, state: State, left: int) -> Verdict:
        """Whether to run one of the rollouts that are left; there is at least one."""
        ...


@dataclass(frozen=True, slots=True)
class FixedK:
    """A fixed number of rollouts."""

    k: int

    @property
    def name(self) -> str:
        return f"fixed {self.k}"

    def verdict(self, state: State, left: int) -> Verdict:
        if state.rollouts < self.k:
            return Verdict(True, f"{state.rollouts} of {self.k} rollouts")
        return Verdict(False, f"all {self.k} rollouts")


@dataclass(frozen=True, slots=True)
class BetaRule:
    """Adaptive-Consistency (Aggarwal et al., 2023): until the largest meaning is likely enough to stay the largest."""

    threshold: float = 0.95

    @property
    def name(self) -> str:
        return f"Beta {self.threshold:g}"

    def verdict(self, state: State, left: int) -> Verdict:
        leads = f"the largest meaning leads with {state.lead:.1%}"
        if state.votes and state.lead >= self.threshold:
            return Verdict(False, f"{leads}, at least {self.threshold:.1%}")
        return Verdict(True, f"{leads}, below {self.threshold:.1%}")


@dataclass(frozen=True, slots=True)
class WindowRule:
    """Early-stopping self-consistency (Li et al., 2024): until all rollouts of a window mean the same."""

    size: int = 5

    @property
    def name(self) -> str:
        return f"window {self.size}"

    def verdict(self, state: State, left: int) -> Verdict:
        if state.rollouts % self.size == 0 and state.run >= self.size:
            return Verdict(False, f"the last {self.size} rollouts mean the same")
        return Verdict(True, f"no window of {self.size} rollouts means the same yet")


def columns_of(state: State, left: int) -> dict[str, float]:
    """The values of ``COLUMNS``; at least one rollout must have an answer."""
    lead = math.log(state.lead / (1 - state.lead)) if state.lead < 1 else MAX_LEAD
    spread = (len(state.votes) - 1) / (sum(state.votes) + 1)
    flags = float(state.agrees), float(state.changed)
    values = (min(lead, MAX_LEAD), math.log(state.rollouts), spread, *flags, math.log(left))
    return dict(zip(COLUMNS, values, strict=True))


@cache
def shipped_recovery() -> Logistic:
    """The probability that the rollouts left correct an answer that is wrong now, in ``COLUMNS``."""
    return Logistic.of_record(read_description(folder_of(SHIPPED) / RECOVERY, FORMAT, "stopping rule"), COLUMNS)


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """Stop when the expected gain, P(the answer is wrong) times P(more rollouts correct it), is too small.

    Give at most one of the limits; without one, ``within`` is 0.02.
    """

    within: float | None = None
    """Accuracy that may be lost against the whole budget."""
    price: float | None = None
    """Accuracy that a further rollout must bring."""
    target: float | None = None
    """A confidence that is enough."""

    def __post_init__(self) -> None:
        given = [value for value in (self.within, self.price, self.target) if value is not None]
        if len(given) > 1 or any(not 0 <= value <= 1 for value in given):
            raise UsageError("when to stop: give one of within, price and target, between 0 and 1")

    @property
    def name(self) -> str:
        if self.price is not None:
            return f"gain above {self.price:g} a rollout"
        if self.target is not None:
            return f"confidence {self.target:g}"
        return f"gain within {WITHIN if self.within is None else self.within:g}"

    def gain(self, state: State, left: int) -> float:
        """Expected accuracy gain of so many further rollouts; the state has votes and a confidence."""
        return (1 - (state.confidence or 0.0)) * shipped_recovery().probability(columns_of(state, left))

    def verdict(self, state: State, left: int) -> Verdict:
        if not state.votes:
            return Verdict(True, "no rollout has answered yet")
        if state.confidence is None:
            return Verdict(True, "such answers have no calibrated confidence")
        known = f"confidence {state.confidence:.0%}"
        if self.target is not None:
            enough = state.confidence >= self.target
            return Verdict(not enough, f"{known}, {'at least' if enough else 'below'} {self.target:.0%}")
        if self.price is not None:
            gain, limit = max(self.gain(state, count) / count for count in range(1, left + 1)), self.price
            said, wanted = f"a further rollout brings at most {gain:.2%}", "than its price"
        else:
            gain, limit = self.gain(state, left), WITHIN if self.within is None else self.within
            said, wanted = f"the other {left} rollouts would bring {gain:.1%}", "than is asked for"
        return Verdict(gain > limit, f"{known}; {said}, {'more' if gain > limit else 'no more'} {wanted}")
