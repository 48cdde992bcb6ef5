"""OpenAI Agents SDK: ``to_input_list``, ``new_items``, raw responses and the SQLite session."""

import asyncio
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("openai-agents", "openai")


def make(run: Run) -> dict[str, Any]:
    """By the Responses API, then by chat completions."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        SQLiteSession,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    client = AsyncOpenAI(base_url=run.v1, api_key="none")
    session = SQLiteSession(run.name, run.folder / "session_store.sqlite")
    agent = Agent(name="searcher", tools=[web_search], model=OpenAIResponsesModel("scripted-model", client))
    result = await Runner.run(agent, run.question, session=session)
    items = await session.get_items()
    session.close()
    by_chat = Agent(name="searcher", tools=[web_search], model=OpenAIChatCompletionsModel("scripted-model", client))
    chatted = await Runner.run(by_chat, run.question)
    await client.close()
    return {
        "to_input_list": result.to_input_list(),
        "in_record": {"input": run.question, "items": result.to_input_list(), "final_output": result.final_output},
        "session_items": Lines(list(items)),
        "chat_to_input_list": chatted.to_input_list(),
        "raw_responses": Lines([one.model_dump(mode="json") for one in _raw(result)]),
    }


def _raw(result: Any) -> list[Any]:
    from openai.types.responses import ResponseOutputItem
    from pydantic import RootModel

    return [RootModel[ResponseOutputItem](item) for one in result.raw_responses for item in one.output]
