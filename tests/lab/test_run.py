"""A run of a policy from Python: every rollout once, several at once, and an account of it."""

import json
import random
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tests.lab.lexical.tiny_corpus import WordRetriever
from tests.lab.shelves import RIVERS, corpus_of
from tracerank.endpoints.chat import Usage
from tracerank.errors import ChatError, UsageError
from tracerank.lab.data import read_data
from tracerank.lab.lexical.policy import LexicalPolicy
from tracerank.lab.policies import PolicyChoice
from tracerank.lab.run import PolicyRun, Tally, write_in_order
from tracerank.lab.sample import Sampled, Task, in_order, sample, sample_in_processes, sample_in_threads, tasks_left
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.types import Question, Rollout, Search

QUESTIONS = tuple(Question(str(n), f"Who designed bridge {n} of Orrin?", ("Maren Holt",)) for n in range(6))
ASKED = tuple(Question(name, f"Who charted the {name} River?", ("Ada Korn",)) for name in ("Velm", "Ostra"))


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


def record_keys(records: Iterable[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(record["question_id"], record["sample_id"]) for record in records]


ALL = [(question.id, number) for question in QUESTIONS for number in range(4)]


def test_what_is_done_is_not_sampled_again() -> None:
    done = {("0", 0), ("0", 2), ("1", 0), ("1", 1), ("1", 2), ("2", 7)}
    assert list(tasks_left(QUESTIONS[:3], 3, done)) == [Task(QUESTIONS[0], (1,)), Task(QUESTIONS[2], (0, 1, 2))]


def test_threads_make_every_rollout_once_and_no_more_at_once_than_allowed() -> None:
    policy = Slow()
    made = list(sample_in_threads(policy, tasks_left(QUESTIONS, 4), 5, threads=3))
    assert sorted(keys(made)) == ALL
    assert all(one.rollout.answer == f"{one.question.id}/{one.rollout.sample_id}/5" for one in made)
    assert 1 < policy.most <= 3


def test_questions_are_taken_only_as_they_are_needed() -> None:
    taken: list[str] = []
    asked = (taken.append(question.id) or question for question in QUESTIONS)  # type: ignore[func-returns-value]
    made = sample_in_threads(Slow(), tasks_left(asked, 4), 0, threads=2)
    next(made)
    made.close()
    assert len(taken) <= 2


@pytest.mark.parametrize("threads", [0, 2])
def test_a_rollout_on_which_a_server_fails_keeps_its_place_and_costs_only_itself(threads: int) -> None:
    policy, tasks = Slow(fails_at=("1", 2)), tasks_left(QUESTIONS, 4)
    made = list(sample_in_threads(policy, tasks, 0, threads) if threads else sample(policy, tasks))
    assert sorted(keys(made)) == ALL
    [failed] = [one for one in made if one.rollout.answer is None]
    assert keys([failed]) == [("1", 2)]
    assert failed.rollout.problem == "failed: the server went away"


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
    assert list(sample_in_processes(load, tasks_left(QUESTIONS, 3), 9, workers=2)) == alone


def test_of_rollouts_made_again_the_last_one_counts() -> None:
    assert in_order([("2", 0), ("0", 10), ("0", 9), ("2", 0), ("1", 0)], QUESTIONS) == [2, 1, 4, 3]


def test_a_tally_counts_what_came_of_rollouts() -> None:
    tally = Tally()
    assert tally.accuracy is None
    tally.add(Rollout(0, "Paris", (Search("capital"),), label=1.0, usage=Usage(10, 2, 3)), is_resumed=True)
    tally.add(Rollout(1, None, label=0.0, usage=Usage(5, 1)))
    tally.add(Rollout(2, "Rome"))
    tally.add(Rollout(3, None, problem="failed: gone", usage=Usage(1, 1)))
    tally.add(Rollout(4, None, problem="no answer: tokens were used up"))
    found = tally.record()
    assert found.pop("seconds") < found.pop("rollouts_per_second")
    assert found == {
        "rollouts": 5,
        "resumed": 1,
        "failed": 1,
        "first_failure": "gone",
        "answered": 2,
        "empty": 2,
        "thought_in_vain": 1,
        "without_search": 3,
        "labelled": 2,
        "accuracy": 0.5,
        "prompt_tokens": 16,
        "completion_tokens": 4,
        "calls": 5,
    }
    assert tally.tokens == 2


# A whole run.


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> PolicyChoice:
    return PolicyChoice("lexical:base", corpus_of(tmp_path_factory.mktemp("run"), RIVERS).folder)


def test_a_run_resumes_after_what_was_written_and_makes_the_same(choice: PolicyChoice) -> None:
    with PolicyRun(choice, ASKED, k=3) as run:
        whole = list(run.records())
    assert record_keys(whole) == [(question.id, number) for question in ASKED for number in range(3)]
    with PolicyRun(choice, ASKED, k=3) as run:
        first = list(islice(run.records(), 2))
    with PolicyRun(choice, ASKED, k=3) as run:
        assert run.take_up(first) == 2
        assert first + list(run.records()) == whole
        assert (run.tally.rollouts, run.tally.resumed) == (6, 2)


def test_a_failed_rollout_is_made_again_unless_it_shall_be_kept(choice: PolicyChoice) -> None:
    question = ASKED[0]
    failed = rollout_to_record(question, Rollout(0, None, problem="failed: gone"))
    with PolicyRun(choice, (question,), k=2) as run:
        assert run.take_up([failed]) == 0
        assert record_keys(run.records()) == [(question.id, 0), (question.id, 1)]
    with PolicyRun(choice, (question,), k=2, keeps_failed=True) as run:
        assert run.take_up([failed]) == 1
        assert record_keys(run.records()) == [(question.id, 1)]
        assert run.tally.failed == 1
    again = rollout_to_record(question, Rollout(0, "Ada Korn"))
    with PolicyRun(choice, (question,), k=2, keeps_failed=True) as run:
        assert run.take_up([failed, again]) == 1
        assert run.tally.failed == 0


def test_only_the_same_run_is_resumed(choice: PolicyChoice) -> None:
    def identity(choice: PolicyChoice, questions: tuple[Question, ...] = ASKED, **given: Any) -> dict[str, Any]:
        with PolicyRun(choice, questions, **{"k": 3, **given}) as run:
            return run.identity()

    own = identity(choice)
    assert identity(choice, workers=4) == own
    others = (
        identity(choice, k=4),
        identity(choice, seed=1),
        identity(choice, ASKED[:1]),
        identity(PolicyChoice("lexical:rl", choice.corpus)),
    )
    assert own not in others


def test_the_finished_file_is_in_the_order_of_the_questions(tmp_path: Path) -> None:
    made = [("Ostra", 1), ("Velm", 1), ("Ostra", 0), ("Velm", 0)]
    part = tmp_path / "part"
    part.write_text("".join(json.dumps({"question_id": q, "sample_id": s}) + "\n" for q, s in made))
    write_in_order(part, tmp_path / "pools.jsonl", ASKED)
    lines = (tmp_path / "pools.jsonl").read_text().splitlines()
    assert record_keys(map(json.loads, lines)) == [("Velm", 0), ("Velm", 1), ("Ostra", 0), ("Ostra", 1)]


def test_processes_are_not_for_an_agent_that_waits_for_a_server(choice: PolicyChoice) -> None:
    with pytest.raises(UsageError, match="concurrency"):
        PolicyRun(PolicyChoice("chat:http://host,m", choice.corpus), ASKED, workers=2)


def test_a_wheel_without_the_data_of_the_laboratory_names_the_way_out() -> None:
    with pytest.raises(UsageError, match=r"^none\.bin: a wheel comes without .* pip install -e '\.\[lab\]'$"):
        read_data("lexical/none.bin")
