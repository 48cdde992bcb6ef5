"""A DSPy module that runs another one K times and returns the prediction that a method chooses."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from importlib import import_module
from typing import Any

from tracerank.errors import UsageError
from tracerank.extras import pip_install
from tracerank.sampling.wrappers import own_copy, prediction_record, varied
from tracerank.serving.adapters.langgraph_node import decide_records
from tracerank.votes.base import Method

_log = logging.getLogger(__name__)


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
    """A ``dspy.Module`` around ``module``; ``question`` and ``answer`` are the names of its fields.

    Called or awaited (``acall``), it runs ``module`` with K rollout ids, at most ``threads`` at once; None: as many as
    DSPy's ``num_threads`` says. ``choose(question, predictions)`` takes predictions made before.
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
            with ThreadPoolExecutor(self._at_once(), "rollout") as runs:
                # Each with a copy of DSPy's context, which else would stay in this thread.
                ended = [runs.submit(copy_context().run, self._attempt, place, inputs) for place in range(k)]
            return self._chosen(inputs, [one.result() for one in ended])

        async def aforward(self, **inputs: Any) -> Any:
            turns = asyncio.Semaphore(self._at_once())
            ended = await asyncio.gather(*(self._awaited_attempt(place, inputs, turns) for place in range(k)))
            return await asyncio.to_thread(self._chosen, inputs, ended)

        def _at_once(self) -> int:
            return max(1, min(k, threads or dspy.settings.num_threads or k))

        def _chosen(self, inputs: Mapping[str, Any], ended: Sequence[Any]) -> Any:
            predictions = [found for found in ended if found is not None]
            if not predictions:
                raise UsageError(f"all {k} runs of the module failed; the log says why")
            return self.choose(inputs.get(question), predictions)

        def choose(self, asked: str | None, predictions: Sequence[Any]) -> Any:
            answers = [_text(prediction.get(answer)) for prediction in predictions]
            records = [
                prediction_record(prediction, given) for prediction, given in zip(predictions, answers, strict=True)
            ]
            decided = decide_records(method, asked, records, answers)
            chosen = predictions[decided["sample_id"] or 0]
            return dspy.Prediction(**{**chosen.toDict(), "decision": decided})

        def _attempt(self, place: int, inputs: Mapping[str, Any]) -> Any:
            try:
                with dspy.context(lm=varied(dspy.settings.lm, place, temperature)):
                    return own_copy(self.module, place, temperature)(**inputs)
            except Exception as error:  # a failed rollout is no candidate, and no reason to lose the others
                return _told(place, k, error)

        async def _awaited_attempt(self, place: int, inputs: Mapping[str, Any], turns: asyncio.Semaphore) -> Any:
            async with turns:
                if not hasattr(self.module, "aforward"):
                    return await asyncio.to_thread(self._attempt, place, inputs)
                try:
                    with dspy.context(lm=varied(dspy.settings.lm, place, temperature)):
                        return await own_copy(self.module, place, temperature).acall(**inputs)
                except Exception as error:
                    return _told(place, k, error)

    return Selecting()


def _told(place: int, k: int, error: Exception) -> None:
    _log.warning("run %d of %d failed: %s", place + 1, k, error)


def _text(value: Any) -> str | None:
    return None if value is None else str(value).strip()
