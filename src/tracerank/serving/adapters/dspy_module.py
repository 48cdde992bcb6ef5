"""A DSPy module that runs another one K times and returns the prediction that a method chooses."""

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from tracerank.errors import UsageError
from tracerank.extras import pip_install
from tracerank.methods.base import Method
from tracerank.serving.adapters.langgraph_node import decide_records

_FINISH = "finish"
_log = logging.getLogger(__name__)


def selecting_module(
    module: Any, method: Method, k: int, *, temperature: float = 1.0, question: str = "question", answer: str = "answer"
) -> Any:
    """A ``dspy.Module`` around ``module``; ``question`` and ``answer`` are the names of its fields.

    Called, it runs ``module`` with K rollout ids; ``choose(question, predictions)`` takes predictions made before.
    The chosen prediction is returned with a field ``decision`` more.
    """
    try:
        dspy: Any = import_module("dspy")  # it has no types
    except ImportError as error:
        raise UsageError(f"the DSPy module needs {error.name}; install it: {pip_install('dspy')}") from None

    class Selecting(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, **inputs: Any) -> Any:
            predictions = [found for place in range(k) if (found := self._attempt(place, inputs)) is not None]
            if not predictions:
                raise UsageError(f"all {k} runs of the module failed; the log says why")
            return self.choose(inputs.get(question), predictions)

        def choose(self, asked: str | None, predictions: Sequence[Any]) -> Any:
            answers = [_text(prediction.get(answer)) for prediction in predictions]
            records = [_record(prediction, given) for prediction, given in zip(predictions, answers, strict=True)]
            decided = decide_records(method, asked, records, answers)
            chosen = predictions[decided["sample_id"] or 0]
            return dspy.Prediction(**{**chosen.toDict(), "decision": decided})

        def _attempt(self, place: int, inputs: Mapping[str, Any]) -> Any:
            attempt = self.module.deepcopy()
            for predictor in attempt.predictors():
                predictor.lm = _varied(predictor.lm, place, temperature)
            try:
                with dspy.context(lm=_varied(dspy.settings.lm, place, temperature)):
                    return attempt(**inputs)
            except Exception as error:  # a failed rollout is no candidate, and no reason to lose the others
                _log.warning("run %d of %d failed: %s", place + 1, k, error)
                return None

    return Selecting()


def _varied(model: Any, place: int, temperature: float) -> Any:
    """Another rollout id makes another entry in DSPy's cache, as its own BestOfN does; None: no model of its own."""
    if model is None:
        return None
    return model.copy(rollout_id=(model.kwargs.get("rollout_id") or 0) + place, temperature=temperature)


def _record(prediction: Any, answer: str | None) -> dict[str, Any]:
    """The prediction as chat messages, if it has ReAct's trajectory; else its answer alone."""
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


def _text(value: Any) -> str | None:
    return None if value is None else str(value).strip()
