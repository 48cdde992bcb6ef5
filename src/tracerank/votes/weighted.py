"""Confidence-weighted voting (App. A.2), and confidences that a rollout states or its log holds.

Sources are tried in order; ``chat/asked_confidence.py`` has one that asks a model. Labels are never looked at.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from tracerank.answers.extraction import stated_confidence
from tracerank.endpoints.chat import Usage, tried
from tracerank.errors import ChatError
from tracerank.pools.pool import Pool
from tracerank.pools.types import Rollout
from tracerank.votes.answer_groups import AnswerGrouping, WithoutAbstentions
from tracerank.votes.base import Calibrator, Decision, with_note
from tracerank.votes.voting import NO_CONFIDENCE, Ballot, vote_name


@dataclass(frozen=True, slots=True)
class Estimate:
    """A confidence and what it cost to get."""

    value: float
    """Between 0 and 1."""
    usage: Usage | None = None
    """None: no model was asked, or the cost is unknown."""


ConfidenceSource = Callable[[str, Rollout], Estimate | None]
"""How sure a rollout is of its answer, given the question's text and never its references; None: unknown to it."""

# "confidence": 0.85 and 'confidence_score': "85%" of an answer written as JSON or as Python.
_JSON_FIELD = re.compile(
    r"""["']confidence(?:[_ ](?:score|level))?["']\s{0,3}:\s{0,3}["']?([0-9]{1,3}(?:\.[0-9]{1,12})?\s?[%％]?)""", re.I
)


def stated(question: str, rollout: Rollout) -> Estimate | None:
    """What the agent states in its answer or in its last message: "Confidence: 85%", or a JSON field."""
    final = rollout.messages[-1] if rollout.messages else None
    last = [final.content] if final is not None and final.role == "assistant" else []
    for text in (rollout.answer or "", *last):
        if (found := stated_confidence(_JSON_FIELD.sub(r" confidence: \1", text))) is not None:
            return Estimate(found)
    return None


def logged(question: str, rollout: Rollout) -> Estimate | None:
    """The rollout's ``confidence``: a field of the log, or the mean token probability."""
    value = rollout.confidence
    return Estimate(value) if value is not None and 0 <= value <= 1 else None


READ_SOURCES: tuple[ConfidenceSource, ...] = (stated, logged)
"""What needs no model, in the order in which it is believed: the agent's words before a field of the log."""


def first_estimate(sources: Sequence[ConfidenceSource], question: str, rollout: Rollout) -> Estimate | None:
    """The estimate of the first source that has one."""
    return next((found for source in sources if (found := source(question, rollout)) is not None), None)


class WeightedVote:
    """A rollout of the group with the largest sum of confidences; ties go to the earliest group.

    A rollout of unknown confidence weighs the mean of the others; where all are unknown each weighs one, which is the
    plain vote. The decision's note says so. Abstentions have no vote, as in ``MajorityVote``.
    """

    def __init__(
        self,
        sources: Sequence[ConfidenceSource] = READ_SOURCES,
        grouping: AnswerGrouping | None = None,
        form: str = "first",
        concurrency: int = 1,
        kind: str = "weighted",
        calibrator: Calibrator | None = None,
    ) -> None:
        """``concurrency``: rollouts of a question that are estimated at once; ``kind``: what its name begins with."""
        self.sources, self.concurrency = tuple(sources), concurrency
        self.grouping = WithoutAbstentions() if grouping is None else grouping
        self.form, self.calibrator = form, calibrator
        self.name = vote_name(kind, self.grouping, form)

    def decide(self, pool: Pool) -> Decision:
        ballot = Ballot.of(pool, self.grouping)
        kept = ballot.retained.kept
        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="tracerank-ask") as workers:
            found = list(workers.map(tried(partial(first_estimate, self.sources, pool.question.text)), kept))
        weights, note, usage = _weigh(found)
        decision = replace(with_note(ballot.decision(weights, self.form), note), usage=usage)
        return decision if self.calibrator is None else self.calibrator.calibrate(pool, decision)


def _weigh(found: Sequence[Estimate | ChatError | None]) -> tuple[tuple[float, ...], str | None, Usage | None]:
    """A weight for each rollout, a note about unknown ones, and the cost of all."""
    known = [one for one in found if isinstance(one, Estimate)]
    failed = [one for one in found if isinstance(one, ChatError)]
    if failed and not known:  # an outage is no plain vote
        raise failed[0]
    mean = fmean(one.value for one in known) if known else 1.0
    unknown = len(found) - len(known)
    note = None
    if unknown and known:
        note = f"{unknown} of {len(found)} confidences unknown, taken as the mean of the others ({mean:.3g})"
    elif unknown:
        note = NO_CONFIDENCE
    if failed:
        note = f"{note}; {len(failed)} could not be asked for ({failed[0]})"
    weights = tuple(one.value if isinstance(one, Estimate) else mean for one in found)
    return weights, note, Usage.total(one.usage for one in known)
