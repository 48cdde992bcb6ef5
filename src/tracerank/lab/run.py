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
from types import TracebackType
from typing import Any

from tracerank.errors import UsageError
from tracerank.lab.policies import PolicyChoice
from tracerank.lab.sample import (
    Policy,
    Samples,
    Tally,
    Task,
    in_order,
    sample,
    sample_in_processes,
    sample_in_threads,
    tasks_left,
)
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import Question, Rollout
from tracerank.readers.question_files import digest_of
from tracerank.runs.atomic import write_lines
from tracerank.sampling.run_log import has_failed


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is to be sampled, and by how many processes."""

    choice: PolicyChoice
    questions: tuple[Question, ...]
    k: int = PAPER_K
    seed: int = 0
    workers: int = 1
    """Processes of a lexical agent; the rollouts are the same for any number."""
    keeps_failed: bool = False
    """Whether what failed in an earlier attempt is left as it is, not made again."""

    def __post_init__(self) -> None:
        if self.choice.is_chat and self.workers > 1:
            raise UsageError("--workers is for lexical agents; --concurrency says how many chat rollouts are under way")

    @property
    def rollouts(self) -> int:
        """How many rollouts there will be."""
        return len(self.questions) * self.k


@dataclass(slots=True)
class RunAccount:
    """What has been made so far, and how quickly."""

    questions: int
    tally: Tally = field(default_factory=Tally)
    resumed: int = 0
    """Of the rollouts, those of earlier attempts."""
    tokens: int = 0
    """Written by the model in the rollouts of this attempt."""
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def made(self) -> int:
        """Rollouts of this attempt."""
        return self.tally.rollouts - self.resumed

    @property
    def speed(self) -> float:
        """Rollouts a second of this attempt."""
        return self.made / max(self.seconds, 1e-9)

    def record(self) -> dict[str, Any]:
        """The account as JSON has it, unrounded."""
        tally, usage = self.tally, self.tally.usage
        return {
            "questions": self.questions,
            "rollouts": tally.rollouts,
            "resumed": self.resumed,
            "failed": tally.failed,
            "first_failure": tally.first_failure,
            "answered": tally.answered,
            "empty": tally.empty,
            "thought_in_vain": tally.thought_in_vain,
            "without_search": tally.without_search,
            "labelled": tally.labelled,
            "accuracy": tally.accuracy,
            "prompt_tokens": None if usage is None else usage.prompt_tokens,
            "completion_tokens": None if usage is None else usage.completion_tokens,
            "calls": None if usage is None else usage.calls,
            "seconds": self.seconds,
            "rollouts_per_second": self.speed,
        }


class PolicyRun:
    """A plan under way; when the block ends, so does whatever is still being made."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan = plan
        self.account = RunAccount(len(plan.questions))
        self._done: set[tuple[str, int]] = set()

    def __enter__(self) -> "PolicyRun":
        self._stack = ExitStack()
        self._agent: Policy = self._stack.enter_context(self.plan.choice.opened())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def identity(self) -> dict[str, Any]:
        """What two attempts must share for the second to resume the first."""
        plan = self.plan
        return {
            "policy": self._agent.name,
            **plan.choice.sources.identity(),
            "k": plan.k,
            "seed": plan.seed,
            "questions": digest_of(plan.questions),
        }

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
            if self.plan.keeps_failed and key not in self._done:
                self._take(key, rollout)
        return self.account.resumed

    def _take(self, key: tuple[str, int], rollout: Rollout) -> None:
        self.account.tally.add(rollout)
        self.account.resumed += 1
        self._done.add(key)

    def records(self) -> Iterator[dict[str, Any]]:
        """The rollouts that are still to make, each as soon as it is made, as canonical records."""
        tasks = tasks_left(self.plan.questions, self.plan.k, self._done)
        for one in self._stack.enter_context(closing(self._sampled(tasks))):
            self.account.tally.add(one.rollout)
            self.account.tokens += 0 if one.rollout.usage is None else one.rollout.usage.completion_tokens
            yield rollout_to_record(one.question, one.rollout)

    def _sampled(self, tasks: Iterator[Task]) -> Samples:
        choice, seed, workers = self.plan.choice, self.plan.seed, self.plan.workers
        if choice.is_chat:
            return sample_in_threads(self._agent, tasks, seed, choice.concurrency)
        if workers == 1:
            return sample(self._agent, tasks, seed)
        return sample_in_processes(choice.load_lexical, tasks, seed, workers)


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
            for place in in_order(keys, questions):
                file.seek(starts[place])
                yield json.loads(file.readline())

    write_lines(path, records())
