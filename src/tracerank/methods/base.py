"""What settles a pool, and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tracerank.pools.pool import Pool


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer a method returns for a pool."""

    question_id: str
    answer: str | None
    """None: the pool has no candidate."""
    sample_id: int | None
    """The rollout that gave the answer."""
    scores: Mapping[int, float] = field(default_factory=dict)
    """Sample id to score, for every retained candidate."""
    dropped: Mapping[int, str] = field(default_factory=dict)
    """Sample id to the reason why it was no candidate."""


class Method(Protocol):
    """Any way to settle a pool."""

    name: str

    def decide(self, pool: Pool) -> Decision: ...
