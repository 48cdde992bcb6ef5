"""LlamaIndex: workflow context, chat store, a ReAct agent in text, nodes with scores, several agents."""

import asyncio
import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("llama-index-core", "llama-index-llms-openai-like", "llama-index-workflows")
TOOLS = Toolbox("query_engine_tool", "input", "load_url", "url", returns.sources)
ENDS_WITHOUT_ANSWER = False


def make(run: Run) -> dict[str, Any]:
    """A FunctionAgent in a workflow, and a ReActAgent."""
    return asyncio.run(_make(run))


async def _make(run: Run) -> dict[str, Any]:
    from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent, ToolCallResult
    from llama_index.core.memory import ChatMemoryBuffer
    from llama_index.core.storage.chat_store import SimpleChatStore
    from llama_index.core.tools import FunctionTool
    from llama_index.core.workflow import Context, JsonSerializer
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(
        model="scripted-model", api_base=run.v1, api_key="none", is_chat_model=True, is_function_calling_model=True
    )
    tools = [FunctionTool.from_defaults(fn=function) for function in run.script.functions(str, as_text)]
    store = SimpleChatStore()
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000, chat_store=store, chat_store_key=run.name)
    agent = FunctionAgent(
        name="researcher", description="Searches.", tools=tools, llm=model, system_prompt=run.script.system
    )
    workflow = AgentWorkflow(agents=[agent], root_agent="researcher")
    context = Context(workflow)
    handler = workflow.run(user_msg=run.question, memory=memory, ctx=context)
    results = [event async for event in handler.stream_events() if isinstance(event, ToolCallResult)]
    output = await handler
    thinker = ReActAgent(tools=tools, llm=model, system_prompt=run.script.system, streaming=False)
    kept = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    thinking = thinker.run(user_msg=run.question, memory=kept)
    events = [event async for event in thinking.stream_events()]
    reasoned = await thinking
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        # as ``persist`` writes it; with the newest pydantic it fails
        "chat_store": {"store": {run.name: [one.model_dump(mode="json") for one in store.get_messages(run.name)]}},
        "context": json.loads(json.dumps(context.to_dict(serializer=JsonSerializer()), default=str)),
        "answer_and_tools": {
            **about,
            "response": str(output),
            "tool_calls": [event.model_dump(mode="json") for event in results],
        },
        "output_record": {**about, "run": output.model_dump(mode="json")},
        "memory_record": {**about, "chat_history": [one.model_dump(mode="json") for one in memory.get_all()]},
        "react_events": Lines([{"event": type(one).__name__, **_plain(one.model_dump())} for one in events]),
        "react_output": {**about, "run": _plain(reasoned.model_dump())},
        "react_memory": [one.model_dump(mode="json") for one in kept.get_all()],
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
