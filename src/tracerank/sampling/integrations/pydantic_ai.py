"""Pydantic AI: an ``Agent`` as an agent for ``tr.best_of``."""

import json
from collections.abc import Callable
from typing import Any

from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import text_of, usage


def pydantic_agent(agent: Any, **options: Any) -> Callable[[str], Any]:
    """The options are those of the agent's ``run``."""

    async def run(question: str) -> AgentRun:
        ended = await agent.run(question, **options)
        used = ended.usage() if callable(ended.usage) else ended.usage
        tokens = usage(used.input_tokens, used.output_tokens, used.requests)
        return AgentRun({"messages": json.loads(ended.all_messages_json())}, text_of(ended.output), tokens)

    return run
