"""A LangGraph node that chooses among rollouts which earlier nodes left in the state, and what every adapter does:
records of one question to a decision in plain values.

Needs no import of LangGraph, so the other adapters may use it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.errors import UsageError
from tracerank.pools.pool import Pool
from tracerank.sampling.wrappers import plain_messages
from tracerank.serving.wire import SelectRequest, UnreadableRequest, pool_of, select_reply
from tracerank.votes.base import Method


def selection_node(
    method: Method,
    *,
    rollouts: str = "rollouts",
    question: str = "question",
    answer: str = "answer",
    decision: str = "decision",
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A node; the words are the names of the state's channels.

    A rollout is a list of LangChain messages, a state with ``messages``, or a record in any format that tracerank
    reads. The node sets the chosen answer and the decision, as plain values that every checkpointer can keep.
    """

    def select(state: Mapping[str, Any]) -> dict[str, Any]:
        given = state.get(rollouts)
        if not isinstance(given, Sequence) or not given:
            raise UsageError(f"the state has no rollouts under {rollouts!r}; let an earlier node collect some")
        decided = decide_records(method, state.get(question), [_record(one) for one in given])
        return {answer: decided["answer"], decision: decided}

    return select


def decide_records(
    method: Method, question: str | None, records: Sequence[Mapping[str, Any]], answers: Sequence[str | None] = ()
) -> dict[str, Any]:
    """The decision on rollouts in any readable format, numbered by their places, as ``/v1/select`` tells it.

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
    return select_reply(pool, method.decide(pool), problems).model_dump()


def _record(rollout: Any) -> dict[str, Any]:
    if isinstance(rollout, Mapping):
        return {name: plain_messages(value) if name == "messages" else value for name, value in rollout.items()}
    return {"messages": plain_messages(rollout)}
