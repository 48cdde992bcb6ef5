"""Rules that say when to stop, as values: a fixed number, two of the literature, and the expected gain of going on.

A rule sees what is known after some rollouts (``State``) and how many are left, and answers with the reason in words.
All of them count meanings, not strings.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from tracerank.errors import CheckpointError, UsageError
from tracerank.votes.folders import SHIPPED, checked_description, folder_of, read_description, write_description

FORMAT = "tracerank-stopping/1"
MENDING = "stopping.json"
"""Beside the shipped weights: how often the rest of a budget mends a wrong answer."""
LEAD, ROLLOUTS, SPREAD, AGREES, CHANGED, LEFT = "lead", "rollouts", "spread", "agrees", "changed", "left"
COLUMNS = (LEAD, ROLLOUTS, SPREAD, AGREES, CHANGED, LEFT)
"""Log odds that the largest meaning stays so; logs of the rollouts that there are and that are left; meanings besides
the first over votes; whether the last rollout agrees with the choice, and whether it changed it."""
WITHIN = 0.02
"""Accuracy that may be lost against spending the whole budget, unless the user says otherwise."""
_ODDS = 6.2


@dataclass(frozen=True, slots=True)
class State:
    """What is known after some rollouts."""

    rollouts: int
    """All of them, failed ones among them."""
    votes: tuple[int, ...] = ()
    """Of each meaning, the largest first."""
    confidence: float | None = None
    """In the answer that would be returned now; None: nothing can be said."""
    agrees: bool = False
    """Whether the last rollout gave that answer."""
    changed: bool = False
    """Whether it was another one before the last rollout."""
    run: int = 0
    """How many of the last rollouts in a row mean the same."""

    @property
    def lead(self) -> float:
        """The chance that the largest meaning is the one that most rollouts would give, were there many.

        Of two meanings with a and b votes: that a coin with Beta(a + 1, b + 1) shows heads more often than not.
        """
        first, second = (*self.votes, 0, 0)[:2]
        tosses = first + second + 1
        return float(sum(math.comb(tosses, heads) for heads in range(first + 1)) / 2**tosses)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to go on, and why."""

    goes_on: bool
    reason: str

    def __bool__(self) -> bool:
        return self.goes_on


class Rule(Protocol):
    """Says when to stop; deterministic, and sees no label."""

    @property
    def name(self) -> str: ...

    def verdict(self, state: State, left: int) -> Verdict:
        """Whether one of the rollouts that are left is to be run, of which there is at least one."""
        ...


@dataclass(frozen=True, slots=True)
class FixedK:
    """So many rollouts, whatever they say."""

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
    """Adaptive-Consistency (Aggarwal et al., 2023): until the largest meaning is sure to be the majority's."""

    threshold: float = 0.95

    @property
    def name(self) -> str:
        return f"Beta {self.threshold:g}"

    def verdict(self, state: State, left: int) -> Verdict:
        said = f"the largest meaning leads with {state.lead:.1%}"
        if state.votes and state.lead >= self.threshold:
            return Verdict(False, f"{said}, at least {self.threshold:.1%}")
        return Verdict(True, f"{said}, below {self.threshold:.1%}")


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


@dataclass(frozen=True, slots=True)
class Mending:
    """How likely rollouts that are left mend an answer that is wrong now: logistic in ``COLUMNS``."""

    weights: Mapping[str, float]
    bias: float
    training: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.weights) != set(COLUMNS) or not all(map(math.isfinite, (*self.weights.values(), self.bias))):
            raise ValueError(f"mending needs finite weights of {', '.join(COLUMNS)}")

    def chance(self, state: State, left: int) -> float:
        row = zip(COLUMNS, columns_of(state, left), strict=True)
        odds = self.bias + math.fsum(self.weights[name] * value for name, value in row)
        return 1 / (1 + math.exp(-odds))

    def save(self, folder: str | Path) -> None:
        about = {"weights": dict(self.weights), "bias": self.bias, "training": dict(self.training)}
        write_description(Path(folder) / MENDING, {"format": FORMAT, **about})


def columns_of(state: State, left: int) -> tuple[float, ...]:
    """The values of ``COLUMNS``; some rollout must have an answer."""
    sure = state.lead
    odds = math.log(sure / (1 - sure)) if sure < 1 else _ODDS
    spread = (len(state.votes) - 1) / (sum(state.votes) + 1)
    logs = math.log(state.rollouts), math.log(left)
    return min(odds, _ODDS), logs[0], spread, float(state.agrees), float(state.changed), logs[1]


def read_mending(folder: str | Path) -> Mending:
    """From a folder that ``save`` wrote."""
    path = folder_of(folder) / MENDING
    about = read_description(path, FORMAT, "rule when to stop")
    with checked_description(path):
        weights = {str(name): float(weight) for name, weight in about["weights"].items()}
        return Mending(weights, float(about["bias"]), dict(about["training"]))


@cache
def shipped_mending() -> Mending:
    """What comes with the package."""
    try:
        return read_mending(SHIPPED)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; install the package again") from None


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """Until going on is not worth it: the chance that the answer is wrong, times that more rollouts mend it.

    ``within`` is the accuracy that may be lost against the whole budget, ``price`` the accuracy that one rollout must
    bring, ``target`` a confidence that is enough; give one of them, or none for ``WITHIN``.
    """

    within: float | None = None
    price: float | None = None
    target: float | None = None
    mending: Mending | None = None
    """None: what ships."""

    def __post_init__(self) -> None:
        given = [value for value in (self.within, self.price, self.target) if value is not None]
        if len(given) > 1 or any(not 0 <= value <= 1 for value in given):
            raise UsageError("when to stop: give one of within, price and target, between 0 and 1")

    @property
    def name(self) -> str:
        if self.price is not None:
            return f"gain above {self.price:g} a rollout"
        return f"confidence {self.target:g}" if self.target is not None else f"gain within {self._within:g}"

    @property
    def _within(self) -> float:
        return WITHIN if self.within is None else self.within

    def gains(self, state: State, lefts: Sequence[int]) -> list[float]:
        """Accuracy that each number of further rollouts is expected to bring; everything where nothing is known."""
        if state.confidence is None or not state.votes:
            return [1.0 for _ in lefts]
        mending = self.mending or shipped_mending()
        return [(1 - state.confidence) * mending.chance(state, left) for left in lefts]

    def verdict(self, state: State, left: int) -> Verdict:
        if not state.votes:
            return Verdict(True, "no rollout has answered yet")
        if state.confidence is None:
            return Verdict(True, "nothing calibrated is known of such answers")
        sure = f"confidence {state.confidence:.0%}"
        if self.target is not None:
            enough = state.confidence >= self.target
            return Verdict(not enough, f"{sure}, {'at least' if enough else 'below'} {self.target:.0%}")
        if self.price is not None:
            best = max(gain / after for after, gain in enumerate(self.gains(state, range(1, left + 1)), start=1))
            told = f"{sure}; a further rollout brings at most {best:.2%}"
            return Verdict(best > self.price, f"{told}, {'more' if best > self.price else 'no more'} than its price")
        [gain] = self.gains(state, [left])
        told = f"{sure}; the other {left} rollouts would bring {gain:.1%}"
        return Verdict(gain > self._within, f"{told}, {'more' if gain > self._within else 'no more'} than is asked for")
