"""Inspect AI: a solver that keeps the best of several runs; ``agents.inspect_agent`` is for agents outside of it.

Inspect finds it by its entry point: ``inspect eval task.py --solver tracerank/best_of -S inner=generate -S k=4``.
"""

from typing import Any

from inspect_ai.agent import Agent, as_solver, is_agent
from inspect_ai.solver import Generate, Solver, TaskState, fork, solver
from inspect_ai.util import registry_create

from tracerank.pools.pool import PAPER_K
from tracerank.sampling.agent_run import AgentRun
from tracerank.sampling.best_of import best_of as best_run
from tracerank.sampling.integrations.agents import inspect_run
from tracerank.sampling.waves import run_number
from tracerank.votes.base import decision_to_record

METADATA = "tracerank"
"""Key of the decision in a sample's metadata; ``output`` in it is the answer as an object, where it is one."""


@solver
def best_of(inner: Solver | Agent | str = "generate", k: int = PAPER_K, **options: Any) -> Solver:
    """Fork runs of a solver or an agent, given or named, and continue with the state of the best.

    The options are those of ``tr.best_of``. Forks that fail are listed under ``dropped`` in the sample's metadata; the
    sample fails only if all of them do.
    """
    named: Any = registry_create("solver", inner) if isinstance(inner, str) else inner
    run: Any = as_solver(named) if is_agent(named) else named

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        states: dict[int, TaskState] = {}

        async def attempt(question: str) -> AgentRun:
            states[run_number()] = ended = await fork(state, run)
            return inspect_run(question, ended)

        found = await best_run(attempt, state.input_text, k, **options)
        number = found.decision.sample_id
        chosen = states[min(states) if number is None else number]
        chosen.metadata[METADATA] = {
            **decision_to_record(found.pool.question, found.decision),
            "output": found.output,
        }
        return chosen

    return solve
