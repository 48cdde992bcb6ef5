"""The log of ``best_of``: canonical rollouts, one a line, appended as runs end and read by a later call.

Several questions, calls and processes may share the file. A line that a kill has cut short is left out.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tracerank.errors import MalformedRollout, ReadError, UsageError
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.runs.atomic import line_of
from tracerank.runs.locks import holds

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
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self.path}: not a regular file")
        if not self.path.parent.is_dir():
            raise UsageError(f"{self.path}: the folder {self.path.parent} does not exist; create it first")

    def rollouts(self) -> dict[int, Rollout]:
        """Rollouts of the question by run number, in ascending order; failed runs are included."""
        return {one.sample_id: one for one in sorted(self._read(), key=lambda one: one.sample_id)}

    def add(self, rollout: Rollout) -> None:
        """Append one line and hand it to the operating system."""
        line = line_of(rollout_to_record(self._question, rollout))
        try:
            with open(self.path, "ab+") as file:
                while not holds(file.fileno()):
                    time.sleep(0.001)  # another process is writing a line
                file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
                is_cut = file.read(1) not in (b"", b"\n")
                file.write((b"\n" if is_cut else b"") + line)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written ({error.strerror or error})") from None

    def _read(self) -> Iterator[Rollout]:
        try:
            lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        except OSError as error:
            raise ReadError(f"{self.path}: cannot be read ({error.strerror or error})") from None
        asked = (self._question.id, self._question.text)
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if (record.get("question_id"), record.get("question")) == asked:
                    yield record_to_parsed(record).rollout
            except (MalformedRollout, ValueError, RecursionError, AttributeError) as error:
                if line.startswith(b"{") and not isinstance(error, MalformedRollout):
                    continue  # cut short by a kill; the next line was written after it
                why = error if isinstance(error, MalformedRollout) else "expected a JSON object"
                raise ReadError(f"{self.path}:{number}: {why}; a log holds canonical rollouts, one a line") from None
