"""Inspect AI: a solver that keeps the best of several runs; ``agents.inspect_agent`` is for agents outside of it."""

from typing import TYPE_CHECKING, Any

from tracerank.pools.pool import PAPER_K
from tracerank.sampling.best_of import best_of as best_run
from tracerank.sampling.integrations.agents import inspect_record
from tracerank.sampling.waves import run_number
from tracerank.votes.base import decision_to_record

if TYPE_CHECKING:
    from inspect_ai.agent import Agent
    from inspect_ai.solver import Generate, Solver, TaskState

METADATA = "tracerank"
"""Key of the decision in a sample's metadata."""


def best_of(inner: "Solver | Agent", k: int = PAPER_K, **options: Any) -> "Solver":
    """A solver that forks runs of a solver or an agent and continues with the state of the best.

    The options are those of ``tr.best_of``. Forks that fail are listed under ``dropped`` in the sample's metadata; the
    sample fails only if all of them do.
    """
    from inspect_ai.agent import as_solver, is_agent
    from inspect_ai.solver import fork, solver

    run: Any = as_solver(inner) if is_agent(inner) else inner

    @solver(name="tracerank_best_of")
    def made(k: int) -> "Solver":  # arguments as Inspect's log shows them
        async def solve(state: "TaskState", generate: "Generate") -> "TaskState":
            states: dict[int, TaskState] = {}

            async def attempt(question: str) -> dict[str, Any]:
                states[run_number()] = ended = await fork(state, run)
                return inspect_record(question, ended)

            found = await best_run(attempt, state.input_text, k, **options)
            decided = decision_to_record(found.pool.question, found.decision)
            number = found.decision.sample_id
            chosen = states[min(states) if number is None else number]
            chosen.metadata[METADATA] = decided
            return chosen

        return solve

    return made(k)
