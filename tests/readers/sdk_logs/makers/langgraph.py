"""LangGraph and LangChain: messages_to_dict, dumpd, stream updates, stream events, the SQLite checkpointer."""

import asyncio
import json
from typing import Any

from tests.readers.sdk_logs.run import Lines, Run

PACKAGES = ("langgraph", "langchain", "langchain-core", "langchain-openai", "langgraph-checkpoint-sqlite")


def make(run: Run) -> dict[str, Any]:
    """``create_agent`` with one tool, run once for each way to save."""
    from langchain.agents import create_agent
    from langchain_core.load import dumpd
    from langchain_core.messages import messages_to_dict
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.sqlite import SqliteSaver

    @tool
    def web_search(query: str) -> str:
        """Search the web."""
        return run.found_text(query)

    middleware = _errors_as_messages()
    model = ChatOpenAI(model="scripted-model", base_url=run.v1, api_key="none")
    asked: Any = {"messages": [{"role": "user", "content": run.question}]}
    with SqliteSaver.from_conn_string(str(run.folder / "checkpoint_store.sqlite")) as saver:
        agent = create_agent(model, [web_search], middleware=middleware, checkpointer=saver)
        state = agent.invoke(asked, {"configurable": {"thread_id": run.name}})
    agent = create_agent(model, [web_search], middleware=middleware)
    updates = list(agent.stream(asked, stream_mode="updates"))
    values = list(agent.stream(asked, stream_mode="values"))
    debug = list(agent.stream(asked, stream_mode="debug"))
    events = asyncio.run(_events(agent, asked))
    return {
        "messages_to_dict": messages_to_dict(state["messages"]),
        "in_record": {"question": run.question, "messages": messages_to_dict(state["messages"])},
        "state_dumpd": dumpd(state),
        "state_model_dump": {"messages": [message.model_dump(mode="json") for message in state["messages"]]},
        "stream_updates": Lines([_plain(update) for update in updates]),
        "stream_updates_list": [_plain(update) for update in updates],
        "stream_values": Lines([_plain(value) for value in values]),
        "stream_debug": Lines([_plain(value) for value in debug]),
        "stream_events": Lines([_plain(event) for event in events]),
    }


def _errors_as_messages() -> list[Any]:
    """What the documentation recommends: the error becomes a ToolMessage."""
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage

    def failed(request: Any, error: Exception) -> Any:
        call_id = request.tool_call["id"]
        return ToolMessage(content=f"Tool error: {error}", name="web_search", tool_call_id=call_id, status="error")

    class Handled(AgentMiddleware):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except RuntimeError as error:
                return failed(request, error)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return await handler(request)
            except RuntimeError as error:
                return failed(request, error)

    return [Handled()]


async def _events(agent: Any, asked: Any) -> list[Any]:
    return [event async for event in agent.astream_events(asked, version="v2")]


def _plain(value: Any) -> Any:
    """As JSON with pydantic's own dump of each message, which is what people write with ``default=``."""
    return json.loads(
        json.dumps(value, default=lambda one: one.model_dump() if hasattr(one, "model_dump") else str(one))
    )
