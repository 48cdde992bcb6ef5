"""Questions on which two methods differ in meaning, and how much more often one is right than the other."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracerank.answers.exact import normalize_answer
from tracerank.answers.meaning.grouping import same_answer
from tracerank.evaluation.bootstrap import intervals
from tracerank.evaluation.evaluate import judge
from tracerank.pools.pool import Pool
from tracerank.votes.base import Decision
from tracerank.votes.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Side:
    """One method's answer on a pool."""

    answer: str | None
    """None: the pool has no candidate."""
    is_right: bool
    votes: int
    """Rollouts with an answer that counts as the same."""
    held_by: int
    """Rollouts that saw a text which holds one of those answers."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question on which the two differ in meaning."""

    pool: Pool
    vote: Side
    other: Side
    reason: str | None
    """The strongest reason for the other's choice; None: it gives no reasons."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more often one method is right than another, with the 95% interval of paired questions."""

    gain: float
    low: float
    high: float
    questions: int

    @property
    def verdict(self) -> str:
        """What the interval allows to say."""
        if self.low > 0:
            return "right more often"
        return "right less often" if self.high < 0 else f"{self.questions} questions show no difference"


def disagreements(
    pools: Iterable[Pool], votes: Iterable[Decision], explained: Iterable[Explanation]
) -> Iterator[Disagreement]:
    """The pools on which a vote and the explained method differ in meaning, in their order."""
    for pool, vote, explanation in zip(pools, votes, explained, strict=True):
        other = explanation.decision
        if not means_the_same(pool, vote, other):
            reason = explanation.reasons[0].meaning if explanation.reasons else None
            yield Disagreement(pool, _side(pool, vote, explanation), _side(pool, other, explanation), reason)


def means_the_same(pool: Pool, one: Decision, other: Decision) -> bool:
    """Whether two decisions return the same meaning: by the other's group, by exact match or by the question."""
    if one.sample_id is not None and one.sample_id in (other.sample_id, *other.group):
        return True
    return normalize_answer(one.answer) == normalize_answer(other.answer) or same_answer(
        pool.question.text, one.answer, other.answer
    )


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """Of two methods on the same questions in the same order, each between 0 and 1."""
    gains = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    found = intervals(gains[:, None])
    return Difference(float(gains.mean()), float(found.low[0]), float(found.high[0]), len(gains))


def _side(pool: Pool, decision: Decision, explanation: Explanation) -> Side:
    members: Collection[int] = decision.group or (() if decision.sample_id is None else (decision.sample_id,))
    holding = {
        seen.evidence.text
        for each in explanation.rollouts
        if each.rollout.sample_id in members
        for seen in each.evidence
        if seen.weight
    }
    held_by = sum(any(seen.evidence.text in holding for seen in each.evidence) for each in explanation.rollouts)
    return Side(decision.answer, (judge(pool, decision).correct or 0.0) >= 0.5, len(members), held_by)
