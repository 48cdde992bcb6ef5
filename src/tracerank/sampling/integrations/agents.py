"""Agents of other libraries as agents for ``tr.best_of``; a library is imported when its agent runs, never before."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from uuid import uuid4

from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError
from tracerank.sampling.agent_run import Agent, AgentRun, tokens
from tracerank.sampling.waves import run_number


def openai_agent(agent: Any, **options: Any) -> Agent:
    """An ``Agent`` of the OpenAI Agents SDK; the options are those of ``Runner.run``."""
    return lambda question: import_module("agents").Runner.run(agent, question, **options)


def langgraph_agent(graph: Any, config: Mapping[str, Any] | None = None) -> Agent:
    """A compiled graph whose state has ``messages``, and ``structured_response`` or the answer in the last of them.

    Every run is a thread of its own, so that a checkpointer does not mix them.
    """

    async def run(question: str) -> AgentRun:
        given = dict(config or {})
        own = {**given, "configurable": {**given.get("configurable", {}), "thread_id": str(uuid4())}}
        state = await graph.ainvoke({"messages": [{"role": "user", "content": question}]}, own)
        used = [one for message in state["messages"] if (one := getattr(message, "usage_metadata", None))]
        record = {"messages": [message.model_dump() for message in state["messages"]]}
        return AgentRun.of_output(record, state.get("structured_response"), _total(used))

    return run


def pydantic_agent(agent: Any, **options: Any) -> Agent:
    """An ``Agent`` of Pydantic AI; the options are those of its ``run``."""
    return lambda question: agent.run(question, **options)


def inspect_agent(agent: Any, **options: Any) -> Agent:
    """An agent of Inspect such as ``react(model=…)``, with a model of its own; the options are those of ``run``."""

    async def run(question: str) -> AgentRun:
        state = await import_module("inspect_ai.agent").run(agent, question, **options)
        return inspect_run(question, state)

    return run


def inspect_run(question: str, state: Any) -> AgentRun:
    """A state of Inspect as a run; a reply that is a JSON object, as a ``response_schema`` asks for, becomes a mapping.

    The target is left out, since no selector may see it, and so is the usage: only the last reply reports tokens.
    """
    messages = [message.model_dump(mode="json") for message in state.messages]
    output = state.output.model_dump(mode="json")
    record = {"id": "run", "epoch": 1, "input": question, "target": "", "messages": messages, "output": output}
    return AgentRun.of_output(record, _json_object(state.output.completion), None)


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def smolagent(make: Callable[[], Any], **options: Any) -> Agent:
    """``make`` returns a new agent of smolagents for each run, since an agent holds one conversation."""

    def run(question: str) -> AgentRun:
        ended = make().run(question, return_full_result=True, **options)
        used = _total(step["token_usage"] for step in ended.steps if step.get("token_usage"))
        return AgentRun.of_output(json.loads(json.dumps(ended.dict(), default=str)), ended.output, used)

    return run


def dspy_agent(
    module: Any, *, question: str | None = None, answer: str | None = None, temperature: float = 1.0
) -> Agent:
    """A module of DSPy; ``question`` and ``answer`` name its fields where its signature has several.

    Each run has its own rollout id.
    """
    known = getattr(module, "signature", None)
    question = _field("question", question, () if known is None else known.input_fields)
    answer = _field("answer", answer, () if known is None else known.output_fields)

    def run(text: str) -> AgentRun:
        dspy: Any = import_module("dspy")
        with _varied(dspy, module, run_number(), temperature) as attempt, dspy.track_usage() as tracker:
            prediction = attempt(**{question: text})
        if answer not in prediction:
            raise UsageError(f"the prediction has no field {answer!r}; name one of {', '.join(prediction)} as answer=")
        calls = [call for calls in tracker.usage_data.values() for call in calls]
        record = {"question": text, "trajectory": prediction.get("trajectory")}  # of ReAct; else None
        return AgentRun.of_output(record, prediction[answer], _total(calls, "prompt_tokens", "completion_tokens"))

    return run


def _field(usual: str, named: str | None, fields: Collection[str]) -> str:
    """The field of a signature that is meant: the one named, the usual one, or the only one."""
    names = [name for name in fields if name != "reasoning"]
    if (named or usual) in names or not names:
        return named or usual
    if named is not None or len(names) > 1:
        raise UsageError(f"{usual}={named or usual!r}: the signature has {', '.join(names)}; name one of them")
    return names[0]


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


def _total(
    counts: Iterable[Mapping[str, Any]], prompt: str = "input_tokens", reply: str = "output_tokens"
) -> Usage | None:
    """The sum of token counts with these keys, one mapping a call."""
    known = list(counts)
    return tokens(sum(one.get(prompt) or 0 for one in known), sum(one.get(reply) or 0 for one in known), len(known))
