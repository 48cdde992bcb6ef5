"""LangGraph: a compiled graph as an agent for ``tr.best_of``."""

from collections.abc import Callable, Mapping
from typing import Any

from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import usage_of


def langgraph_agent(graph: Any, config: Mapping[str, Any] | None = None) -> Callable[[str], Any]:
    """A compiled graph whose state has ``messages``; the answer is in the last of them."""

    async def run(question: str) -> AgentRun:
        state = await graph.ainvoke({"messages": [{"role": "user", "content": question}]}, config)
        used = [one for message in state["messages"] if (one := getattr(message, "usage_metadata", None))]
        return AgentRun({"messages": [message.model_dump() for message in state["messages"]]}, usage=usage_of(used))

    return run
