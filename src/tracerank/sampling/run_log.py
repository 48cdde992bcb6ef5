"""Rollouts of one question as they are made, one line each in a file of canonical rollouts that a later call takes up.

Several questions, calls and processes may share the file. A line that a kill has cut short is left out.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from tracerank.errors import MalformedRollout, ReadError, UsageError
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.runs.locks import holds


class RunLog:
    """The lines of one question."""

    def __init__(self, path: str | os.PathLike[str], question: Question) -> None:
        self.path = Path(path)
        self._question = question
        if self.path.suffix.lower() in (".gz", ".zst"):
            raise UsageError(f"{self.path}: a log grows line by line; name a file that ends in .jsonl")
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{self.path}: is not a regular file; name one")
        if not self.path.parent.is_dir():
            raise UsageError(f"{self.path}: the folder {self.path.parent} does not exist; make it first")

    def kept(self) -> dict[int, Rollout]:
        """Rollouts of the question by their numbers, in ascending order; those of failed runs among them."""
        return {rollout.sample_id: rollout for rollout in sorted(self._rollouts(), key=lambda one: one.sample_id)}

    def add(self, rollout: Rollout) -> None:
        """One line more, out of our hands at once."""
        record = rollout_to_record(self._question, rollout)
        try:
            line = orjson.dumps(record)
        except TypeError:  # lone surrogates, which only the standard library writes
            line = json.dumps(record).encode()
        try:
            with open(self.path, "ab+") as file:
                while not holds(file.fileno()):
                    time.sleep(0.001)  # somebody else writes a line
                end = file.seek(0, os.SEEK_END)
                file.seek(max(0, end - 1))
                is_cut = file.read(1) not in (b"", b"\n")
                file.write((b"\n" if is_cut else b"") + line + b"\n")
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written ({error.strerror or error})") from None

    def _rollouts(self) -> Iterator[Rollout]:
        try:
            lines = self.path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ReadError(f"{self.path}: cannot be read ({error.strerror or error})") from None
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                if line.startswith(b"{"):
                    continue  # cut short by a kill; what follows it was written after
                raise self._refused(number, "expected a JSON object") from None
            if not isinstance(record, dict):
                raise self._refused(number, "expected a JSON object")
            if (record.get("question_id"), record.get("question")) != (self._question.id, self._question.text):
                continue
            try:
                yield record_to_parsed(record).rollout
            except MalformedRollout as error:
                raise self._refused(number, str(error)) from None

    def _refused(self, number: int, why: str) -> ReadError:
        return ReadError(f"{self.path}:{number}: {why}; a log holds canonical rollouts: name another file")
