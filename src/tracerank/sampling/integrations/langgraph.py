"""LangGraph: a compiled graph as an agent for ``tr.best_of``, and a node that chooses among rollouts in the state."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tracerank.errors import UsageError
from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import decide_records, usage_of
from tracerank.votes.base import Method


def langgraph_agent(graph: Any, config: Mapping[str, Any] | None = None) -> Callable[[str], Any]:
    """A compiled graph whose state has ``messages``; the answer is in the last of them."""

    async def run(question: str) -> AgentRun:
        state = await graph.ainvoke({"messages": [{"role": "user", "content": question}]}, config)
        used = [one for message in state["messages"] if (one := getattr(message, "usage_metadata", None))]
        return AgentRun({"messages": _plain(state["messages"])}, usage=usage_of(used))

    return run


def selection_node(
    method: Method,
    *,
    rollouts: str = "rollouts",
    question: str = "question",
    answer: str = "answer",
    decision: str = "decision",
) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A node that sets the chosen answer and the decision; the keywords name channels of the state.

    A rollout is a list of LangChain messages, a state with ``messages``, or a record in any readable format.
    """

    def select(state: Mapping[str, Any]) -> dict[str, Any]:
        given = state.get(rollouts)
        if not isinstance(given, Sequence) or not given:
            raise UsageError(f"the state has no rollouts under {rollouts!r}; collect some in an earlier node")
        decided = decide_records(method, state.get(question), [_record(one) for one in given])
        return {answer: decided["answer"], decision: decided}

    return select


def _record(rollout: Any) -> dict[str, Any]:
    if isinstance(rollout, Mapping):
        return {name: _plain(value) if name == "messages" else value for name, value in rollout.items()}
    return {"messages": _plain(rollout)}


def _plain(messages: Iterable[Any]) -> list[Any]:
    return [message.model_dump() if hasattr(message, "model_dump") else message for message in messages]
