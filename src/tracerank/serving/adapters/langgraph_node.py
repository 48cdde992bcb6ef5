"""A LangGraph node that chooses among rollouts which earlier nodes left in the state. Needs no import of LangGraph."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracerank.errors import UsageError
from tracerank.methods.base import Method
from tracerank.serving.adapters.settled import settle


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
        found = settle(method, state.get(question), [_record(one) for one in given])
        return {answer: found.decision.answer, decision: found.told}

    return select


def _record(rollout: Any) -> dict[str, Any]:
    if isinstance(rollout, Mapping):
        return {name: [*map(_plain, value)] if name == "messages" else value for name, value in rollout.items()}
    return {"messages": [_plain(message) for message in rollout]}


def _plain(message: Any) -> Any:
    return message.model_dump() if hasattr(message, "model_dump") else message
