"""DSPy: a module as an agent for ``tr.best_of``."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import text_of, usage_of
from tracerank.sampling.waves import run_number

_FINISH = "finish"


def dspy_agent(
    module: Any, *, question: str = "question", answer: str = "answer", temperature: float = 1.0
) -> Callable[[str], Any]:
    """A module; ``question`` and ``answer`` are names of its fields. Each run has its own rollout id."""

    def run(asked: str) -> AgentRun:
        dspy: Any = import_module("dspy")
        with _varied(dspy, module, run_number(), temperature) as attempt, dspy.track_usage() as tracker:
            prediction = attempt(**{question: asked})
        text = text_of(prediction.get(answer))
        calls = [call for calls in tracker.usage_data.values() for call in calls]
        return AgentRun(_record(prediction, text), text, usage_of(calls, "prompt_tokens", "completion_tokens"))

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


def _record(prediction: Any, answer: str | None) -> dict[str, Any]:
    """The prediction as chat messages, if it has ReAct's trajectory; otherwise its answer alone."""
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
