"""Inspect AI: a solver that runs another one K times and keeps the best, and a reducer that picks among epochs."""

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tracerank.errors import UsageError
from tracerank.extras import pip_install
from tracerank.serving.adapters.langgraph_node import decide_records
from tracerank.votes.base import Method

if TYPE_CHECKING:
    from inspect_ai.agent import Agent
    from inspect_ai.scorer import Score, ScoreReducer
    from inspect_ai.solver import Generate, Solver, TaskState

_log = logging.getLogger(__name__)
METADATA = "tracerank"
"""Where the solver leaves its decision, and where the reducer looks for a score's rollout."""


def best_of(inner: "Solver | Agent | Sequence[Solver | Agent]", method: Method, k: int) -> "Solver":
    """A solver that forks K runs of ``inner`` and goes on with the state of the rollout that ``method`` chooses.

    ``inner`` is a solver, an agent such as ``react()``, or several to run one after another. A fork that fails is left
    out and told under ``failed``; only when all fail does the sample.
    """
    try:
        from anyio import to_thread
        from inspect_ai.agent import as_solver, is_agent
        from inspect_ai.solver import chain, fork, solver
        from inspect_ai.util import collect
    except ImportError as error:
        raise UsageError(f"the Inspect solver needs {error.name}; install it: {pip_install('inspect-ai')}") from None

    run: Any = as_solver(inner) if is_agent(inner) else chain(*inner) if isinstance(inner, list | tuple) else inner

    async def attempt(state: "TaskState") -> "TaskState | Exception":
        try:
            ended: TaskState = await fork(state, run)
            return ended
        except Exception as error:  # in one task group with the others, it would end them, too
            return error

    @solver(name="tracerank_best_of")
    def made(method: str, k: int) -> "Solver":  # what the log tells of it
        async def solve(state: "TaskState", generate: "Generate") -> "TaskState":
            states, failed = _sorted_out(await collect(*(attempt(state) for _ in range(k))))
            records = [rollout_record(one, place) for place, one in enumerate(states)]
            decided = await to_thread.run_sync(partial(decide_records, chosen_by, state.input_text, records))
            chosen = states[decided["sample_id"] or 0]
            chosen.metadata[METADATA] = {**decided, "failed": failed} if failed else decided
            return chosen

        return solve

    chosen_by = method
    return made(method.name, k)


def _sorted_out(ended: "Sequence[TaskState | Exception]") -> "tuple[list[TaskState], dict[str, str]]":
    """The states of forks that ended well, and the place of each other one to its error; raises if all failed."""
    errors = {place: one for place, one in enumerate(ended) if isinstance(one, Exception)}
    for place, error in errors.items():
        _log.warning("fork %d of %d failed: %s", place + 1, len(ended), error)
    if len(errors) == len(ended):
        raise errors[0]
    failed = {str(place): f"{type(error).__name__}: {error}" for place, error in errors.items()}
    return [one for one in ended if not isinstance(one, Exception)], failed


def picked_by(method: Method) -> "ScoreReducer":
    """A reducer whose score of a sample is that of the epoch that ``method`` chooses.

    It sees answers; a scorer that keeps ``rollout_record(state)`` in its metadata, under ``tracerank``, shows the
    evidence, too.
    """
    try:
        from inspect_ai.scorer import score_reducer
    except ImportError as error:
        raise UsageError(f"the Inspect reducer needs {error.name}; install it: {pip_install('inspect-ai')}") from None

    @score_reducer(name=f"picked_by_{method.name}")
    def made() -> "ScoreReducer":
        def reduce(scores: "list[Score]") -> "Score":
            return scores[_picked(method, scores)]

        return reduce

    return made()


def rollout_record(state: "TaskState", epoch: int | None = None) -> dict[str, Any]:
    """The state as a record that tracerank reads; the target is left out, which no selector may see."""
    return {
        "id": str(state.sample_id),
        "epoch": state.epoch if epoch is None else epoch,
        "input": state.input_text,
        "target": "",
        "messages": [message.model_dump(mode="json") for message in state.messages],
        "output": state.output.model_dump(mode="json"),
    }


def _picked(method: Method, scores: "Sequence[Score]") -> int:
    records = [
        {**kept, "epoch": place} if isinstance(kept := (score.metadata or {}).get(METADATA), dict) else
        {"question_id": "sample", "answer": score.answer, "searches": []}
        for place, score in enumerate(scores)
    ]  # fmt: skip
    place: int | None = decide_records(method, None, records, [score.answer for score in scores])["sample_id"]
    return place or 0
