"""Harbor: a job plugin that chooses among the attempts at each task when the job ends.

``harbor run … -k 8 --plugin tracerank.serving.adapters.harbor_job:SelectionPlugin --plugin-kwarg method=majority``.
Harbor itself is not imported: a plugin is any class with the two methods that its protocol names. Rewards of verifiers
are labels in the job folder; no method looks at them.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

import orjson

from tracerank.errors import TraceRankError
from tracerank.methods import load_method
from tracerank.readers import read_pools
from tracerank.readers.files.trial_folders import DECISIONS
from tracerank.votes.base import Method, decision_to_record, with_evidence_note
from tracerank.votes.folders import SHIPPED

_log = logging.getLogger(__name__)


class SelectionPlugin:
    """Decides once all trials have ended; a job that cannot be read is left as it is, and told."""

    def __init__(self, method: str = SHIPPED) -> None:
        self._method: Method = load_method(method)  # a wrong name ends the job before it begins
        self._folder: Path | None = None

    async def on_job_start(self, job: Any) -> None:
        """Notes where the job leaves its trials."""
        self._folder = Path(job.job_dir)

    async def on_job_end(self, job_result: Any) -> None:
        """Writes the decisions; the result itself stays Harbor's."""
        if self._folder is None:
            return
        try:
            await asyncio.to_thread(write_decisions, self._folder, self._method)
        except TraceRankError as error:
            _log.warning("no decisions: %s", error)


def write_decisions(folder: Path, method: Method) -> list[dict[str, Any]]:
    """The decisions on a job folder, a line a task, also written into it."""
    rows: list[dict[str, Any]] = []
    pools = read_pools(folder, on_problem=lambda problem: _log.warning("%s", problem))
    for pool in pools:
        decision = with_evidence_note(pool, method.decide(pool))
        chosen = next((one for one in pool.rollouts if one.sample_id == decision.sample_id), None)
        trial = None if chosen is None or chosen.source is None else _trial(folder, chosen.source)
        rows.append({**decision_to_record(pool.question, decision), "trial": trial})
    (folder / DECISIONS).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return rows


def _trial(folder: Path, source: str) -> str:
    """The name of the trial in whose folder a rollout stands."""
    place = source.removeprefix(f"{folder}/")
    return place.partition("/")[0]
