"""One run of a policy: K rollouts of every question, resumed after an interruption, and what it came to.

The caller keeps the rollouts meanwhile, by ``runs.ResumableLines``, and gives them back after an interruption; failed
ones are then made again. The finished file is in the order of the questions.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.errors import UsageError
from tracerank.lab.policies import PolicyChoice
from tracerank.lab.sample import Policy, Samples, in_order, sample, sample_in_processes, sample_in_threads, tasks_left
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import Question, Rollout
from tracerank.readers.question_files import digest_of
from tracerank.runs.atomic import write_lines
from tracerank.sampling.run_log import FAILED, has_failed


@dataclass(slots=True)
class Tally:
    """What came of the rollouts so far."""

    rollouts: int = 0
    resumed: int = 0
    """Of the rollouts, those of earlier attempts."""
    failed: int = 0
    """Of the rollouts, those that a server kept from their end; they are in none of the figures below."""
    first_failure: str | None = None
    empty: int = 0
    """Without an answer."""
    thought_in_vain: int = 0
    """Of the empty ones, those whose tokens were used up before anything was said."""
    without_search: int = 0
    labelled: int = 0
    correct: float = 0.0
    """Sum of the labels."""
    usage: Usage | None = None
    """Of the rollouts whose tokens were counted; None: of none."""
    tokens: int = 0
    """Written by the model in this attempt."""
    began: float = field(default_factory=time.monotonic)

    def add(self, rollout: Rollout, is_resumed: bool = False) -> None:
        self.rollouts += 1
        self.resumed += is_resumed
        if rollout.usage is not None:
            self.usage = rollout.usage if self.usage is None else self.usage + rollout.usage
            self.tokens += 0 if is_resumed else rollout.usage.completion_tokens
        if has_failed(rollout):
            self.failed += 1
            self.first_failure = self.first_failure or (rollout.problem or "").removeprefix(FAILED)
            return
        self.empty += not rollout.answer
        self.thought_in_vain += not rollout.answer and rollout.problem is not None
        self.without_search += not rollout.searches
        if rollout.label is not None:
            self.labelled += 1
            self.correct += rollout.label

    @property
    def answered(self) -> int:
        return self.rollouts - self.failed - self.empty

    @property
    def accuracy(self) -> float | None:
        """Of a single rollout; None: no label is known."""
        return self.correct / self.labelled if self.labelled else None

    @property
    def seconds(self) -> float:
        """Of this attempt."""
        return time.monotonic() - self.began

    @property
    def rollouts_per_second(self) -> float:
        """Of this attempt."""
        return (self.rollouts - self.resumed) / max(self.seconds, 1e-9)

    def record(self) -> dict[str, Any]:
        """The figures as JSON has them, unrounded."""
        counts = ("rollouts", "resumed", "failed", "first_failure", "answered", "empty", "thought_in_vain")
        tokens = ("prompt_tokens", "completion_tokens", "calls")
        return {
            **{name: getattr(self, name) for name in (*counts, "without_search", "labelled", "accuracy")},
            **{name: None if self.usage is None else getattr(self.usage, name) for name in tokens},
            **{name: getattr(self, name) for name in ("seconds", "rollouts_per_second")},
        }


@dataclass(slots=True)
class PolicyRun:
    """K rollouts of every question; when the block ends, so does whatever is still being made."""

    choice: PolicyChoice
    questions: tuple[Question, ...]
    k: int = PAPER_K
    seed: int = 0
    workers: int = 1
    """Processes of a lexical agent; the rollouts are the same for any number."""
    keeps_failed: bool = False
    """Whether what failed in an earlier attempt is left as it is, not made again."""
    tally: Tally = field(default_factory=Tally, init=False)
    _done: set[tuple[str, int]] = field(default_factory=set, init=False)
    _stack: ExitStack = field(default_factory=ExitStack, init=False)
    _agent: Policy = field(init=False)

    def __post_init__(self) -> None:
        if self.choice.is_chat and self.workers > 1:
            raise UsageError("--workers is for lexical agents; --concurrency says how many chat rollouts are under way")
        self._agent = self._stack.enter_context(self.choice.opened())

    def __enter__(self) -> "PolicyRun":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def identity(self) -> dict[str, Any]:
        """What two attempts must share for the second to resume the first."""
        run = {"policy": self._agent.name, "k": self.k, "seed": self.seed, "questions": digest_of(self.questions)}
        return run | self.choice.source()

    def take_up(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Count the rollouts that an earlier attempt wrote, which are not made again; how many they are."""
        failed: dict[tuple[str, int], Rollout] = {}
        for row in map(record_to_parsed, records):
            key = (row.question.id, row.rollout.sample_id)
            if has_failed(row.rollout):
                failed[key] = row.rollout
            else:
                self._take(key, row.rollout)
        for key, rollout in failed.items():
            if self.keeps_failed and key not in self._done:
                self._take(key, rollout)
        return self.tally.resumed

    def _take(self, key: tuple[str, int], rollout: Rollout) -> None:
        self.tally.add(rollout, is_resumed=True)
        self._done.add(key)

    def records(self) -> Iterator[dict[str, Any]]:
        """The rollouts that are still to make, each as soon as it is made, as canonical records."""
        for question, rollout in self._stack.enter_context(closing(self._sampled())):
            self.tally.add(rollout)
            yield rollout_to_record(question, rollout)

    def _sampled(self) -> Samples:
        tasks = tasks_left(self.questions, self.k, self._done)
        if self.choice.is_chat:
            return sample_in_threads(self._agent, tasks, self.seed, self.choice.concurrency)
        if self.workers == 1:
            return sample(self._agent, tasks, self.seed)
        return sample_in_processes(self.choice.load_lexical, tasks, self.seed, self.workers)


def write_in_order(part: Path, path: Path, questions: Sequence[Question]) -> None:
    """The final file: questions in their order, a question's rollouts together, whichever was finished first."""
    keys: list[tuple[str, int]] = []
    starts = [0]
    with open(part, "rb") as file:
        for line in file:
            record = json.loads(line)
            keys.append((record["question_id"], record["sample_id"]))
            starts.append(starts[-1] + len(line))

    def records() -> Iterator[dict[str, Any]]:
        with open(part, "rb") as file:
            for index in in_order(keys, questions):
                file.seek(starts[index])
                yield json.loads(file.readline())

    write_lines(path, records())
