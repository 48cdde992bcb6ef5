"""Sampling an agent from Python: every rollout once, several at once, resumed, and an account of it."""

import random
import time
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tests.cli.conftest import json_lines
from tracerank.errors import ChatError, UsageError
from tracerank.lab.policies import Agent
from tracerank.lab.run import Sampled, Tally, sample, sample_pools, tasks_left
from tracerank.pools.types import Question, Rollout

QUESTIONS = tuple(Question(str(n), f"Who designed bridge {n} of Orrin?", ("Maren Holt",)) for n in range(6))
ALL = [(question.id, number) for question in QUESTIONS for number in range(4)]


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

    def rollout(self, question: Question, sample: int, seed: int = 0) -> Rollout:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(random.uniform(0.001, 0.01))
        with self._lock:
            self._now -= 1
            self.made += 1
        if (question.id, sample) == self.fails_at:
            raise self.error
        return Rollout(sample, f"{question.id}/{sample}/{seed}")


def keys(made: Iterable[Sampled]) -> list[tuple[str, int]]:
    return [(question.id, rollout.sample_id) for question, rollout in made]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_every_rollout_is_made_once_and_no_more_at_once_than_allowed(concurrency: int) -> None:
    policy = Slow()
    made = list(sample(Agent(policy, concurrency=concurrency), tasks_left(QUESTIONS, 4), 5))
    assert sorted(keys(made)) == ALL
    assert all(rollout.answer == f"{question.id}/{rollout.sample_id}/5" for question, rollout in made)
    assert min(concurrency, 2) <= policy.most <= concurrency


def test_questions_are_taken_only_as_they_are_needed() -> None:
    taken: list[str] = []
    asked = (taken.append(question.id) or question for question in QUESTIONS)  # type: ignore[func-returns-value]
    next(sample(Agent(Slow(), concurrency=2), tasks_left(asked, 4)))
    assert len(taken) <= 2


def test_a_rollout_on_which_a_server_fails_keeps_its_place_and_costs_only_itself() -> None:
    made = list(sample(Agent(Slow(fails_at=("1", 2)), concurrency=2), tasks_left(QUESTIONS, 4)))
    assert sorted(keys(made)) == ALL
    [failed] = [one for one in made if one[1].answer is None]
    assert keys([failed]) == [("1", 2)]
    assert failed[1].problem == "failed: the server went away"


def test_an_error_that_ends_all_is_raised() -> None:
    policy = Slow(fails_at=("1", 2), is_hopeless=True)
    with pytest.raises(ChatError, match="went away"):
        list(sample(Agent(policy, concurrency=2), tasks_left(QUESTIONS, 4)))
    assert policy.made < 24


def test_a_run_resumes_makes_again_what_failed_and_ends_in_order(tmp_path: Path) -> None:
    path, policy = tmp_path / "pools.jsonl", Slow(fails_at=("1", 2))
    agent = Agent(policy, "index", 2)
    seen: list[int] = []

    def interrupt(tally: Tally) -> None:
        seen.append(tally.rollouts)
        if len(seen) == 5:
            raise KeyboardInterrupt

    def run(**given: Any) -> Tally:
        return sample_pools(agent, QUESTIONS, path, **{"k": 4, **given})

    with pytest.raises(KeyboardInterrupt):
        run(on_rollout=interrupt)
    for others in ({"k": 5}, {"seed": 1}):
        with pytest.raises(UsageError, match="other arguments"):
            run(**others)
    first = run()
    assert (first.rollouts, first.failed, first.first_problem) == (24, 1, "failed: the server went away")
    assert first.resumed in (4, 5)
    policy.fails_at = None
    assert (run().resumed, list(tmp_path.iterdir())) == (23, [path])
    rows = json_lines(path.read_text())
    assert [(row["question_id"], row["sample_id"]) for row in rows] == ALL
    assert [row["answer"] for row in rows if "problem" not in row] == [f"{one}/{number}/0" for one, number in ALL]
    with pytest.raises(UsageError, match="already exists"):
        run()
