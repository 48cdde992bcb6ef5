"""What all adapters do: records of one question to a decision, told in plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracerank.errors import UsageError
from tracerank.methods.base import Decision, Method
from tracerank.pools.pool import Pool
from tracerank.serving.wire import SelectRequest, UnreadableRequest, pool_of, select_reply


@dataclass(frozen=True, slots=True)
class Settled:
    """A decision and the same in plain values, as the service tells it."""

    decision: Decision
    told: Mapping[str, Any]


def settle(
    method: Method, question: str | None, records: Sequence[Mapping[str, Any]], answers: Sequence[str | None] = ()
) -> Settled:
    """The decision on rollouts in any readable format, numbered by their places.

    ``answers``, if given, are what the rollouts answer, whatever their transcripts seem to say.
    """
    numbered = [{**record, "sample_id": place} for place, record in enumerate(records)]
    try:
        pool, problems = pool_of(SelectRequest(question=question, rollouts=numbered))
    except (UnreadableRequest, ValueError) as error:
        raise UsageError(f"the rollouts cannot be read: {error}") from None
    if answers:
        known = (replace(rollout, answer=answers[rollout.sample_id]) for rollout in pool.rollouts)
        pool = Pool.of(pool.question, known)
    decision = method.decide(pool)
    return Settled(decision, select_reply(pool, decision, problems).model_dump())
