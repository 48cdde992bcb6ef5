"""Other people's agents as agents for ``best_of``: each wrapper takes theirs and returns a function of a question.

    agent = langgraph_agent(graph)
    result = await tr.best_of(agent, "Which city did the composer of Orfeo die in?")

One protocol: a question in, an ``AgentRun`` out, with the transcript as the library dumps it and the tokens that it
counted. The library is imported when the agent is run, if at all. Runs must not share what they remember: where an
agent does remember, the wrapper copies it or asks for a function that makes one.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.waves import run_number

_FINISH = "finish"


def openai_agent(agent: Any, **options: Any) -> Callable[[str], Any]:
    """OpenAI Agents SDK: an ``Agent``; the options are those of ``Runner.run``."""

    async def run(question: str) -> AgentRun:
        ended = await import_module("agents").Runner.run(agent, question, **options)
        record = {"input": question, "items": ended.to_input_list(), "final_output": _text(ended.final_output)}
        used = ended.context_wrapper.usage
        return AgentRun(record, _text(ended.final_output), _usage(used.input_tokens, used.output_tokens, used.requests))

    return run


def langgraph_agent(graph: Any, config: Mapping[str, Any] | None = None) -> Callable[[str], Any]:
    """LangGraph: a compiled graph whose state has ``messages``; its last message has the answer."""

    async def run(question: str) -> AgentRun:
        asked = {"messages": [{"role": "user", "content": question}]}
        state = await graph.ainvoke(asked, config)
        used = [one for message in state["messages"] if (one := getattr(message, "usage_metadata", None))]
        usage = _usage(_sum(used, "input_tokens"), _sum(used, "output_tokens"), len(used))
        return AgentRun({"messages": plain_messages(state["messages"])}, usage=usage)

    return run


def pydantic_agent(agent: Any, **options: Any) -> Callable[[str], Any]:
    """Pydantic AI: an ``Agent``; the options are those of its ``run``."""

    async def run(question: str) -> AgentRun:
        ended = await agent.run(question, **options)
        used = ended.usage() if callable(ended.usage) else ended.usage
        usage = _usage(used.input_tokens, used.output_tokens, used.requests)
        return AgentRun({"messages": json.loads(ended.all_messages_json())}, _text(ended.output), usage)

    return run


def smolagent(make: Callable[[], Any], **options: Any) -> Callable[[str], Any]:
    """smolagents: a function that makes an agent, since one agent holds one conversation; the options are ``run``'s."""

    def run(question: str) -> AgentRun:
        ended = make().run(question, return_full_result=True, **options)
        used = [step["token_usage"] for step in ended.steps if step.get("token_usage")]
        usage = _usage(_sum(used, "input_tokens"), _sum(used, "output_tokens"), len(used))
        return AgentRun(json.loads(json.dumps(ended.dict(), default=str)), _text(ended.output), usage)

    return run


def dspy_agent(
    module: Any, *, question: str = "question", answer: str = "answer", temperature: float = 1.0
) -> Callable[[str], Any]:
    """DSPy: a module; ``question`` and ``answer`` are the names of its fields. Each run has a rollout id of its own."""

    def run(asked: str) -> AgentRun:
        dspy = import_module("dspy")
        attempt = own_copy(module, run_number(), temperature)
        with dspy.context(lm=varied(dspy.settings.lm, run_number(), temperature)), dspy.track_usage() as tracker:
            prediction = attempt(**{question: asked})
        said = _text(prediction.get(answer))
        used = [call for calls in tracker.usage_data.values() for call in calls]
        usage = _usage(_sum(used, "prompt_tokens"), _sum(used, "completion_tokens"), len(used))
        return AgentRun(prediction_record(prediction, said), said, usage)

    return run


def inspect_agent(agent: Any, **options: Any) -> Callable[[str], Any]:
    """Inspect: an agent such as ``react(model=…)``, with a model of its own; the options are those of ``run``."""

    async def run(question: str) -> AgentRun:
        state = await import_module("inspect_ai.agent").run(agent, question, **options)
        record = {
            "id": "run",
            "epoch": 1,
            "input": question,
            "target": "",
            "messages": [message.model_dump(mode="json") for message in state.messages],
            "output": state.output.model_dump(mode="json"),
        }
        return AgentRun(record)  # of the tokens, only those of the last reply are told

    return run


def own_copy(module: Any, number: int, temperature: float) -> Any:
    """A copy of a DSPy module whose models know their rollout."""
    copied = module.deepcopy()
    for predictor in copied.predictors():
        predictor.lm = varied(predictor.lm, number, temperature)
    return copied


def varied(model: Any, number: int, temperature: float) -> Any:
    """Another rollout id makes another entry in DSPy's cache, as its own BestOfN does; None: no model of its own."""
    if model is None:
        return None
    return model.copy(rollout_id=(model.kwargs.get("rollout_id") or 0) + number, temperature=temperature)


def prediction_record(prediction: Any, answer: str | None) -> dict[str, Any]:
    """DSPy's prediction as chat messages, if it has ReAct's trajectory; else its answer alone."""
    trajectory = prediction.get("trajectory")
    if not isinstance(trajectory, Mapping):
        return {"answer": answer, "searches": []}
    messages: list[dict[str, Any]] = [{"role": "user", "content": ""}]
    turn = 0
    while (name := trajectory.get(f"tool_name_{turn}")) is not None:
        if name != _FINISH:
            call = {"id": f"call-{turn}", "function": {"name": name, "arguments": trajectory.get(f"tool_args_{turn}")}}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            returned = trajectory.get(f"observation_{turn}")
            messages.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": returned})
        turn += 1
    return {"messages": [*messages, {"role": "assistant", "content": answer or ""}]}


def plain_messages(messages: Iterable[Any]) -> list[Any]:
    """LangChain's messages, or whatever stands in their place, as plain values."""
    return [_plain(message) for message in messages]


def _plain(message: Any) -> Any:
    return message.model_dump() if hasattr(message, "model_dump") else message


def _text(value: object) -> str | None:
    return None if value is None else str(value).strip()


def _sum(used: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(one.get(name) or 0 for one in used)


def _usage(prompt: int, completion: int, calls: int) -> Usage | None:
    """None: nothing was counted."""
    return Usage(prompt, completion, max(calls, 1)) if prompt or completion else None
