"""Sampling an agent: K rollouts of every question into a file, resumed after an interruption, and what they came to."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError
from tracerank.lab.policies import Agent, Policy
from tracerank.pools.canonical import record_to_parsed, rollout_to_record
from tracerank.pools.types import Question, Rollout
from tracerank.readers.sources.question_files import digest_of
from tracerank.runs.atomic import line_of, write_lines
from tracerank.runs.resumable import ResumableLines
from tracerank.sampling.run_log import FAILED, has_failed

Task = tuple[Question, int]
"""A rollout that is still to be made: its question and sample id."""
Sampled = tuple[Question, Rollout]


@dataclass(slots=True)
class Tally:
    """What came of the rollouts so far."""

    rollouts: int = 0
    resumed: int = 0
    """Of the rollouts, those of earlier attempts."""
    failed: int = 0
    """Of the rollouts, those that a server kept from their end; the following counts are without them."""
    answered: int = 0
    empty: int = 0
    """Without an answer."""
    without_search: int = 0
    labelled: int = 0
    correct: float = 0.0
    """Sum of the labels."""
    first_problem: str | None = None
    """Why a rollout failed or did not come to an answer."""
    usage: Usage | None = None
    """Of the rollouts whose tokens were counted."""
    began: float = field(default_factory=time.monotonic)

    def add(self, rollout: Rollout, is_resumed: bool = False) -> None:
        """One more rollout."""
        self.rollouts += 1
        self.resumed += is_resumed
        self.first_problem = self.first_problem or rollout.problem
        self.usage = Usage.total((self.usage, rollout.usage))
        if has_failed(rollout):
            self.failed += 1
            return
        self.answered += bool(rollout.answer)
        self.empty += not rollout.answer
        self.without_search += not rollout.searches
        if rollout.label is not None:
            self.labelled += 1
            self.correct += rollout.label

    @property
    def accuracy(self) -> float | None:
        """Of a single rollout; None: no label is known."""
        return self.correct / self.labelled if self.labelled else None

    @property
    def seconds(self) -> float:
        """Of this attempt."""
        return time.monotonic() - self.began

    def record(self) -> dict[str, Any]:
        """The figures as JSON has them, unrounded."""
        counts = asdict(self)
        tokens = counts.pop("usage") or {}
        del counts["correct"], counts["began"]
        return counts | tokens | {"accuracy": self.accuracy, "seconds": self.seconds}


def sample_pools(
    agent: Agent,
    questions: Sequence[Question],
    output: Path,
    k: int,
    seed: int = 0,
    *,
    force: bool = False,
    on_rollout: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Write K rollouts of every question to ``output``, in the order of the questions.

    The same call resumes an interrupted run, and makes those again that failed.
    """
    tally = Tally()
    done: set[tuple[str, int]] = set()
    run = {"policy": agent.policy.name, "source": agent.source, "k": k, "seed": seed, "questions": digest_of(questions)}
    finish = partial(write_in_order, questions=questions)
    with ResumableLines(output, run, force=force, finish=finish) as lines:
        for row in map(record_to_parsed, lines.kept()):
            if not has_failed(row.rollout):
                done.add((row.question.id, row.rollout.sample_id))
                tally.add(row.rollout, is_resumed=True)
                on_rollout(tally)
        for question, rollout in sample(agent, tasks_left(questions, k, done), seed):
            lines.write(line_of(rollout_to_record(question, rollout)))
            tally.add(rollout)
            on_rollout(tally)
        lines.keep_part = tally.failed > 0
    return tally


def tasks_left(questions: Iterable[Question], k: int, done: Collection[tuple[str, int]] = ()) -> Iterator[Task]:
    """The samples 0 to k-1 of every question without those that are done, given as question id and sample id."""
    return ((question, number) for question in questions for number in range(k) if (question.id, number) not in done)


def sample(agent: Agent, tasks: Iterable[Task], seed: int = 0) -> Iterator[Sampled]:
    """The rollouts as they are made, several at once."""
    left = iter(tasks)
    finished: SimpleQueue[Sampled | BaseException] = SimpleQueue()

    def work(question: Question, number: int) -> None:
        try:
            finished.put((question, _made(agent.policy, question, number, seed)))
        except BaseException as error:  # raised where the results are taken
            finished.put(error)

    under_way = 0
    while True:
        for task in islice(left, agent.concurrency - under_way):
            # Not an executor: its threads are waited for at exit, and a user who interrupts should not wait for a
            # server.
            Thread(target=work, args=task, daemon=True).start()
            under_way += 1
        if not under_way:
            return
        result = finished.get()
        under_way -= 1
        if isinstance(result, BaseException):
            raise result
        yield result


def _made(policy: Policy, question: Question, number: int, seed: int) -> Rollout:
    """The rollout; where a server fails, one with the reason."""
    try:
        return policy.rollout(question, number, seed)
    except ChatError as error:
        if error.ends_all:
            raise
        return Rollout(number, None, problem=f"{FAILED}{error}")


def write_in_order(part: Path, path: Path, questions: Sequence[Question]) -> None:
    """The final file: questions in their order, a question's rollouts together, whichever was finished first."""
    numbers = {question.id: number for number, question in enumerate(questions)}
    starts: dict[tuple[int, int], int] = {}
    with open(part, "rb") as file:
        start = 0
        for line in file:
            record = json.loads(line)
            starts[numbers[record["question_id"]], record["sample_id"]] = start  # of one made again, the last
            start += len(line)

        def records() -> Iterator[dict[str, Any]]:
            for _, start in sorted(starts.items()):
                file.seek(start)
                yield json.loads(file.readline())

        write_lines(path, records())
