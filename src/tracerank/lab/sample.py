"""Running a policy over questions: what is left to sample, by one process or several, and what came of it.

A policy is whatever makes rollouts: a question and sample numbers in, rollouts out.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Protocol, TypeVar

from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError, RetrieveError
from tracerank.pools.types import Question, Rollout
from tracerank.runs.process_map import ordered_map
from tracerank.sampling.run_log import FAILED, has_failed


class Policy(Protocol):
    """An agent that can be sampled."""

    @property
    def name(self) -> str:
        """Settles, with seed and question, what is sampled: ``lexical:base``, ``chat:URL#MODEL:tags``."""
        ...

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, in their order."""
        ...


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """Rollouts of one question that are still to be made."""

    question: Question
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A rollout that was made, and its question."""

    question: Question
    rollout: Rollout


Samples = Generator[Sampled, None, None]
"""Close it to end the work."""


def tasks_left(questions: Iterable[Question], k: int, done: Collection[tuple[str, int]] = ()) -> Iterator[Task]:
    """The samples 0 to k-1 of every question without those that are done, given as question id and sample id."""
    for question in questions:
        samples = tuple(sample for sample in range(k) if (question.id, sample) not in done)
        if samples:
            yield Task(question, samples)


def sample(policy: Policy, tasks: Iterable[Task], seed: int = 0) -> Samples:
    """The rollouts one after the other; one on which a server fails keeps its place, with the reason."""
    for task in tasks:
        left = list(task.samples)
        while left:
            try:
                for rollout in policy.rollouts(task.question, tuple(left), seed):
                    left.remove(rollout.sample_id)
                    yield Sampled(task.question, rollout)
                break
            except (ChatError, RetrieveError) as error:
                if error.ends_all:
                    raise
                yield Sampled(task.question, Rollout(left.pop(0), None, problem=f"{FAILED}{error}"))


def sample_in_threads(policy: Policy, tasks: Iterable[Task], seed: int, threads: int) -> Samples:
    """Each rollout as soon as it is made, for a policy that waits for servers; an error of another kind ends it all."""
    single = (Task(task.question, (number,)) for task in tasks for number in task.samples)
    waiting: SimpleQueue[Task | None] = SimpleQueue()
    finished: SimpleQueue[Sampled | BaseException] = SimpleQueue()

    def work() -> None:
        while (task := waiting.get()) is not None:
            try:
                [made] = sample(policy, (task,), seed)
                finished.put(made)
            except BaseException as error:  # raised where the results are taken
                finished.put(error)

    # Not an executor: its threads are waited for at exit, and a user who interrupts should not wait for a server.
    for _ in range(threads):
        Thread(target=work, name="tracerank-sample", daemon=True).start()
    try:
        under_way = _put(waiting, islice(single, threads))
        while under_way:
            made = finished.get()
            if isinstance(made, BaseException):
                yield from _already_made(finished)
                raise made
            under_way += _put(waiting, islice(single, 1)) - 1
            yield made
    finally:
        _put(waiting, [None] * threads)


def sample_in_processes(load: Callable[[], Policy], tasks: Iterable[Task], seed: int, workers: int) -> Samples:
    """The rollouts in order, for a policy that computes; each worker process loads its own."""
    yield from ordered_map(_Sampler(load, seed), tasks, workers, block=1)


@dataclass(frozen=True, slots=True)
class _Sampler:
    """What a worker process does with tasks."""

    load: Callable[[], Policy]
    seed: int

    def __call__(self) -> Callable[[list[Task]], Iterable[Sampled]]:
        policy = self.load()
        return lambda tasks: sample(policy, tasks, self.seed)


def _already_made(finished: "SimpleQueue[Sampled | BaseException]") -> Iterator[Sampled]:
    """What others finished before the one that failed is noticed; it was paid for."""
    while not finished.empty():
        made = finished.get()
        if isinstance(made, Sampled):
            yield made


def _put(queue: "SimpleQueue[T]", items: Iterable[T]) -> int:
    count = 0
    for item in items:
        queue.put(item)
        count += 1
    return count


@dataclass(slots=True)
class Tally:
    """What came of the rollouts so far."""

    rollouts: int = 0
    failed: int = 0
    """Of the rollouts, those that a server kept from their end; they are in none of the figures below."""
    first_failure: str | None = None
    """Why the first of them failed."""
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

    def add(self, rollout: Rollout) -> None:
        self.rollouts += 1
        if rollout.usage is not None:
            self.usage = rollout.usage if self.usage is None else self.usage + rollout.usage
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


def in_order(keys: Sequence[tuple[str, int]], questions: Iterable[Question]) -> list[int]:
    """The places of (question id, sample id) pairs in the order of the questions, samples ascending.

    Of equal pairs it is the last: the rollout was made again, because it had failed.
    """
    places = {question.id: place for place, question in enumerate(questions)}
    last = {key: at for at, key in enumerate(keys)}
    return sorted(last.values(), key=lambda at: (places[keys[at][0]], keys[at][1]))
