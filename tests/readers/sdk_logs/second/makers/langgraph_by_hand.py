"""LangGraph without LangChain's agents: a graph of two nodes, one of which asks the openai client."""

from typing import Any

from tests.readers.sdk_logs.run import Lines, Run, as_text
from tests.readers.sdk_logs.second import returns
from tests.readers.sdk_logs.second.scenario import Toolbox

PACKAGES = ("langgraph", "langchain-core")
TOOLS = Toolbox("web_lookup", "keywords", "open_result", "result_url", returns.as_json_text(returns.duckduckgo))


def make(run: Run) -> dict[str, Any]:
    """``StateGraph`` with a ``ToolNode``, as the tutorials build it."""
    from langchain_core.messages import (
        AIMessage,
        HumanMessage,
        SystemMessage,
        convert_to_openai_messages,
        messages_to_dict,
    )
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
    from openai import OpenAI

    client = OpenAI(base_url=run.v1, api_key="none")

    def ask(state: MessagesState) -> dict[str, Any]:
        sent: Any = convert_to_openai_messages([SystemMessage(run.script.system), *state["messages"]])
        tools: Any = run.chat_tools
        said = client.chat.completions.create(model="scripted-model", messages=sent, tools=tools).choices[0].message
        calls = [_call(call) for call in said.tool_calls or ()]
        return {"messages": [AIMessage(said.content or "", tool_calls=calls)]}

    tools = [StructuredTool.from_function(function) for function in run.script.functions(str, as_text)]
    builder = StateGraph(MessagesState)
    builder.add_node("agent", ask)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=True))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": run.name}}
    state = graph.invoke({"messages": [HumanMessage(run.question)]}, config)
    history = [_snapshot(one) for one in graph.get_state_history(config)]
    about = {"question": run.question, "expected": "the reference of the data set"}
    return {
        "state": {"messages": [message.model_dump() for message in state["messages"]]},
        "dicts_record": {**about, "run": {"messages": messages_to_dict(state["messages"])}},
        "state_history": Lines(history),
    }


def _call(call: Any) -> dict[str, Any]:
    import json

    return {"id": call.id, "name": call.function.name, "args": json.loads(call.function.arguments)}


def _snapshot(snapshot: Any) -> dict[str, Any]:
    """As people keep a state of the history, the newest first."""
    messages = [message.model_dump() for message in snapshot.values.get("messages", ())]
    return {"values": {"messages": messages}, "next": list(snapshot.next), "metadata": snapshot.metadata}
