"""Another method for what is unsure: pools below a confidence go to a verifier or an aggregator, the others do not.

The first decision stays where the other method fails or decides nothing. A decision says that it was escalated, why,
and what was before, so that any smaller threshold can be evaluated afterwards without asking again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from tracerank.answers.meaning.grouping import same_answer
from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.votes.base import (
    ALIKE,
    CHANGED,
    CONFIRMED,
    ESCALATED,
    KEPT,
    NO_ANSWER,
    NOT_SETTLED,
    Decision,
    Escalation,
    Method,
    decide_stream,
    with_note,
)

_CHUNK_POOLS = 64
"""Few enough to hold, enough for a method that works on several at once."""
NO_CONFIDENCE = "it has no confidence"


class Escalating:
    """A method, and another one that is asked where the first is not sure enough.

    Where a decision has no confidence its rank score counts; one without either counts as unsure. Pools that the first
    method cannot decide, because it failed or there is no candidate, are not escalated.
    """

    def __init__(self, first: Method, second: Method, below: float) -> None:
        if not 0 < below <= 1:
            raise UsageError(f"below must be a confidence above 0, up to 1, got {below:g}")
        self.first, self.second, self.below = first, second, below
        self.name = f"{first.name}+{second.name}"

    def decide(self, pool: Pool) -> Decision:
        [decision] = self.iter_decisions([pool])
        return decision

    def iter_decisions(self, pools: Iterable[Pool]) -> Iterator[Decision]:
        """Decisions in the order of the pools; the other method sees only those that are unsure."""
        stream = iter(pools)
        while chunk := list(islice(stream, _CHUNK_POOLS)):
            decided = [decision for _, decision in decide_stream(self.first, chunk)]
            reasons = list(map(self._why, decided))
            unsure = [pool for pool, why in zip(chunk, reasons, strict=True) if why is not None]
            # With a callback failures do not raise: such a pool keeps its first decision.
            others = decide_stream(self.second, unsure, lambda pool, reason: None)
            for pool, decision, why in zip(chunk, decided, reasons, strict=True):
                yield decision if why is None else self._settled(pool, decision, why, next(others)[1])
            next(others, None)  # ends its workers

    def _why(self, decision: Decision) -> str | None:
        """Why a decision is escalated; None: it is not."""
        if decision.problem is not None or decision.answer is None:
            return None
        if (certainty := decision.certainty) is None:
            return NO_CONFIDENCE
        name = "rank score" if decision.confidence is None else "confidence"
        return f"{name} {certainty:.2f} is below {self.below:g}" if certainty < self.below else None

    def _settled(self, pool: Pool, first: Decision, why: str, other: Decision) -> Decision:
        """What is returned, with what was before."""
        unused = _unused(other)
        outcome = KEPT if unused is not None else CONFIRMED if _agree(pool, first, other) else CHANGED
        note = f"{self.second.name} was asked, for {why}: "
        note += f"it was {first.answer!r}" if outcome == CHANGED else unused or "it says the same"
        # What was calibrated is the first answer, as it was found.
        stays = first if outcome != CHANGED else replace(other, confidence=None, basis=None, rank_score=None)
        notes = (None if outcome == CHANGED else first.note, note, None if outcome == KEPT else other.note)
        return replace(
            with_note(replace(stays, note=None), *notes),
            escalated=Escalation(self.second.name, why, self.below, outcome, first, other.usage, other.problem),
            counts={**first.counts, **other.counts, ESCALATED: 1, **({} if unused is None else {NOT_SETTLED: 1})},
            usage=Usage.total((first.usage, other.usage)),
            reply=other.reply,
        )


def _unused(other: Decision) -> str | None:
    """Why the other decision cannot replace the first; None: it can."""
    if other.problem is not None:
        return f"it failed ({other.problem}), so the first decision stays"
    if other.answer is None or NO_ANSWER in other.counts:
        return "it gave no answer of its own, so the first decision stays"
    if ALIKE in (other.note or ""):
        return f"{ALIKE}, so the first decision stays"
    return None


def _agree(pool: Pool, first: Decision, other: Decision) -> bool:
    is_same = other.sample_id is not None and other.sample_id in (first.sample_id, *first.group)
    return is_same or same_answer(pool.question.text, first.answer or "", other.answer or "")
