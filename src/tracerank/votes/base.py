"""What decides on a pool, what it says, and decisions for a stream of pools."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Any, Protocol, TypeVar, runtime_checkable

from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError, TraceRankError, UndecidedPool
from tracerank.pools.html_tables import html_table
from tracerank.pools.pool import Pool
from tracerank.pools.types import Question
from tracerank.votes.missing import Missing


class ClaimTable(Protocol):
    """Where each claim of long answers stands; ``reports/comparison.py`` has it."""

    def record(self) -> dict[str, Any]:
        """In plain values, with ``claims``, ``lacks`` and ``reports``."""
        ...


CLAIMS = ("claims", "lacks", "reports")
"""What of such a table a decision's record has."""


@dataclass(frozen=True, slots=True, repr=False)
class Decision:
    """The answer a method returns for a pool."""

    question_id: str
    answer: str | None
    """None: the pool has no candidate, or a model was asked and gave no answer (``counts``)."""
    sample_id: int | None
    """The rollout that gave the answer; None beside an answer: a chat model wrote it."""
    scores: Mapping[int, float] = field(default_factory=dict)
    """Sample id to score, for every retained candidate."""
    dropped: Mapping[int, str] = field(default_factory=dict)
    """Sample id to the reason why it was no candidate."""
    group: tuple[int, ...] = ()
    """Sample ids whose answers count as the same as the returned one; empty: the method does not group."""
    confidence: float | None = None
    """Probability that the answer is right by meaning; None: unknown."""
    basis: str | None = None
    """What the confidence rests on: ``labels``, or ``pools`` of the user; None: the method's own, or no confidence."""
    rank_score: float | None = None
    """Between 0 and 1, higher where the answer is more likely to be right; no probability. None: unknown."""
    usage: Usage | None = None
    """Tokens that deciding cost; None: no model was asked, or the cost is unknown."""
    note: str | None = None
    """What the user should know about how it was decided, such as a forced end."""
    problem: str | None = None
    """Why nothing could be decided: a server failed, or the method itself. None: it was decided."""
    reply: str | None = None
    """The complete reply of a model from which the answer was read; None: no model wrote an answer."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Unusual events while a model was asked, such as ``read leniently``; empty: there were none."""
    is_fault: bool = False
    """Whether the method itself failed, and would again; a server may succeed on another try."""
    escalated: "Escalation | None" = None
    """The second method and its outcome, where the first was unsure; None: only one method decided."""
    missing: Missing | None = None
    """What evidence would decide the pool; None: not looked for."""
    claims: ClaimTable | None = None
    """The claims of all answers, where these are long; None: they are short, or the method does not compare them."""

    def to_dict(self) -> dict[str, Any]:
        """In plain values, as ``tracerank select`` writes them.

        ``escalated``, ``missing`` and the claims of long answers are there only where the decision has them.
        """
        later = {"escalated": self.escalated, "missing": self.missing}
        table = {} if self.claims is None else self.claims.record()
        return {
            "question_id": self.question_id,
            "answer": self.answer,
            "sample_id": self.sample_id,
            "scores": {str(sample_id): score for sample_id, score in self.scores.items()},  # as JSON has them anyway
            "dropped": {str(sample_id): reason for sample_id, reason in self.dropped.items()},
            "group": list(self.group),
            "confidence": self.confidence,
            "basis": self.basis,
            "rank_score": self.rank_score,
            "usage": None if self.usage is None else asdict(self.usage),
            "note": self.note,
            "problem": self.problem,
            **{name: value.record() for name, value in later.items() if value is not None},
            **{name: table[name] for name in CLAIMS if table},
        }

    def __repr__(self) -> str:
        """Without what is empty or unknown."""
        known = ((one.name, getattr(self, one.name)) for one in fields(self))
        shown = (f"{name}={value!r}" for name, value in known if value or type(value) in (int, float))
        return f"Decision({', '.join(shown)})"

    def _repr_html_(self) -> str:
        names = ("sample_id", "group", "confidence", "basis", "rank_score", "note", "problem")
        rows = [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]
        return html_table(self.answer or "no answer", ("", ""), rows)

    @property
    def certainty(self) -> float | None:
        """What thresholds compare: the confidence, or else the rank score."""
        return self.rank_score if self.confidence is None else self.confidence

    @property
    def failure(self) -> str | None:
        """What failed, also where a decision could be made in spite of it; None: nothing did."""
        return self.problem or (None if self.escalated is None else self.escalated.problem)


LABELS, POOLS = "labels", "pools"
"""What a confidence rests on: labelled pools of the user, or how often rollouts agree in unlabelled ones."""
CHANGED, CONFIRMED, KEPT = "changed", "confirmed", "kept"
"""Outcomes of an escalation: another answer; the same one; no usable answer, so the first one stays."""


@dataclass(frozen=True, slots=True)
class Escalation:
    """That a decision was too unsure to stand by itself, and another method was asked."""

    method: str
    """The method that was asked."""
    why: str
    below: float
    """The confidence below which it is asked."""
    outcome: str
    """``changed``, ``confirmed`` or ``kept``."""
    before: Decision
    """The first decision."""
    usage: Usage | None = None
    """What the other method alone cost; None: no model was asked, or the cost is unknown."""
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
            "rank_score": self.before.rank_score,
            "usage": None if self.usage is None else asdict(self.usage),
            "problem": self.problem,
        }


NO_ANSWER = "no answer"
"""The model was asked and gave none; an answer of the decision is the vote's."""
LENIENT = "read leniently"
"""The answer was found where the paper's rules do not look."""
ASKED_AGAIN = "asked again"
CALLS, MISSES = "calls", "misses"
"""Calls of tools that were carried out; replies that led to none."""
FORCED = "forced to finish"
ESCALATED, NOT_SETTLED = "escalated", "escalation settled nothing"
"""Another method was asked, because the first was unsure; and its result could not be used, so the first stays."""

ALIKE = "all scores are alike"
"""Begins the note of a decision whose scores were all equal, so that the first candidate was taken."""
UNLIKE = "unlike the pools that the network was trained on"
"""Note of a decision by a network on such a pool."""
_MAX_REASON = 200
T = TypeVar("T")


def with_note(decision: Decision, *notes: str | None) -> Decision:
    """The decision, with further notes behind its own."""
    return replace(decision, note="; ".join(filter(None, (decision.note, *notes))) or None)


def decision_to_record(question: Question, decision: Decision) -> dict[str, Any]:
    """The decision with its question, in plain values: a line of ``tracerank select``, and what services return."""
    return {"question_id": question.id, "question": question.text, **decision.to_dict()} | {"question_id": question.id}


def decision_line(pool: Pool, decision: Decision, method: str) -> dict[str, Any]:
    """The decision as services return it, with the reply, the method, and the chosen rollout's source."""
    chosen = next((one for one in pool.rollouts if one.sample_id == decision.sample_id), None)
    record = decision_to_record(pool.question, decision)
    later = {name: record.pop(name, None) for name in ("escalated", "missing", *CLAIMS)}
    return {
        **record,
        "reply": decision.reply,
        "counts": dict(decision.counts),
        "method": method,
        "source": None if chosen is None else chosen.source,
        "score_list": [{"sample_id": sample, "score": score} for sample, score in decision.scores.items()],
        **later,
    }


class Calibrator(Protocol):
    """Anything that estimates how likely a decision is right; ``evidence/confidence.py`` has it."""

    def calibrate(self, pool: Pool, decision: Decision, known: Any = None) -> Decision:
        """The decision with its confidence and rank score; ``known``: what was counted of the pool."""
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
"""Called with a pool that could not be decided, and the reason."""
_ABORTING = (TraceRankError, OSError, ImportError)
"""Errors that every other pool would meet, too: a wrong key, a full disk, a missing library."""


def undecided(pool: Pool, error: UndecidedPool) -> Decision:
    """The substitute for a decision that failed, so that every question has its line."""
    dropped = pool.retained().dropped
    return Decision(pool.question.id, None, None, dropped=dropped, problem=error.reason, is_fault=error.is_fault)


def recorded(decide: Callable[[Pool], Decision], pool: Pool) -> Decision:
    """The decision, or a failed one where a chat server failed on this pool; raises what every pool would meet."""
    try:
        return decide(pool)
    except ChatError as error:
        if _aborts(error):
            raise
        return undecided(pool, _failure(pool, error))


def decide_stream(
    method: Method, pools: Iterable[Pool], on_failure: OnFailure | None = None
) -> Iterator[tuple[Pool, Decision]]:
    """Each pool with its decision, in order; a method that works in batches gets the stream itself.

    A pool on which a chat server fails costs only itself: its decision says so (``problem``). So does one on which the
    method fails, if ``on_failure`` is given, which is called for both; else it raises ``UndecidedPool``.
    """
    one_by_one = partial(map, partial(recorded, method.decide))
    stream = method.iter_decisions if isinstance(method, StreamingMethod) else one_by_one
    for pool, decision in settled(stream, pools, None if on_failure is None else undecided):
        if on_failure is not None and decision.failure is not None:
            on_failure(pool, decision.failure)
        yield pool, decision


def settled(
    stream: Callable[[Iterable[Pool]], Iterator[T]],
    pools: Iterable[Pool],
    substitute: Callable[[Pool, UndecidedPool], T] | None,
) -> Iterator[tuple[Pool, T]]:
    """Each pool with what a stream makes of it, or the substitute where that fails; without one it raises.

    Pools that were drawn together with a bad one are tried once more, one by one, and the stream continues after it.
    """
    source, waiting = iter(pools), deque[Pool]()
    is_reading = is_over = False

    def drawn() -> Iterator[Pool]:
        nonlocal is_reading, is_over
        is_reading = True
        for pool in source:
            is_reading = False
            waiting.append(pool)
            yield pool
            is_reading = True
        is_reading, is_over = False, True

    while not is_over:
        try:
            for made in stream(drawn()):
                yield waiting.popleft(), made
            return
        except Exception as error:
            if is_reading or not waiting or _aborts(error):
                raise
        while waiting:
            pool = waiting.popleft()
            try:
                made = next(stream([pool]))
            except Exception as error:
                if _aborts(error):
                    raise
                failure = _failure(pool, error)
                if substitute is None:
                    raise (error if isinstance(error, ChatError) else failure) from error
                made = substitute(pool, failure)
            yield pool, made


def _aborts(error: Exception) -> bool:
    if isinstance(error, UndecidedPool) or (isinstance(error, ChatError) and not error.ends_all):
        return False
    return isinstance(error, _ABORTING)


def _failure(pool: Pool, error: Exception) -> UndecidedPool:
    """The question, the error and the line that raised it; of a server, its message."""
    if isinstance(error, UndecidedPool):
        return error
    if isinstance(error, ChatError):
        return UndecidedPool(pool.question.id, str(error), is_fault=False)
    *_, (frame, line) = walk_tb(error.__traceback__)
    said = " ".join(str(error).split())[:_MAX_REASON]
    location = f"{Path(frame.f_code.co_filename).name}:{line}"
    return UndecidedPool(pool.question.id, f"{type(error).__name__}{f': {said}' if said else ''} ({location})")
