"""Harbor: a job plugin that chooses among the attempts at each task when the job ends.

``harbor run … -k 8 --plugin tracerank.sampling.integrations.harbor:SelectionPlugin --plugin-kwarg method=majority``.
A plugin is any class with these two methods, so Harbor is not imported. No method sees the rewards in the job folder.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

from tracerank.errors import TraceRankError
from tracerank.methods import load_method
from tracerank.readers import read_pools
from tracerank.readers.sources.trial_folders import DECISIONS
from tracerank.runs.atomic import write_lines
from tracerank.votes.base import Method, decision_to_record
from tracerank.votes.folders import SHIPPED

_log = logging.getLogger(__name__)


class SelectionPlugin:
    """Writes a decision a task, with the name of the chosen trial, into the job folder."""

    def __init__(self, method: str = SHIPPED) -> None:
        self._method = load_method(method)  # an unknown name stops the job before it starts
        self._folder: Path | None = None

    async def on_job_start(self, job: Any) -> None:
        self._folder = Path(job.job_dir)

    async def on_job_end(self, job_result: Any) -> None:
        """Harbor's own result stays as it is, also where the job folder cannot be read."""
        if self._folder is not None:
            try:
                await asyncio.to_thread(_write_decisions, self._folder, self._method)
            except TraceRankError as error:
                _log.warning("no decisions: %s", error)


def _write_decisions(folder: Path, method: Method) -> None:
    rows = []
    for pool in read_pools(folder, on_problem=lambda problem: _log.warning("%s", problem)):
        decision = method.decide(pool)
        chosen = next((one for one in pool.rollouts if one.sample_id == decision.sample_id), None)
        source = None if chosen is None else chosen.source
        trial = None if source is None else source.removeprefix(f"{folder}/").partition("/")[0]
        rows.append({**decision_to_record(pool.question, decision), "trial": trial})
    write_lines(folder / DECISIONS, rows)
