"""The runner: what is left, several at once, and errors that cost nothing that was finished."""

import random
import time
from collections.abc import Iterable, Iterator
from functools import partial
from threading import Lock

import pytest

from tests.lab.lexical.tiny_corpus import WordRetriever
from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.sample import (
    Sampled,
    Tally,
    Task,
    in_order,
    sample,
    sample_in_processes,
    sample_in_threads,
    tasks_left,
)
from tracerank.pools.types import Question, Rollout, Search
from tracerank.sampling.run_log import has_failed

QUESTIONS = tuple(Question(str(n), f"Who designed bridge {n} of Orrin?", ("Maren Holt",)) for n in range(6))


class Slow:
    """A policy whose rollouts take their time; remembers how many were under way at once."""

    name = "slow"

    def __init__(self, fails_at: tuple[str, int] | None = None, is_hopeless: bool = False) -> None:
        self.fails_at = fails_at
        self.error = ChatError("the server went away")
        self.error.ends_all = is_hopeless
        self.most = self.made = 0
        self._now = 0
        self._lock = Lock()

    def rollouts(self, question: Question, samples: Iterable[int], seed: int = 0) -> Iterator[Rollout]:
        for number in samples:
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
            time.sleep(random.uniform(0.001, 0.01))
            with self._lock:
                self._now -= 1
                self.made += 1
            if (question.id, number) == self.fails_at:
                raise self.error
            yield Rollout(number, f"{question.id}/{number}/{seed}")


def keys(made: Iterable[Sampled]) -> list[tuple[str, int]]:
    return [(one.question.id, one.rollout.sample_id) for one in made]


def test_what_is_done_is_not_sampled_again() -> None:
    done = {("0", 0), ("0", 2), ("1", 0), ("1", 1), ("1", 2), ("2", 7)}
    assert list(tasks_left(QUESTIONS[:3], 3, done)) == [Task(QUESTIONS[0], (1,)), Task(QUESTIONS[2], (0, 1, 2))]


def test_threads_make_every_rollout_once_and_no_more_at_once_than_allowed() -> None:
    policy = Slow()
    made = list(sample_in_threads(policy, tasks_left(QUESTIONS, 4), 5, threads=3))
    assert sorted(keys(made)) == [(question.id, n) for question in QUESTIONS for n in range(4)]
    assert all(one.rollout.answer == f"{one.question.id}/{one.rollout.sample_id}/5" for one in made)
    assert 1 < policy.most <= 3


def test_questions_are_taken_only_as_they_are_needed() -> None:
    taken: list[str] = []

    def asked() -> Iterator[Question]:
        for question in QUESTIONS:
            taken.append(question.id)
            yield question

    made = sample_in_threads(Slow(), tasks_left(asked(), 4), 0, threads=2)
    next(made)
    made.close()
    assert len(taken) <= 2


@pytest.mark.parametrize("threads", [0, 2])
def test_a_rollout_on_which_a_server_fails_keeps_its_place_and_costs_only_itself(threads: int) -> None:
    policy, tasks = Slow(fails_at=("1", 2)), tasks_left(QUESTIONS, 4)
    made = list(sample_in_threads(policy, tasks, 0, threads) if threads else sample(policy, tasks))
    assert sorted(keys(made)) == [(question.id, n) for question in QUESTIONS for n in range(4)]
    [failed] = [one for one in made if one.rollout.answer is None]
    assert keys([failed]) == [("1", 2)]
    assert failed.rollout.problem == "failed: the server went away"
    assert has_failed(failed.rollout)


def test_an_error_that_ends_all_is_raised_after_what_was_finished() -> None:
    policy = Slow(fails_at=("1", 2), is_hopeless=True)
    got: list[tuple[str, int]] = []
    with pytest.raises(ChatError, match="went away"):
        got.extend(keys([one]).pop() for one in sample_in_threads(policy, tasks_left(QUESTIONS, 4), 0, threads=2))
    assert ("1", 2) not in got
    earlier = {*(("0", number) for number in range(4)), ("1", 0), ("1", 1)}
    assert len(earlier - set(got)) <= 1  # the other thread may still be at one of them
    assert policy.made < 24


def test_processes_make_the_same_rollouts_as_one() -> None:
    load = partial(LexicalPolicy, WordRetriever())
    alone = list(sample(load(), tasks_left(QUESTIONS, 3), 9))
    shared = list(sample_in_processes(load, tasks_left(QUESTIONS, 3), 9, workers=2))
    assert shared == alone


def test_rollouts_are_put_in_the_order_of_the_questions() -> None:
    again = [("2", 0), ("0", 9), ("2", 0)]
    assert in_order(again, QUESTIONS) == [1, 2]  # what was made again stands for what had failed
    shuffled = [("2", 0), ("0", 10), ("0", 9), ("2", 1), ("1", 0)]
    assert [shuffled[place] for place in in_order(shuffled, QUESTIONS)] == [
        ("0", 9),
        ("0", 10),
        ("1", 0),
        ("2", 0),
        ("2", 1),
    ]


def test_a_tally_counts_what_came_of_rollouts() -> None:
    tally = Tally()
    assert tally.accuracy is None
    tally.add(Rollout(0, "Paris", (Search("capital"),), label=1.0, usage=Usage(10, 2, 3)))
    tally.add(Rollout(1, None, label=0.0, usage=Usage(5, 1)))
    tally.add(Rollout(2, "Rome"))
    assert (tally.rollouts, tally.answered, tally.empty, tally.without_search) == (3, 2, 1, 2)
    assert tally.accuracy == 0.5
    assert tally.usage == Usage(15, 3, 4)
    tally.add(Rollout(3, None, problem="failed: gone", usage=Usage(1, 1)))
    tally.add(Rollout(4, None, problem="no answer: tokens were used up"))
    assert (tally.rollouts, tally.failed, tally.first_failure) == (5, 1, "gone")
    assert (tally.answered, tally.empty, tally.thought_in_vain) == (2, 2, 1)
    assert tally.usage == Usage(16, 4, 5)
