"""Answer-level votes: what a selector has to beat."""

from tracerank.methods.base import Decision
from tracerank.pools.pool import Pool
from tracerank.pools.types import RetentionRule

ANSWERED = RetentionRule(needs_evidence=False)
"""A vote needs no evidence: every nonempty answer counts."""


class MajorityVote:
    """The first rollout of the largest group of equal normalised answers; ties go to the earliest group."""

    name = "majority"

    def decide(self, pool: Pool) -> Decision:
        retained = pool.retained(ANSWERED)
        scores = {
            rollout.sample_id: float(candidate.votes)
            for rollout, candidate in zip(retained.kept, retained.candidates(), strict=True)
        }
        # max() keeps the first of equals, which is the paper's tie rule.
        winner = max(retained.kept, key=lambda rollout: scores[rollout.sample_id], default=None)
        if winner is None:
            return Decision(pool.question.id, None, None, dropped=retained.dropped)
        return Decision(pool.question.id, winner.answer, winner.sample_id, scores, retained.dropped)
