"""OpenAI Agents SDK: an ``Agent`` as an agent for ``tr.best_of``."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import text_of, usage


def openai_agent(agent: Any, **options: Any) -> Callable[[str], Any]:
    """The options are those of ``Runner.run``."""

    async def run(question: str) -> AgentRun:
        ended = await import_module("agents").Runner.run(agent, question, **options)
        answer, used = text_of(ended.final_output), ended.context_wrapper.usage
        record = {"input": question, "items": ended.to_input_list(), "final_output": answer}
        return AgentRun(record, answer, usage(used.input_tokens, used.output_tokens, used.requests))

    return run
