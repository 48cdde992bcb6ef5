"""``python -m tests.sampling.integrations.wrapped_agents LIBRARY``: an agent of a library in three runs of ``best_of``.

The model is played by the scripted server of the readers' tests. Prints what came of it as JSON. Each library runs in a
process of its own, because they warn, patch and start threads.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

import tracerank as tr
from tests.model_server import Reply, Server
from tests.readers.sdk_logs.questions import QUESTIONS, results, script
from tests.readers.sdk_logs.server import serving
from tracerank.errors import UsageError
from tracerank.sampling.integrations.agents import (
    dspy_agent,
    inspect_agent,
    langgraph_agent,
    openai_agent,
    pydantic_agent,
    smolagent,
)

_QUESTION, _ROLLOUT = 0, 3
"""It asks twice, one query after the other."""


def openai_agents(v1: str) -> Any:
    from agents import Agent, OpenAIChatCompletionsModel, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def web_search(query: str) -> str:
        """Search the web."""
        return _found(query)

    model = OpenAIChatCompletionsModel("scripted-model", AsyncOpenAI(base_url=v1, api_key="none"))
    return openai_agent(Agent(name="searcher", tools=[web_search], model=model), max_turns=6)


def langgraph(_: str) -> Any:
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    played = script(_QUESTION, _ROLLOUT)

    @tool
    def web_search(query: str) -> str:
        """Search the web."""
        return _found(query)

    def model(state: MessagesState) -> dict[str, Any]:
        turn = len(state["messages"]) // 2
        queries = [query for step in played.steps for query in step.queries][turn : turn + 1]
        calls: Any = [{"id": str(turn), "name": "web_search", "args": {"query": query}} for query in queries]
        used: Any = {"input_tokens": 2, "output_tokens": 1, "total_tokens": 3}
        said = "" if calls else QUESTIONS[_QUESTION].right
        return {"messages": [AIMessage(said, tool_calls=calls, usage_metadata=used)]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([web_search]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return langgraph_agent(graph.compile(checkpointer=InMemorySaver()))


def pydantic_ai(v1: str) -> Any:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent: Any = Agent(OpenAIChatModel("scripted-model", provider=OpenAIProvider(base_url=v1, api_key="none")))

    @agent.tool_plain  # type: ignore[untyped-decorator, unused-ignore]
    def web_search(query: str) -> list[dict[str, str]]:
        """Search the web."""
        return results(query)

    return pydantic_agent(agent)


def smolagents(v1: str) -> Any:
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    @tool  # type: ignore[untyped-decorator, unused-ignore]
    def web_search(query: str) -> str:
        """Search the web.

        Args:
            query: What to search for.
        """
        return _found(query)

    model = OpenAIServerModel(model_id="scripted-model", api_base=v1, api_key="none")
    return smolagent(lambda: ToolCallingAgent(tools=[web_search], model=model, verbosity_level=0))


def dspy(v1: str) -> Any:
    import dspy

    def web_search(query: str) -> list[dict[str, str]]:
        """Search the web."""
        return results(query)

    dspy.configure(lm=dspy.LM("openai/scripted-model", api_base=v1, api_key="none", cache=False, num_retries=0))
    return dspy_agent(dspy.ReAct("question -> answer", tools=[web_search], max_iters=5))


def inspect_ai(v1: str) -> Any:
    from inspect_ai.agent import AgentState, agent
    from inspect_ai.model import get_model
    from inspect_ai.tool import tool

    model = get_model("openai-api/scripted/scripted-model", base_url=v1, api_key="none", memoize=False)

    @tool
    def web_search() -> Any:
        async def execute(query: str) -> str:
            """Search the web.

            Args:
                query: What to search for.
            """
            return _found(query)

        return execute

    @agent
    def searcher() -> Any:
        async def execute(state: AgentState) -> AgentState:
            messages, state.output = await model.generate_loop(state.messages, tools=[web_search()])
            state.messages.extend(messages)
            return state

        return execute

    return inspect_agent(searcher())


def _found(query: str) -> str:
    return json.dumps(results(query))


MAKERS: dict[str, Callable[[str], Any]] = {
    made.__name__: made for made in (openai_agents, langgraph, pydantic_ai, smolagents, dspy, inspect_ai)
}


class River(BaseModel):
    """What the structured agents answer with."""

    name: str
    km: int


_DANUBE = River(name="Danube", km=2850)


def openai_agents_structured(v1: str) -> Any:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel("scripted-model", AsyncOpenAI(base_url=v1, api_key="none"))
    agent = Agent(name="searcher", model=model, output_type=River)
    return lambda question: Runner.run(agent, question)  # a bare RunResult


def pydantic_ai_structured(v1: str) -> Any:
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("scripted-model", provider=OpenAIProvider(base_url=v1, api_key="none"))
    return pydantic_agent(Agent(model, output_type=NativeOutput(River)))


def langgraph_structured(_: str) -> Any:
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph

    class State(MessagesState):
        structured_response: River

    def model(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("done")], "structured_response": _DANUBE}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_edge(START, "model")
    return langgraph_agent(graph.compile())


def dspy_structured(v1: str) -> Any:
    import dspy

    class Ask(dspy.Signature):
        asked: str = dspy.InputField()
        river: River = dspy.OutputField()

    dspy.configure(lm=dspy.LM("openai/scripted-model", api_base=v1, api_key="none", cache=False, num_retries=0))
    refused = ""
    try:
        dspy_agent(dspy.Predict("asked -> river, lake"))
    except UsageError as error:
        refused = str(error)
    assert "river, lake; name one" in refused
    return dspy_agent(dspy.Predict(Ask))


def inspect_ai_structured(v1: str) -> Any:
    from inspect_ai.agent import AgentState, agent
    from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
    from inspect_ai.util import json_schema

    config = GenerateConfig(response_schema=ResponseSchema(name="river", json_schema=json_schema(River)))
    model = get_model("openai-api/scripted/scripted-model", base_url=v1, api_key="none", memoize=False, config=config)

    @agent
    def answerer() -> Any:
        async def execute(state: AgentState) -> AgentState:
            state.output = await model.generate(state.messages)
            state.messages.append(state.output.message)
            return state

        return execute

    return inspect_agent(answerer())


def smolagents_structured(v1: str) -> Any:
    from smolagents import OpenAIServerModel, ToolCallingAgent

    def make() -> Any:
        model = OpenAIServerModel("scripted-model", api_base=v1, api_key="none")
        return ToolCallingAgent(tools=[], model=model, verbosity_level=0)

    return smolagent(make)


def structured(library: str) -> None:
    """The object that comes back, from a model that spells it in another order each time."""

    def said_so(request: dict[str, Any]) -> Reply:
        fields = json.dumps(_DANUBE.model_dump()) if len(server.requests) % 2 else '{"km": 2850, "name": "danube"}'
        text = f"[[ ## river ## ]]\n{fields}\n\n[[ ## completed ## ]]" if library == "dspy" else fields
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if library == "smolagents":
            function = {"name": "final_answer", "arguments": json.dumps({"answer": json.loads(fields)})}
            message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        used = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": used}
        return Reply(body=whole)

    server = Server(said_so)
    agent = globals()[f"{library}_structured"](f"{server.url}/v1")
    result = tr.run_best_of(agent, "Which river?", k=3, parallel=1, rule=tr.FixedK(3), timeout=60)
    made = result.output if isinstance(result.output, dict) else result.output.model_dump()
    assert isinstance(result.output, dict) is (library in ("inspect_ai", "smolagents")), result  # they make no River
    print(json.dumps({"output": made, "answer": result.answer, "group": result.decision.group}))


def main(library: str) -> None:
    """Run it and print what came of it."""
    played = script(_QUESTION, _ROLLOUT)
    with serving(script) as address:
        agent = MAKERS[library](f"{address}/q{_QUESTION}r{_ROLLOUT}/v1")
        for _ in range(2):  # clients keep connections from the first call
            result = tr.run_best_of(agent, played.question, k=3, parallel=2, rule=tr.FixedK(3), timeout=60)
    wanted = [query for step in played.steps for query in step.queries]
    found = {
        "answers": [one.answer for one in result.pool.rollouts],
        "queries": [[search.query for search in one.searches] == wanted for one in result.pool.rollouts],
        "evidence": [sum(len(search.evidence) for search in one.searches) for one in result.pool.rollouts],
        "problems": list(result.decision.dropped.values()),
        "calls": None if result.cost is None else result.cost.calls,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    (structured if sys.argv[2:] else main)(sys.argv[1])
