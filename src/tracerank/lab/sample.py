"""Running a policy over questions: what is left to sample, one by one, in threads or in processes.

A policy is whatever makes rollouts: a question and sample numbers in, rollouts out.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import NamedTuple, Protocol

from tracerank.errors import ChatError, RetrieveError
from tracerank.pools.types import Question, Rollout
from tracerank.runs.process_map import ordered_map
from tracerank.sampling.run_log import FAILED


class Policy(Protocol):
    """An agent that can be sampled."""

    @property
    def name(self) -> str:
        """Settles, with seed and question, what is sampled: ``lexical:base``, ``chat:URL#MODEL:tags``."""
        ...

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        """The rollouts with these sample ids, in their order."""
        ...


class Task(NamedTuple):
    """Rollouts of one question that are still to be made."""

    question: Question
    samples: tuple[int, ...]


class Sampled(NamedTuple):
    """A rollout that was made, and its question."""

    question: Question
    rollout: Rollout


Samples = Generator[Sampled, None, None]
"""Close it to end the work."""


def tasks_left(questions: Iterable[Question], k: int, done: Collection[tuple[str, int]] = ()) -> Iterator[Task]:
    """The samples 0 to k-1 of every question without those that are done, given as question id and sample id."""
    for question in questions:
        if samples := tuple(sample for sample in range(k) if (question.id, sample) not in done):
            yield Task(question, samples)


def sample(policy: Policy, tasks: Iterable[Task], seed: int = 0) -> Samples:
    """The rollouts one after the other; one on which a server fails keeps its place, with the reason."""
    for question, samples in tasks:
        left = list(samples)
        while left:
            try:
                for rollout in policy.rollouts(question, tuple(left), seed):
                    left.remove(rollout.sample_id)
                    yield Sampled(question, rollout)
                break
            except (ChatError, RetrieveError) as error:
                if error.ends_all:
                    raise
                yield Sampled(question, Rollout(left.pop(0), None, problem=f"{FAILED}{error}"))


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
    under_way = 0
    try:
        while True:
            for task in islice(single, threads - under_way):
                waiting.put(task)
                under_way += 1
            if not under_way:
                return
            result = finished.get()
            if isinstance(result, BaseException):
                while not finished.empty():  # what others finished meanwhile was paid for
                    if isinstance(other := finished.get(), Sampled):
                        yield other
                raise result
            under_way -= 1
            yield result
    finally:
        for _ in range(threads):
            waiting.put(None)


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


def in_order(keys: Sequence[tuple[str, int]], questions: Iterable[Question]) -> list[int]:
    """The indexes of (question id, sample id) pairs in the order of the questions, samples ascending.

    Of equal pairs it is the last: the rollout was made again, because it had failed.
    """
    numbers = {question.id: number for number, question in enumerate(questions)}
    last = {key: index for index, key in enumerate(keys)}
    return sorted(last.values(), key=lambda index: (numbers[keys[index][0]], keys[index][1]))
