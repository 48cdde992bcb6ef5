"""What decides on a pool, what it says, and decisions for a stream of pools."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, Protocol, TypeVar, runtime_checkable

from tracerank.endpoints.chat import Usage
from tracerank.errors import TraceRankError, UndecidedPool
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
    """Estimated chance that the answer is right; None: the method has no calibrated estimate."""
    usage: Usage | None = None
    """Tokens that deciding cost; None: no model was asked, or nobody counted."""
    note: str | None = None
    """What the user should know about how it was decided, such as a forced end."""


UNDECIDED = "not decided"
"""How the note begins that stands where a decision could not be made."""
_LONGEST_REASON = 200
T = TypeVar("T")

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


OnFailure = Callable[[Pool, UndecidedPool], None]
"""Is told of a pool that could not be decided, and why."""
Settle = Callable[[Iterable[Pool]], Iterator[T]]
"""What makes something of each pool of a stream, in order."""

_ABORTING = (TraceRankError, OSError, ImportError)
"""What no other pool would fare better with: a server that is down, a full disk, a missing library."""


def undecided(pool: Pool, error: UndecidedPool) -> Decision:
    """What stands in the place of a decision, so that every question has its line."""
    return Decision(pool.question.id, None, None, note=str(error)[str(error).index(UNDECIDED) :])


def decide_stream(
    method: Method, pools: Iterable[Pool], on_failure: OnFailure | None = None
) -> Iterator[tuple[Pool, Decision]]:
    """Each pool with its decision, in order; a method that works in batches gets the stream itself.

    A pool on which the method fails raises ``UndecidedPool``, or is told to ``on_failure`` and gets no answer but a
    note.
    """
    settle = method.iter_decisions if isinstance(method, StreamingMethod) else partial(map, method.decide)
    return settled(settle, pools, undecided, on_failure)


def settled(
    settle: Settle[T],
    pools: Iterable[Pool],
    failed: Callable[[Pool, UndecidedPool], T],
    on_failure: OnFailure | None = None,
) -> Iterator[tuple[Pool, T]]:
    """Each pool with what is made of it, or what ``failed`` puts in its place.

    What was drawn together with a bad pool is tried once more, pool by pool, and the stream goes on behind it.
    """
    stream = _Drawn(iter(pools))
    while not stream.is_over:
        try:
            for found in settle(stream):
                yield stream.waiting.popleft(), found
            return
        except Exception as error:
            if stream.is_broken or not stream.waiting or _aborts(error):
                raise
        while stream.waiting:
            pool = stream.waiting.popleft()
            yield pool, _alone(settle, pool, failed, on_failure)


def _alone(
    settle: Settle[T], pool: Pool, failed: Callable[[Pool, UndecidedPool], T], on_failure: OnFailure | None
) -> T:
    try:
        return next(settle([pool]))
    except Exception as error:
        if _aborts(error):
            raise
        told = error if isinstance(error, UndecidedPool) else _failure(pool, error)
        if on_failure is None:
            raise told from error
        on_failure(pool, told)
        return failed(pool, told)


def _aborts(error: Exception) -> bool:
    return isinstance(error, _ABORTING) and not isinstance(error, UndecidedPool)


def _failure(pool: Pool, error: Exception) -> UndecidedPool:
    """The question, the error and the line that raised it."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    said = " ".join(str(error).split())[:_LONGEST_REASON]
    reason = f"{type(error).__name__}{f': {said}' if said else ''} ({Path(frame.f_code.co_filename).name}:{line})"
    return UndecidedPool(f"question {pool.question.id!r}: {UNDECIDED}: {reason}")


class _Drawn:
    """A stream of pools that remembers those which were drawn and not settled yet."""

    def __init__(self, pools: Iterator[Pool]) -> None:
        self._pools = pools
        self.waiting: deque[Pool] = deque()
        self.is_over = False
        self.is_broken = False
        """Whether drawing itself has failed, which is no method's fault."""

    def __iter__(self) -> Iterator[Pool]:
        self.is_broken = True
        for pool in self._pools:
            self.is_broken = False
            self.waiting.append(pool)
            yield pool
            self.is_broken = True
        self.is_over, self.is_broken = True, False
