"""Inspect AI: an agent for ``tr.best_of``, a solver that keeps the best of K runs, and a reducer of epochs."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracerank.errors import ReadError, UsageError
from tracerank.extras import pip_install
from tracerank.pools.pool import Pool
from tracerank.readers.one_pool import pool_of_rollouts
from tracerank.sampling.best_of import AgentRun
from tracerank.votes.base import Method, decision_to_record, with_evidence_note

if TYPE_CHECKING:
    from inspect_ai.agent import Agent, AgentState
    from inspect_ai.scorer import Score, ScoreReducer
    from inspect_ai.solver import Generate, Solver, TaskState

_log = logging.getLogger(__name__)
METADATA = "tracerank"
"""Key of the solver's decision, and of a score's rollout for the reducer."""


def inspect_agent(agent: Any, **options: Any) -> Callable[[str], Any]:
    """An agent such as ``react(model=…)``, with a model of its own; the options are those of ``run``."""

    async def run(question: str) -> AgentRun:
        state = await import_module("inspect_ai.agent").run(agent, question, **options)
        return AgentRun(_record("run", 1, question, state))  # without usage: only the last reply reports tokens

    return run


def best_of(inner: "Solver | Agent", method: Method, k: int) -> "Solver":
    """A solver that forks K runs of a solver or an agent and continues with the state that ``method`` chooses.

    Failed forks are listed under ``failed`` in the sample's metadata; the sample fails only if all of them do.
    """
    with _installed():
        from anyio import to_thread
        from inspect_ai.agent import as_solver, is_agent
        from inspect_ai.solver import fork, solver
        from inspect_ai.util import collect
    run: Any = as_solver(inner) if is_agent(inner) else inner

    async def attempt(state: "TaskState") -> "TaskState | Exception":
        try:
            ended: TaskState = await fork(state, run)
            return ended
        except Exception as error:  # raised in their task group, it would cancel the others
            return error

    @solver(name="tracerank_best_of")
    def made(method: str, k: int) -> "Solver":  # arguments as Inspect's log shows them
        async def solve(state: "TaskState", generate: "Generate") -> "TaskState":
            states, failed = _without_failed(await collect(*(attempt(state) for _ in range(k))))
            records = [rollout_record(one, index) for index, one in enumerate(states)]
            decided = await to_thread.run_sync(partial(_decided, chosen_by, state.input_text, records))
            chosen = states[decided["sample_id"] or 0]
            chosen.metadata[METADATA] = {**decided, "failed": failed} if failed else decided
            return chosen

        return solve

    chosen_by = method
    return made(method.name, k)


def _without_failed(ended: "Sequence[TaskState | Exception]") -> "tuple[list[TaskState], dict[str, str]]":
    """The states of successful forks, and the errors of the others by index; raises if all failed."""
    errors = {index: one for index, one in enumerate(ended) if isinstance(one, Exception)}
    for index, error in errors.items():
        _log.warning("fork %d of %d failed: %s", index + 1, len(ended), error)
    if len(errors) == len(ended):
        raise errors[0]
    failed = {str(index): f"{type(error).__name__}: {error}" for index, error in errors.items()}
    return [one for one in ended if not isinstance(one, Exception)], failed


def picked_by(method: Method) -> "ScoreReducer":
    """A reducer that returns the score of the epoch that ``method`` chooses.

    It compares answers; a scorer that stores ``rollout_record(state)`` in its metadata, under ``tracerank``, adds the
    evidence.
    """
    with _installed():
        from inspect_ai.scorer import score_reducer

    @score_reducer(name=f"picked_by_{method.name}")
    def made() -> "ScoreReducer":
        def reduce(scores: "list[Score]") -> "Score":
            kept = [(score.metadata or {}).get(METADATA) for score in scores]
            records = [
                {**one, "epoch": index} if isinstance(one, dict) else {"answer": score.answer, "searches": []}
                for index, (one, score) in enumerate(zip(kept, scores, strict=True))
            ]
            decided = _decided(method, None, records, [score.answer for score in scores])
            return scores[decided["sample_id"] or 0]

        return reduce

    return made()


def rollout_record(state: "TaskState", epoch: int | None = None) -> dict[str, Any]:
    """The state as a readable record; the target is left out, since no selector may see it."""
    return _record(str(state.sample_id), state.epoch if epoch is None else epoch, state.input_text, state)


def _record(name: str, epoch: int, question: str, state: "TaskState | AgentState") -> dict[str, Any]:
    messages = [message.model_dump(mode="json") for message in state.messages]
    output = state.output.model_dump(mode="json")
    return {"id": name, "epoch": epoch, "input": question, "target": "", "messages": messages, "output": output}


def _decided(
    method: Method, question: str | None, records: Sequence[Mapping[str, Any]], answers: Sequence[str | None] = ()
) -> dict[str, Any]:
    """The decision on records, numbered by index, in plain values; ``answers``, if given, override theirs."""
    try:
        pool, problems = pool_of_rollouts(question, [{**one, "sample_id": index} for index, one in enumerate(records)])
    except (ReadError, UsageError) as error:
        raise UsageError(f"the rollouts cannot be read: {error}") from None
    if answers:
        pool = Pool.of(pool.question, (replace(one, answer=answers[one.sample_id]) for one in pool.rollouts))
    record = decision_to_record(pool.question, with_evidence_note(pool, method.decide(pool)))
    return {**record, "problems": [str(problem) for problem in problems]}


@contextmanager
def _installed() -> Iterator[None]:
    """Around imports of Inspect: raises UsageError with the command that installs it."""
    try:
        yield
    except ImportError as error:
        raise UsageError(f"this integration needs {error.name}; install it: {pip_install('inspect-ai')}") from None
