"""LlamaIndex: the agent's output, the memory as messages and as a dict, and the events of the run."""

import asyncio
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("llama-index-core", "llama-index-llms-openai-like", "llama-index-workflows")


def make(run: Run) -> dict[str, Any]:
    """A FunctionAgent with one tool."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.llms.openai_like import OpenAILike

    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    model = OpenAILike(
        model="scripted-model", api_base=run.v1, api_key="none", is_chat_model=True, is_function_calling_model=True
    )
    agent = FunctionAgent(tools=[web_search], llm=model)
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    handler = agent.run(user_msg=run.question, memory=memory)
    events = [event async for event in handler.stream_events()]
    output = await handler
    return {
        "agent_output": output.model_dump(mode="json"),
        "memory_messages": [message.model_dump(mode="json") for message in memory.get_all()],
        "memory": memory.to_dict(),
        "events": Lines([{"event": type(event).__name__, **event.model_dump(mode="json")} for event in events]),
    }
