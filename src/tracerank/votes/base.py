"""What decides on a pool, what it says, and decisions for a stream of pools."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, Protocol, TypeVar, runtime_checkable

from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError, TraceRankError, UndecidedPool
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question
from tracerank.votes.missing import Missing


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer a method returns for a pool."""

    question_id: str
    answer: str | None
    """None: the pool has no candidate, or a model was asked and gave no answer (``counts``)."""
    sample_id: int | None
    """The rollout that gave the answer; None with an answer: it was newly written."""
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
    problem: str | None = None
    """Why nothing could be decided: a server failed, or the method itself. None: it was decided."""
    reply: str | None = None
    """What a model wrote and the answer was read from, whole and as it came; None: no model wrote an answer."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """What happened while a model was asked, in the words below; empty: nothing out of the ordinary."""
    is_fault: bool = False
    """Whether the method itself failed, and would again; a server may do better when it is asked again."""
    escalated: "Escalation | None" = None
    """That another method was asked, because the first was unsure, and what came of it; None: it was not."""
    missing: Missing | None = None
    """What evidence would settle the pool; None: nobody has looked."""

    @property
    def failure(self) -> str | None:
        """What failed, also where a decision could be made in spite of it; None: nothing did."""
        return self.problem or (None if self.escalated is None else self.escalated.problem)


CHANGED, CONFIRMED, KEPT = "changed", "confirmed", "kept"
"""What came of an escalation: another answer; the same one; nothing that could be used, so the first one stays."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """That a decision was too unsure to stand by itself, and another method was asked."""

    method: str
    """Who was asked."""
    why: str
    below: float
    """The confidence below which it is asked."""
    outcome: str
    """``changed``, ``confirmed`` or ``kept``."""
    before: Decision
    """What stood until then."""
    usage: Usage | None = None
    """What the other method alone cost; None: no model was asked, or nobody counted."""
    problem: str | None = None
    """Why the other method failed; None: it did not."""

    def record(self) -> dict[str, Any]:
        """In plain values; of the decision before, what it returned."""
        return {
            "method": self.method,
            "why": self.why,
            "below": self.below,
            "outcome": self.outcome,
            "answer": self.before.answer,
            "sample_id": self.before.sample_id,
            "confidence": self.before.confidence,
            "usage": None if self.usage is None else asdict(self.usage),
            "problem": self.problem,
        }


NO_ANSWER = "no answer"
"""The model was asked and gave none; whatever answer the decision has is the vote's. No candidate is another thing."""
LENIENT = "read leniently"
"""The answer was found where the paper's rules do not look."""
ASKED_AGAIN = "asked again"
CALLS, MISSES = "calls", "misses"
"""Calls of tools that were carried out; replies that led to none."""
FORCED = "forced to finish"
ESCALATED, NOT_SETTLED = "escalated", "escalation settled nothing"
"""Another method was asked, because the first was unsure; and it failed or could tell nothing, so the first stays."""

ALIKE = "all scores are alike"
"""Begins the note of a decision in which scores told nothing apart: the first candidate was taken."""
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
    """The decision in plain values: what ``tracerank select`` writes on a line, and what services tell.

    ``escalated`` and ``missing`` are there only where the decision has them.
    """
    later = {"escalated": decision.escalated, "missing": decision.missing}
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
        "problem": decision.problem,
        **{name: value.record() for name, value in later.items() if value is not None},
    }


def decision_line(pool: Pool, decision: Decision, method: str) -> dict[str, Any]:
    """The decision as services tell it, and what only a file needs: what a model wrote, who decided, and on what."""
    chosen = next((one for one in pool.rollouts if one.sample_id == decision.sample_id), None)
    is_plain = decision.escalated is None and decision.missing is None
    return {
        **decision_to_record(pool.question, decision if is_plain else replace(decision, escalated=None, missing=None)),
        "reply": decision.reply,
        "counts": dict(decision.counts),
        "method": method,
        "source": None if chosen is None else chosen.source,
        "score_list": [{"sample_id": sample, "score": score} for sample, score in decision.scores.items()],
        "escalated": None if decision.escalated is None else decision.escalated.record(),
        "missing": None if decision.missing is None else decision.missing.record(),
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


OnFailure = Callable[[Pool, str], None]
"""Is told of a pool that could not be decided, and why."""
Settle = Callable[[Iterable[Pool]], Iterator[T]]
"""What makes something of each pool of a stream, in order."""
Failed = Callable[[Pool, UndecidedPool], T]
"""What stands in its place where that fails."""

_ABORTING = (TraceRankError, OSError, ImportError)
"""What no other pool would fare better with: a wrong key, a full disk, a missing library."""


def undecided(pool: Pool, error: UndecidedPool) -> Decision:
    """What stands in the place of a decision, so that every question has its line."""
    return Decision(pool.question.id, None, None, problem=error.reason, is_fault=error.is_fault)


def recorded(decide: Callable[[Pool], Decision], pool: Pool) -> Decision:
    """The decision, or that a chat server failed on this pool; raises where no other pool can fare better."""
    try:
        return decide(pool)
    except ChatError as error:
        if error.ends_all:
            raise
        failed = undecided(pool, UndecidedPool(pool.question.id, str(error), is_fault=False))
        return replace(failed, dropped=pool.retained().dropped)


def decide_stream(
    method: Method, pools: Iterable[Pool], on_failure: OnFailure | None = None
) -> Iterator[tuple[Pool, Decision]]:
    """Each pool with its decision, in order; a method that works in batches gets the stream itself.

    A pool on which a chat server fails costs only itself: its decision says so (``problem``). So does one on which the
    method fails where ``on_failure`` is there to be told of both; else it raises ``UndecidedPool``.
    """
    one_by_one = partial(map, partial(recorded, method.decide))
    settle = method.iter_decisions if isinstance(method, StreamingMethod) else one_by_one
    found = settled(settle, pools, None if on_failure is None else undecided)
    return telling(found, lambda decision: decision.failure, on_failure)


def telling(
    found: Iterable[tuple[Pool, T]], problem_of: Callable[[T], str | None], on_failure: OnFailure | None
) -> Iterator[tuple[Pool, T]]:
    """The same, after what failed was told."""
    for pool, made in found:
        if on_failure is not None and (problem := problem_of(made)) is not None:
            on_failure(pool, problem)
        yield pool, made


def settled(settle: Settle[T], pools: Iterable[Pool], failed: Failed[T] | None = None) -> Iterator[tuple[Pool, T]]:
    """Each pool with what is made of it, or what ``failed`` puts in its place; without that it raises.

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
            yield pool, _alone(settle, pool, failed)


def _alone(settle: Settle[T], pool: Pool, failed: Failed[T] | None) -> T:
    try:
        return next(settle([pool]))
    except Exception as error:
        if _aborts(error):
            raise
        told = _failure(pool, error)
        if failed is None:
            raise (error if isinstance(error, ChatError) else told) from error
        return failed(pool, told)


def _aborts(error: Exception) -> bool:
    if isinstance(error, UndecidedPool) or (isinstance(error, ChatError) and not error.ends_all):
        return False
    return isinstance(error, _ABORTING)


def _failure(pool: Pool, error: Exception) -> UndecidedPool:
    """The question, the error and the line that raised it; of a server, what it said."""
    if isinstance(error, UndecidedPool):
        return error
    if isinstance(error, ChatError):
        return UndecidedPool(pool.question.id, str(error), is_fault=False)
    *_, (frame, line) = walk_tb(error.__traceback__)
    said = " ".join(str(error).split())[:_LONGEST_REASON]
    place = f"{Path(frame.f_code.co_filename).name}:{line}"
    return UndecidedPool(pool.question.id, f"{type(error).__name__}{f': {said}' if said else ''} ({place})")


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
