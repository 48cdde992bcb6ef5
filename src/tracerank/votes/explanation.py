"""Why a decision was made: scores, how much each answer read of its evidence, and how widely it is shared.

A shape that any method can fill. Weights come from methods that read evidence; the vote has none. Formats nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, runtime_checkable

from tracerank.errors import UndecidedPool
from tracerank.pools.documents import link_documents
from tracerank.pools.pool import Pool
from tracerank.pools.types import Evidence, Rollout
from tracerank.votes.answer_groups import AnswerGrouping
from tracerank.votes.base import Decision, Method, OnFailure, decide_stream, settled, undecided

ATTENTION, SUPPORT = "attention", "support"
"""What weights mean: where an answer looked, or which texts hold it beside what was asked."""


@dataclass(frozen=True, slots=True)
class ReadWeights:
    """How an answer's attention is spread over one rollout; together 1 where that is all it read."""

    searches: tuple[float | None, ...]
    """One for each search of the rollout; None: the method does not look at it."""
    evidence: tuple[tuple[float, ...], ...]
    """For each search, one for each of its evidence."""


@dataclass(frozen=True, slots=True)
class ExplainedEvidence:
    """One occurrence of evidence, with what it weighed and who else saw it."""

    search: int
    """Index of its search in the rollout."""
    index: int
    """Index among the evidence of that search."""
    evidence: Evidence
    weight: float | None
    """None: the method weighs no evidence."""
    same_text: int
    """How many other candidate rollouts saw the same text."""
    same_document: int
    """How many other candidate rollouts saw any part of the same document; 0 where documents are unknown."""


@dataclass(frozen=True, slots=True)
class ExplainedRollout:
    """A candidate rollout and what its answer rests on."""

    rollout: Rollout
    """With documents resolved as the method saw them."""
    score: float | None
    """None: the method gives no score."""
    search_weights: tuple[float | None, ...]
    """One for each search; None: not weighed."""
    evidence: tuple[ExplainedEvidence, ...]
    """In the order in which it was seen."""

    def strongest(self, count: int) -> tuple[ExplainedEvidence, ...]:
        """The evidence that weighs most, each text once; without weights, what most other rollouts saw, too."""
        weights: dict[str, float] = defaultdict(float)
        for seen in self.evidence:
            weights[seen.evidence.text] += seen.weight or 0.0
        first = {seen.evidence.text: seen for seen in reversed(self.evidence)}
        ranked = sorted(
            (first[text] for text in weights),
            key=lambda seen: (-weights[seen.evidence.text], -seen.same_text, -seen.same_document),
        )
        return tuple(ranked[:count])


@dataclass(frozen=True, slots=True)
class Reason:
    """One respect in which the chosen answer differs from the best other one."""

    name: str
    meaning: str
    gain: float
    """By how much it moved the score; negative: against the choice."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision and every candidate rollout explained, in sampling order."""

    decision: Decision
    rollouts: tuple[ExplainedRollout, ...]
    weights_are: str = ATTENTION
    """What weights mean, where there are any."""
    reasons: tuple[Reason, ...] = ()
    """The strongest first, then those against it; empty: the method gives none."""
    groups: Mapping[int, int] = field(default_factory=dict)
    """Sample id to the number of the answer that it counts for; -1: it has no vote; empty: the method groups none."""

    @property
    def has_weights(self) -> bool:
        return any(seen.weight is not None for each in self.rollouts for seen in each.evidence)

    @property
    def selected(self) -> ExplainedRollout | None:
        """None: nothing was selected, or the answer is newly written."""
        wanted = self.decision.sample_id
        return next((each for each in self.rollouts if each.rollout.sample_id == wanted), None)


@runtime_checkable
class ExplainingMethod(Protocol):
    """A method that knows more about its decisions than what the rollouts share."""

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        """Each pool with its decision explained, in order, in bounded memory."""
        ...


def explain_stream(
    method: Method, pools: Iterable[Pool], on_failure: OnFailure | None = None
) -> Iterator[tuple[Pool, Explanation]]:
    """Each pool with any method's decision explained, in order; of a pool on which it fails as ``decide_stream``."""

    def unexplained(pool: Pool, error: UndecidedPool) -> Explanation:
        return explain_pool(pool, undecided(pool, error))

    substitute = None if on_failure is None else unexplained
    for pool, explanation in settled(partial(_explanations, method), pools, substitute):
        if on_failure is not None and explanation.decision.problem is not None:
            on_failure(pool, explanation.decision.problem)
        yield pool, explanation


def _explanations(method: Method, pools: Iterable[Pool]) -> Iterator[Explanation]:
    if isinstance(method, ExplainingMethod):
        explained = method.explain_stream(pools)
    else:
        explained = ((pool, explain_pool(pool, decision)) for pool, decision in decide_stream(method, pools))
    grouping: AnswerGrouping | None = getattr(method, "grouping", None)
    for pool, each in explained:
        if grouping is not None:
            samples = [one.rollout.sample_id for one in each.rollouts]
            numbers = grouping.groups(pool.question.text, [one.rollout.answer for one in each.rollouts])
            each = replace(each, groups=dict(zip(samples, numbers, strict=True)))
        yield each


class Called:
    """A method under the name that the user gave it."""

    def __init__(self, method: Method, name: str) -> None:
        self.method, self.name, self.decide = method, name, method.decide

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        return (decision for _, decision in decide_stream(self.method, pools))

    def explain_stream(self, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Explanation]]:
        return explain_stream(self.method, pools)


def explain_pool(pool: Pool, decision: Decision) -> Explanation:
    """What can be said of any method's decision: who saw what."""
    scored = [rollout for rollout in pool.rollouts if rollout.sample_id in decision.scores]
    return explain(link_documents(scored) if scored else pool.retained().kept, decision)


def explain(
    candidates: Sequence[Rollout],
    decision: Decision,
    weights: Mapping[int, ReadWeights] | None = None,
    weights_are: str = ATTENTION,
    reasons: tuple[Reason, ...] = (),
) -> Explanation:
    """The explanation of a decision among these rollouts; ``weights`` by sample id."""
    texts = Counter(text for one in candidates for text in {seen.text for _, _, seen in _seen(one)})
    documents = Counter(
        key for one in candidates for key in {seen.document.key for _, _, seen in _seen(one) if seen.document}
    )

    def explained(rollout: Rollout) -> ExplainedRollout:
        read = (weights or {}).get(rollout.sample_id)
        evidence = tuple(
            ExplainedEvidence(
                number,
                index,
                seen,
                None if read is None else read.evidence[number][index],
                texts[seen.text] - 1,
                0 if seen.document is None else documents[seen.document.key] - 1,
            )
            for number, index, seen in _seen(rollout)
        )
        searches = (None,) * len(rollout.searches) if read is None else read.searches
        return ExplainedRollout(rollout, decision.scores.get(rollout.sample_id), searches, evidence)

    return Explanation(decision, tuple(map(explained, candidates)), weights_are, reasons)


def _seen(rollout: Rollout) -> Iterator[tuple[int, int, Evidence]]:
    """Its evidence, with the index of its search and its own among those of the search."""
    for number, search in enumerate(rollout.searches):
        yield from ((number, index, seen) for index, seen in enumerate(search.evidence))
