"""DSPy: a module as an agent for ``tr.best_of``, and a module that runs another one K times and keeps the best."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tracerank.errors import UsageError
from tracerank.sampling.best_of import AgentRun
from tracerank.sampling.integrations.records import decide_records, installed, text_of, usage_of
from tracerank.sampling.waves import Failure, in_thread, run_blocking, run_in_waves, run_number
from tracerank.stopping.rules import Verdict
from tracerank.votes.base import Method

_log = logging.getLogger(__name__)
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


def selecting_module(
    module: Any,
    method: Method,
    k: int,
    *,
    temperature: float = 1.0,
    question: str = "question",
    answer: str = "answer",
    threads: int | None = None,
) -> Any:
    """A ``dspy.Module`` around ``module``; ``question`` and ``answer`` are names of its fields.

    Called or awaited (``acall``), it runs ``module`` with K rollout ids, at most ``threads`` at once; None: as many as
    DSPy's ``num_threads``. The chosen prediction is returned with an additional field ``decision``.
    ``choose(question, predictions)`` takes predictions made before.
    """
    with installed("dspy"):
        dspy: Any = import_module("dspy")  # untyped

    class Selecting(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, **inputs: Any) -> Any:
            return run_blocking(self.aforward(**inputs))

        async def aforward(self, **inputs: Any) -> Any:
            async def attempt(index: int) -> Any:
                with _varied(dspy, self.module, index, temperature) as copied:
                    if hasattr(copied, "aforward"):
                        return await copied.acall(**inputs)
                    return await in_thread(lambda: copied(**inputs))

            found = _Predictions()
            await run_in_waves(attempt, found, range(k), threads or dspy.settings.num_threads or k)
            if not found.made:
                raise UsageError(f"all {k} runs of the module failed; the log says why")
            predictions = [prediction for _, prediction in sorted(found.made.items())]
            return await in_thread(self.choose, inputs.get(question), predictions)

        def choose(self, asked: str | None, predictions: Sequence[Any]) -> Any:
            answers = [text_of(prediction.get(answer)) for prediction in predictions]
            records = [_record(prediction, text) for prediction, text in zip(predictions, answers, strict=True)]
            decided = decide_records(method, asked, records, answers)
            chosen = predictions[decided["sample_id"] or 0]
            return dspy.Prediction(**{**chosen.toDict(), "decision": decided})

    return Selecting()


class _Predictions:
    """All predictions by run number; failed runs are logged."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}

    def take(self, number: int, ended: Any) -> None:
        if isinstance(ended, Failure):
            _log.warning("run %d failed: %s", number + 1, ended.reason)
        else:
            self.made[number] = ended

    def should_continue(self) -> Verdict:
        return Verdict(True, "every run is wanted")


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
