"""Where two methods say different things: by meaning, never by wording, with what each is worth and what speaks for it.

Takes decisions that were made; decides and prints nothing. A pool is listed when the two answers differ in meaning,
whichever of them is right.
"""

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
    """What one of the two says on a pool."""

    answer: str | None
    """None: the pool has no candidate."""
    is_right: bool
    votes: int
    """Rollouts with an answer that it takes for the same."""
    held_by: int
    """Rollouts that saw a text which holds one of those answers."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question on which the two differ in meaning."""

    pool: Pool
    vote: Side
    other: Side
    reason: str | None
    """What spoke most for the other's choice; None: it gives no reasons."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more often one method is right than another, of paired questions, with its interval."""

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
    """The pools on which a vote and the method that was explained differ in meaning, in their order."""
    for pool, vote, explanation in zip(pools, votes, explained, strict=True):
        other = explanation.decision
        if not means_the_same(pool, vote, other):
            reason = explanation.reasons[0].meaning if explanation.reasons else None
            yield Disagreement(pool, _side(pool, vote, explanation), _side(pool, other, explanation), reason)


def means_the_same(pool: Pool, one: Decision, other: Decision) -> bool:
    """Whether two decisions return the same meaning, by their wording, by the other's groups or by themselves."""
    if one.sample_id is not None and one.sample_id in (other.sample_id, *other.group):
        return True
    if normalize_answer(one.answer) == normalize_answer(other.answer):
        return True
    return same_answer(pool.question.text, one.answer, other.answer)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """Of two methods on the same questions in the same order, each between 0 and 1."""
    gains = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    found = intervals(gains[:, None])
    return Difference(float(gains.mean()), float(found.low[0]), float(found.high[0]), len(gains))


def _side(pool: Pool, decision: Decision, explanation: Explanation) -> Side:
    correct = judge(pool, decision).correct or 0.0
    members = decision.group or (() if decision.sample_id is None else (decision.sample_id,))
    return Side(decision.answer, correct >= 0.5, len(members), _held_by(explanation, members))


def _held_by(explanation: Explanation, members: Collection[int]) -> int:
    """Rollouts that saw one of the texts which, by the explanation, hold an answer of the members."""
    holding = {
        seen.evidence.text
        for each in explanation.rollouts
        if each.rollout.sample_id in members
        for seen in each.evidence
        if seen.weight
    }
    return sum(any(seen.evidence.text in holding for seen in each.evidence) for each in explanation.rollouts)
