"""A run of a policy from Python: every rollout once, whatever was made before, and an account of it."""

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.lab.shelves import RIVERS, corpus_of
from tracerank.errors import UsageError
from tracerank.lab.policies import PolicyChoice, Sources
from tracerank.lab.run import PolicyRun, RunPlan, write_in_order
from tracerank.pools.canonical import rollout_to_record
from tracerank.pools.types import Question, Rollout

QUESTIONS = tuple(Question(name, f"Who charted the {name} River?", ("Ada Korn",)) for name in ("Velm", "Ostra"))


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> PolicyChoice:
    return PolicyChoice("lexical:base", Sources(corpus_of(tmp_path_factory.mktemp("run"), RIVERS).folder))


def keys(records: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(record["question_id"], record["sample_id"]) for record in records]


def test_a_run_goes_on_from_what_was_written_and_makes_the_same(choice: PolicyChoice) -> None:
    plan = RunPlan(choice, QUESTIONS, k=3)
    with PolicyRun(plan) as run:
        whole = list(run.records())
    assert keys(whole) == [(question.id, number) for question in QUESTIONS for number in range(3)]
    with PolicyRun(plan) as run:
        first = list(islice(run.records(), 2))
    with PolicyRun(plan) as run:
        assert run.take_up(first) == 2
        rest = list(run.records())
    assert first + rest == whole
    account = run.account.record()
    assert (account["questions"], account["rollouts"], account["resumed"]) == (2, plan.rollouts, 2)
    assert account["answered"] + account["empty"] == account["labelled"] == 6
    assert account["accuracy"] == pytest.approx(sum(record["label"] for record in whole) / 6)


def test_what_failed_is_made_again_unless_it_is_to_be_kept(choice: PolicyChoice) -> None:
    question = QUESTIONS[0]
    plan = RunPlan(choice, (question,), k=2)
    failed = rollout_to_record(question, Rollout(0, None, problem="failed: gone"))
    with PolicyRun(plan) as run:
        assert run.take_up([failed]) == 0
        assert keys(list(run.records())) == [(question.id, 0), (question.id, 1)]
    with PolicyRun(replace(plan, keeps_failed=True)) as run:
        assert run.take_up([failed]) == 1
        assert keys(list(run.records())) == [(question.id, 1)]
        assert run.account.record()["failed"] == 1
    again = rollout_to_record(question, Rollout(0, "Ada Korn"))
    with PolicyRun(replace(plan, keeps_failed=True)) as run:
        assert run.take_up([failed, again]) == 1
        assert run.account.tally.failed == 0


def test_only_the_same_run_is_gone_on_with(choice: PolicyChoice) -> None:
    def identity(plan: RunPlan) -> dict[str, Any]:
        with PolicyRun(plan) as run:
            return run.identity()

    own = identity(RunPlan(choice, QUESTIONS, k=3))
    assert identity(RunPlan(choice, QUESTIONS, k=3, workers=4)) == own
    others = (
        RunPlan(choice, QUESTIONS, k=4),
        RunPlan(choice, QUESTIONS, k=3, seed=1),
        RunPlan(choice, QUESTIONS[:1], k=3),
        RunPlan(PolicyChoice("lexical:rl", choice.sources), QUESTIONS, k=3),
    )
    assert all(identity(other) != own for other in others)


def test_the_finished_file_is_in_the_order_of_the_questions(tmp_path: Path) -> None:
    made = [("Ostra", 1), ("Velm", 1), ("Ostra", 0), ("Velm", 0)]
    part = tmp_path / "part"
    part.write_text("".join(json.dumps({"question_id": q, "sample_id": s}) + "\n" for q, s in made))
    write_in_order(part, tmp_path / "pools.jsonl", QUESTIONS)
    lines = [json.loads(line) for line in (tmp_path / "pools.jsonl").read_text().splitlines()]
    assert keys(lines) == [("Velm", 0), ("Velm", 1), ("Ostra", 0), ("Ostra", 1)]


def test_processes_are_not_for_an_agent_that_waits_for_a_server(choice: PolicyChoice) -> None:
    with pytest.raises(UsageError, match="concurrency"):
        RunPlan(PolicyChoice("chat:http://host,m", choice.sources), QUESTIONS, workers=2)
