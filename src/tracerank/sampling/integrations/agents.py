"""Agents of other libraries as agents for ``tr.best_of``: each function takes one and returns a function of a question.

The library is imported when an agent runs, never before.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.waves import run_number

AsyncAgent = Callable[[str], Awaitable[AgentRun]]


def openai_agent(agent: Any, **options: Any) -> AsyncAgent:
    """An ``Agent`` of the OpenAI Agents SDK; the options are those of ``Runner.run``."""

    async def run(question: str) -> AgentRun:
        ended = await import_module("agents").Runner.run(agent, question, **options)
        answer, used = _text(ended.final_output), ended.context_wrapper.usage
        record = {"input": question, "items": ended.to_input_list(), "final_output": answer}
        return AgentRun(record, answer, _usage(used.input_tokens, used.output_tokens, used.requests))

    return run


def langgraph_agent(graph: Any, config: Mapping[str, Any] | None = None) -> AsyncAgent:
    """A compiled graph whose state has ``messages``; the answer is in the last of them."""

    async def run(question: str) -> AgentRun:
        state = await graph.ainvoke({"messages": [{"role": "user", "content": question}]}, config)
        used = [one for message in state["messages"] if (one := getattr(message, "usage_metadata", None))]
        return AgentRun({"messages": [message.model_dump() for message in state["messages"]]}, usage=_total(used))

    return run


def pydantic_agent(agent: Any, **options: Any) -> AsyncAgent:
    """An ``Agent`` of Pydantic AI; the options are those of its ``run``."""

    async def run(question: str) -> AgentRun:
        ended = await agent.run(question, **options)
        used = ended.usage() if callable(ended.usage) else ended.usage
        tokens = _usage(used.input_tokens, used.output_tokens, used.requests)
        return AgentRun({"messages": json.loads(ended.all_messages_json())}, _text(ended.output), tokens)

    return run


def inspect_agent(agent: Any, **options: Any) -> AsyncAgent:
    """An agent of Inspect such as ``react(model=…)``, with a model of its own; the options are those of ``run``."""

    async def run(question: str) -> AgentRun:
        state = await import_module("inspect_ai.agent").run(agent, question, **options)
        return AgentRun(inspect_record(question, state))  # without usage: only the last reply reports tokens

    return run


def inspect_record(question: str, state: Any) -> dict[str, Any]:
    """A state of Inspect as a readable record; the target is left out, since no selector may see it."""
    messages = [message.model_dump(mode="json") for message in state.messages]
    output = state.output.model_dump(mode="json")
    return {"id": "run", "epoch": 1, "input": question, "target": "", "messages": messages, "output": output}


def smolagent(make: Callable[[], Any], **options: Any) -> Callable[[str], AgentRun]:
    """``make`` returns a new agent of smolagents for each run, since an agent holds one conversation."""

    def run(question: str) -> AgentRun:
        ended = make().run(question, return_full_result=True, **options)
        used = _total(step["token_usage"] for step in ended.steps if step.get("token_usage"))
        return AgentRun(json.loads(json.dumps(ended.dict(), default=str)), _text(ended.output), used)

    return run


def dspy_agent(
    module: Any, *, question: str = "question", answer: str = "answer", temperature: float = 1.0
) -> Callable[[str], AgentRun]:
    """A module of DSPy; ``question`` and ``answer`` are names of its fields. Each run has its own rollout id."""

    def run(asked: str) -> AgentRun:
        dspy: Any = import_module("dspy")
        with _varied(dspy, module, run_number(), temperature) as attempt, dspy.track_usage() as tracker:
            prediction = attempt(**{question: asked})
        text = _text(prediction.get(answer))
        calls = [call for calls in tracker.usage_data.values() for call in calls]
        record = {"question": asked, "trajectory": prediction.get("trajectory"), "answer": text}  # ReAct's; else None
        return AgentRun(record, text, _total(calls, "prompt_tokens", "completion_tokens"))

    return run


@contextmanager
def _varied(dspy: Any, module: Any, number: int, temperature: float) -> Iterator[Any]:
    """A copy of the module whose models have a rollout id of their own, and so their own entries in DSPy's cache."""

    def own(model: Any) -> Any:
        known = None if model is None else model.kwargs.get("rollout_id") or 0
        return None if known is None else model.copy(rollout_id=known + number, temperature=temperature)

    copied = module.deepcopy()
    for predictor in copied.predictors():
        predictor.lm = own(predictor.lm)
    with dspy.context(lm=own(dspy.settings.lm)):
        yield copied


def _text(value: object) -> str | None:
    return None if value is None else str(value).strip()


def _usage(prompt: int, reply: int, calls: int) -> Usage | None:
    """Tokens of a run; None: nothing was counted."""
    return Usage(prompt, reply, max(calls, 1)) if prompt or reply else None


def _total(
    counts: Iterable[Mapping[str, Any]], prompt: str = "input_tokens", reply: str = "output_tokens"
) -> Usage | None:
    """The sum of token counts with these keys, one mapping a call."""
    known = list(counts)
    return _usage(sum(one.get(prompt) or 0 for one in known), sum(one.get(reply) or 0 for one in known), len(known))
