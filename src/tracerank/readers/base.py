"""The seam between any transcript format and the rest: one record in, one question and rollout out."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol

from tracerank.errors import MalformedRollout
from tracerank.pools.types import Question, Rollout

Record = Mapping[str, Any]
PathLike = str | os.PathLike[str]
GENERAL = "general"
"""The reader that goes by shape; others know who it is without importing it."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A rollout and the question it belongs to."""

    question: Question
    """``id`` groups rollouts into pools; readers of formats without ids use the question text. An empty one: the record
    does not say what was asked, and the name of its file has to."""
    rollout: Rollout
    is_numbered: bool = True
    """False: the format has no sample id; the rollout is numbered by its position in the file."""
    confidence: str = ""
    """How sure a reading by shape is: ``high``, ``medium``, ``low``. Empty: the reader knows its format."""
    doubt: str = ""
    """What logs of this kind do not say or leave open; reported once for all rollouts that share it."""
    loss: str = ""
    """What was seen in this record and not understood; reported with its source."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read as it stands, and what was done about it."""

    source: str
    """``file:line``, ``file:[index]`` or the file."""
    reason: str

    def __str__(self) -> str:
        """One line, also where the name of a tool in the log has several."""
        return " ".join(f"{self.source}: {self.reason}".split("\n"))


class RecordAt(NamedTuple):
    """One JSON object and where it stands."""

    value: Record
    source: str
    """``file:line`` in JSON Lines, ``file:[index]`` in a JSON array, followed by the place inside a container."""
    size: int
    """Bytes it takes in the (uncompressed) file; in an intact array, the average."""
    parsed: Parsed | None = None
    """The rollout, where it was read with the line; then ``value`` holds the schema and nothing else."""


class Reader(Protocol):
    """One transcript format."""

    name: str

    def recognises(self, record: Record) -> bool:
        """Whether the record's content is of this format; cheap, never raises."""
        ...

    def parse(self, record: Record, source: str) -> Parsed:
        """The record as a rollout; raises MalformedRollout for what cannot be one."""
        ...


class UnreadableRollout(MalformedRollout):
    """A malformed rollout whose place in a pool is known, so that it can be dropped with a reason."""

    def __init__(self, reason: str, question: Question, sample_id: int | None) -> None:
        super().__init__(reason)
        self.question = question
        self.sample_id = sample_id


def reject(reason: str, question: Question | None = None, sample_id: int | None = None) -> NoReturn:
    """Raise the right error for a record that cannot be a rollout."""
    if question is None:
        raise MalformedRollout(reason)
    raise UnreadableRollout(reason, question, sample_id)
