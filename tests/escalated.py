"""Who is asked where a selector is unsure, in tests of what is told about it."""

from dataclasses import dataclass

from tracerank.endpoints.chat import Usage
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision


@dataclass
class Judge:
    """Says one answer, whoever gave it, and what that cost."""

    says: str
    name: str = "judge"

    def decide(self, pool: Pool) -> Decision:
        chosen = next((one.sample_id for one in pool.rollouts if one.answer == self.says), None)
        return Decision(pool.question.id, self.says, chosen, usage=Usage(30, 2))
