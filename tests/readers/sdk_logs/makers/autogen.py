"""AutoGen: the agent's ``save_state`` and the ``TaskResult`` of a run."""

import asyncio
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("autogen-agentchat", "autogen-ext", "autogen-core")


def make(run: Run) -> dict[str, Any]:
    """An AssistantAgent with one tool; it goes on until it answers."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    async def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    info: Any = {
        "vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False
    }  # fmt: skip
    client = OpenAIChatCompletionClient(model="scripted-model", base_url=run.v1, api_key="none", model_info=info)
    agent = AssistantAgent("assistant", client, tools=[web_search], max_tool_iterations=5, reflect_on_tool_use=False)
    result = await agent.run(task=run.question)
    state = await agent.save_state()
    await client.close()
    dumped = result.model_dump(mode="json")
    return {"task_result": dumped, "state": dict(state), "messages": Lines(dumped["messages"])}
