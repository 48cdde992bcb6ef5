"""The log of ``best_of``: canonical rollouts, one a line, appended as runs end and read by a later call.

Several questions, calls and processes may share the file. A line that a kill has cut short is left out.
"""

import os
from pathlib import Path

from tracerank.errors import UsageError
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.readers import read_pools
from tracerank.runs.atomic import line_of

FAILED = "failed: "
"""Prefix of the problem of a rollout that an error kept from its end; another attempt may reach it."""


def has_failed(rollout: Rollout) -> bool:
    """Whether an error kept the rollout from its end."""
    return (rollout.problem or "").startswith(FAILED)


class RunLog:
    """The lines of one question."""

    def __init__(self, path: str | os.PathLike[str], question: Question) -> None:
        self.path = Path(path)
        self._question = question
        if self.path.suffix.lower() in (".gz", ".zst"):
            raise UsageError(f"{self.path}: a log grows line by line; name a file that ends in .jsonl")
        self._append(b"")

    def rollouts(self) -> dict[int, Rollout]:
        """Rollouts of the question by run number, in ascending order; failed runs are included."""
        pools = read_pools(self.path, on_problem=lambda problem: None) if self.path.stat().st_size else []
        known = (self._question.id, self._question.text)
        own = [one for pool in pools if (pool.question.id, pool.question.text) == known for one in pool.rollouts]
        return {one.sample_id: one for one in sorted(own, key=lambda one: one.sample_id)}

    def add(self, rollout: Rollout) -> None:
        """Append one line and hand it to the operating system."""
        self._append(line_of(rollout_to_record(self._question, rollout)))

    def _append(self, line: bytes) -> None:
        try:
            with open(self.path, "ab+", buffering=0) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
                is_cut = file.read(1) not in (b"", b"\n")
                file.write((b"\n" if is_cut else b"") + line)  # at once, so that processes may share the file
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written ({error.strerror or error})") from None
