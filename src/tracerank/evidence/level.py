"""How good an agent is, by how often its rollouts agree over many questions; no label is looked at.

Over real agents of many strengths agreement and accuracy hardly differ (``studies.shipped_weights.confidence`` prints
both). It can be wrong where rollouts err together, such as runs of one model on questions that mislead it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from tracerank.answers.equivalence import NO_GROUP
from tracerank.pools.pool import Pool
from tracerank.votes.answer_groups import MeaningGroups
from tracerank.votes.voting import Ballot

MIN_POOLS, MAX_POOLS = 10, 200
"""Pools with two rollouts or more that an estimate needs, and that are looked at."""
SLOPE, BIAS, SPREAD = 1.16, -0.01, 0.29
"""Log odds that a rollout is right, by those of the agreement; how far off they are for agents that were left out."""
_LOWEST = 0.02
_TWO_SIDED = 1.96


def log_odds(share: float) -> float:
    """Of a share, bounded."""
    bounded = min(max(share, _LOWEST), 1 - _LOWEST)
    return math.log(bounded / (1 - bounded))


@dataclass(frozen=True, slots=True)
class Level:
    """What the user's pools say of their agent."""

    agreement: float
    """Probability that two rollouts on one question mean the same; failed ones and abstentions never agree."""
    error: float
    """Its standard error over questions."""
    pools: int

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """Estimated share of right rollouts, with a 95% interval."""
        middle = SLOPE * log_odds(self.agreement) + BIAS
        sampled = SLOPE * self.error / max(self.agreement * (1 - self.agreement), _LOWEST)
        reach = _TWO_SIDED * math.hypot(SPREAD, sampled)
        low, high = (1 / (1 + math.exp(-odds)) for odds in (middle - reach, middle + reach))
        return 1 / (1 + math.exp(-middle)), low, high

    @property
    def sentence(self) -> str:
        """For a terminal."""
        estimate, low, high = (f"{100 * share:.0f}" for share in self.accuracy)
        return (
            f"about {estimate}% of the rollouts are right [{low}, {high}], estimated from how often two agree "
            f"({100 * self.agreement:.0f}%, {self.pools:,} questions); no label was looked at"
        )

    def record(self) -> dict[str, Any]:
        """In plain values."""
        estimate, low, high = self.accuracy
        return {"agreement": self.agreement, "pools": self.pools, "accuracy": estimate, "low": low, "high": high}


class LevelTally:
    """Agreement, pool by pool."""

    def __init__(self) -> None:
        self._found: list[float] = []

    def add(self, pool: Pool) -> None:
        if len(pool) > 1 and len(self._found) < MAX_POOLS:
            sizes = Counter(group for group in Ballot.of(pool, MeaningGroups()).groups if group != NO_GROUP)
            self._found.append(sum(size * (size - 1) for size in sizes.values()) / (len(pool) * (len(pool) - 1)))

    def level(self) -> Level | None:
        """None: too few pools."""
        count = len(self._found)
        if count < MIN_POOLS:
            return None
        mean = math.fsum(self._found) / count
        variance = math.fsum((each - mean) ** 2 for each in self._found) / (count - 1)
        return Level(mean, math.sqrt(variance / count), count)


def estimate_level(pools: Iterable[Pool]) -> Level | None:
    """The level of an agent by the first ``MAX_POOLS`` of its pools; None: there are fewer than ``MIN_POOLS``."""
    tally = LevelTally()
    for pool in islice(pools, MAX_POOLS):
        tally.add(pool)
    return tally.level()


def read_ahead(pools: Iterable[Pool]) -> tuple[Level | None, Iterator[Pool]]:
    """The level by the first pools of a stream, and all of its pools."""
    source = iter(pools)
    first = list(islice(source, MAX_POOLS))
    return estimate_level(first), chain(first, source)
