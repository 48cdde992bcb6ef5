"""OpenAI Agents SDK: hand-off, structured output, streaming, run state."""

import asyncio
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("openai-agents", "openai")
TOOLS = Toolbox("tavily_search", "query", "fetch_page", "page_url", returns.tavily, returns.page_object)


def make(run: Run) -> dict[str, Any]:
    """A triage agent that hands off, one alone, one with an output type."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from agents import (
        Agent,
        ModelSettings,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI
    from pydantic import BaseModel

    class Finding(BaseModel):
        answer: str
        sources: list[str]

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=run.v1, api_key="none")
    model = OpenAIResponsesModel("scripted-model", client)
    tools = [function_tool(one, strict_mode=False) for one in run.script.functions(str, as_text)]
    settings = ModelSettings(parallel_tool_calls=True)
    agent = Agent(name="researcher", instructions=run.script.system, tools=tools, model=model, model_settings=settings)
    triage = Agent(name="triage", instructions="Hand off at once.", handoffs=[agent], model=model)
    handed = await Runner.run(triage, run.question)
    streamed = Runner.run_streamed(agent, run.question)
    events = [event async for event in streamed.stream_events()]
    chat = Agent(
        name="researcher",
        instructions=run.script.system,
        tools=tools,
        model=OpenAIChatCompletionsModel("scripted-model", client),
        output_type=Finding if run.script.answer else None,
    )
    found = await Runner.run(chat, run.question)
    await client.close()
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "handoff_input_list": handed.to_input_list(),
        "handoff_new_items": {
            "input": run.question,
            "new_items": [_item(item) for item in handed.new_items],
            "final_output": handed.final_output,
            "last_agent": handed.last_agent.name,
        },
        "handoff_state": handed.to_state().to_json(),
        "streamed_items": Lines(
            [{"name": event.name, **_item(event.item)} for event in events if event.type == "run_item_stream_event"]
        ),
        "streamed_input_list": {**about, "run": streamed.to_input_list()},
        "structured_chat": {
            **about,
            "messages": found.to_input_list(),
            "final_output": found.final_output.model_dump() if run.script.answer else found.final_output,
        },
    }


def _item(item: Any) -> dict[str, Any]:
    """As people dump an item: what it is, of whom, and the raw object."""
    raw = item.raw_item
    dumped = {
        "type": item.type,
        "agent": item.agent.name,
        "raw_item": raw if isinstance(raw, dict) else raw.model_dump(),
    }
    return dumped | ({"output": item.output} if item.type == "tool_call_output_item" else {})
