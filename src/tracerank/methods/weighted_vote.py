"""Confidence-weighted voting: confidences summed within each group of equal answers (App. A.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from statistics import fmean

from tracerank.endpoints.messages import Usage
from tracerank.methods.answer_groups import AnswerGrouping
from tracerank.methods.base import Decision
from tracerank.methods.confidence import READ_SOURCES, ConfidenceSource, Estimate, first_estimate
from tracerank.methods.voting import Ballot, WithoutAbstentions, vote_name
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout


class WeightedVote:
    """A rollout of the group with the largest sum of confidences; ties go to the earliest group.

    A rollout whose confidence no source knows weighs as much as the others do on average; where nobody's is known all
    weigh one, which is the plain vote. The decision's note says so. Abstentions have no vote, as in ``MajorityVote``.
    """

    def __init__(
        self,
        sources: Sequence[ConfidenceSource] = READ_SOURCES,
        grouping: AnswerGrouping | None = None,
        form: str = "first",
        concurrency: int = 1,
        kind: str = "weighted",
    ) -> None:
        """``concurrency``: rollouts of a question that are estimated at once; ``kind``: what its name begins with."""
        self.sources = tuple(sources)
        self.grouping = WithoutAbstentions() if grouping is None else grouping
        self.form = form
        self.concurrency = concurrency
        self.name = vote_name(kind, self.grouping, form)

    def decide(self, pool: Pool) -> Decision:
        ballot = Ballot.of(pool, self.grouping)
        estimate = partial(first_estimate, self.sources, pool.question.text)
        kept = ballot.retained.kept
        weighed = _weigh(_each(estimate, kept, self.concurrency))
        decision = ballot.settle(weighed.weights, self.form)
        notes = "; ".join(filter(None, (decision.note, weighed.note)))
        return replace(decision, note=notes or None, usage=weighed.usage)


def _each(
    estimate: Callable[[Rollout], Estimate | None], rollouts: Sequence[Rollout], concurrency: int
) -> list[Estimate | None]:
    if concurrency == 1:
        return list(map(estimate, rollouts))
    from tracerank.methods.aggregation.asking import all_of  # threads, for which a plain vote shall not wait

    return all_of(estimate, rollouts, concurrency)


@dataclass(frozen=True, slots=True)
class _Weighed:
    weights: tuple[float, ...]
    note: str | None
    usage: Usage | None


def _weigh(found: Sequence[Estimate | None]) -> _Weighed:
    known = [estimate.value for estimate in found if estimate is not None]
    stand_in = fmean(known) if known else 1.0
    missing = len(found) - len(known)
    note = None
    if missing and known:
        note = f"{missing} of {len(found)} confidences unknown, taken as the mean of the others ({stand_in:.3g})"
    elif missing:
        note = "no confidence known: every vote weighs one"
    spent = [estimate.usage for estimate in found if estimate is not None and estimate.usage is not None]
    weights = tuple(stand_in if estimate is None else estimate.value for estimate in found)
    return _Weighed(weights, note, reduce(add, spent) if spent else None)
