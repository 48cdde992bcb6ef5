"""The seam to whatever makes rollouts: a question and sample numbers in, rollouts out.

Keeps no files and resumes nothing; the runner does.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from tracerank.pools.types import Question, Rollout


class Policy(Protocol):
    """An agent that can be sampled."""

    @property
    def name(self) -> str:
        """Settles, with seed and question, what is sampled: ``lexical:base``, ``chat:URL#model:tags``."""
        ...

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, in their order."""
        ...
