"""What decides on a pool, what it says, and decisions for a stream of pools."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from tracerank.endpoints.chat import Usage
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question


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
    group: tuple[int, ...] = ()
    """Sample ids whose answers count as the same as the returned one; empty: the method does not group."""
    confidence: float | None = None
    """Calibrated chance that the answer is right by meaning; None: nothing can be said, and the note has the reason."""
    usage: Usage | None = None
    """Tokens that deciding cost; None: no model was asked, or nobody counted."""
    note: str | None = None
    """What the user should know about how it was decided, such as a forced end."""


NO_EVIDENCE = "no evidence: only the answers were compared"
"""Note of a decision among rollouts that show none."""


def told(pool: Pool, decision: Decision) -> Decision:
    """The decision as a user is told it: with a note where no rollout shows any evidence."""
    if decision.answer is None or any(rollout.has_evidence for rollout in pool.rollouts):
        return decision
    return replace(decision, note="; ".join(filter(None, (decision.note, NO_EVIDENCE))))


def decision_to_record(question: Question, decision: Decision) -> dict[str, Any]:
    """The decision in plain values: what ``tracerank select`` writes on a line, and what services tell."""
    return {
        "question_id": question.id,
        "question": question.text,
        "answer": decision.answer,
        "sample_id": decision.sample_id,
        "scores": {str(sample_id): score for sample_id, score in decision.scores.items()},  # as JSON has them anyway
        "dropped": {str(sample_id): reason for sample_id, reason in decision.dropped.items()},
        "group": list(decision.group),
        "confidence": decision.confidence,
        "usage": None if decision.usage is None else asdict(decision.usage),
        "note": decision.note,
    }


class Sure(Protocol):
    """Whatever tells how sure a decision is; ``selectors/meaning/confidence.py`` has it."""

    def told(self, pool: Pool, decision: Decision, known: Any = None) -> Decision:
        """The decision with its confidence, or why there is none; ``known``: what was counted of the pool already."""
        ...


class Method(Protocol):
    """Any way to decide on a pool."""

    @property
    def name(self) -> str: ...

    def decide(self, pool: Pool) -> Decision: ...


@runtime_checkable
class StreamingMethod(Method, Protocol):
    """A method that is quicker on many pools at once."""

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions for a stream of pools, in order, in bounded memory."""
        ...


def decide_stream(method: Method, pools: Iterable[Pool]) -> Iterator[tuple[Pool, Decision]]:
    """Each pool with its decision, in order; a method that works in batches gets the stream itself."""
    waiting: deque[Pool] = deque()

    def remembered() -> Iterator[Pool]:
        for pool in pools:
            waiting.append(pool)
            yield pool

    if isinstance(method, StreamingMethod):
        decisions = method.iter_decisions(remembered())
    else:
        decisions = map(method.decide, remembered())
    for decision in decisions:
        yield waiting.popleft(), decision
