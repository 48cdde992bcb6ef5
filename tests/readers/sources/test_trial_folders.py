"""Job folders: trials of one task are one pool, labelled by their reward; nothing else in them is a rollout."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tracerank.errors import ReadError
from tracerank.pools.pool import Pool
from tracerank.readers import read_pools

JOB = Path(__file__).parents[1] / "sdk_logs" / "fixtures" / "harbor" / "job.tar.gz"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    with tarfile.open(JOB) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "job"


def trials(job: Path) -> list[Path]:
    return sorted(job.glob("question-0__*"))


def edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def read(place: Path) -> tuple[list[Pool], list[str]]:
    problems: list[str] = []
    return read_pools(place, on_problem=lambda problem: problems.append(str(problem))), problems


def test_a_task_is_a_question_and_its_reward_the_label(job: Path) -> None:
    pools, problems = read(job)
    assert not problems
    assert [(pool.question.id, pool.question.dataset) for pool in pools] == [
        ("own-questions/own/question-0", "own-questions"),
        ("own-questions/own/question-1", "own-questions"),
    ]
    assert [[(one.answer, one.label) for one in pool.rollouts] for pool in pools] == [
        [("Danube", 1.0), ("Inn", 0.0)],  # as they were started, not as they are called
        [("Michelangelo", 1.0), ("Raphael", 0.0)],
    ]


def test_trials_whose_prompts_differ_stay_one_pool(job: Path) -> None:
    for number, trial in enumerate(trials(job)):
        path = trial / "agent" / "trajectory.json"
        steps = json.loads(path.read_text())["steps"]
        steps[0]["message"] += f"\nYour host is called box-{number}."
        edit(path, steps=steps)
    pools, problems = read(job)
    assert [len(pool.rollouts) for pool in pools] == [2, 2]
    assert not problems


def test_a_trial_without_a_trajectory_is_told(job: Path) -> None:
    first = trials(job)[0]
    (first / "agent" / "trajectory.json").unlink()
    pools, (problem,) = read(job)
    assert sum(len(pool.rollouts) for pool in pools) == 3
    assert f"{first.name}/result.json: the trial has no agent/trajectory.json" in problem
    with pytest.raises(ReadError, match=r"the trial has no agent/trajectory\.json"):
        read(first)


def test_other_files_beside_a_job_are_read_as_ever(job: Path) -> None:
    (job / "own.jsonl").write_text('{"question": "Who?", "answer": "Ada"}\n')
    (job.parent / "runs").mkdir()
    (job.parent / "runs" / "result.json").write_text('{"question": "Who?", "answer": "Bob"}\n')
    pools, problems = read(job.parent)
    assert [len(pool.rollouts) for pool in pools] == [2, 2, 2]
    assert not problems


def test_steps_of_a_trial_are_tasks_of_their_own(job: Path) -> None:
    for trial in trials(job):
        step = trial / "steps" / "first"
        step.mkdir(parents=True)
        (trial / "agent").rename(step / "agent")
        verdict = {"step_name": "first", "verifier_result": {"rewards": {"quality": 0.5}}}
        edit(trial / "result.json", step_results=[verdict, {"step_name": "../x"}, None], verifier_result=None)
    pools, problems = read(job)
    assert not problems
    assert (pools[0].question.id, [one.label for one in pools[0].rollouts]) == (
        "own-questions/own/question-0/first",
        [0.5, 0.5],
    )


def test_a_trajectory_goes_on_in_the_file_that_it_names(job: Path) -> None:
    agent = trials(job)[0] / "agent"
    whole = json.loads((agent / "trajectory.json").read_text())
    first, rest = whole["steps"][:2], whole["steps"][2:]
    edit(agent / "trajectory.json", steps=first, continued_trajectory_ref="trajectory.cont-1.json")
    copies = [{**step, "is_copied_context": True} for step in first]
    loop = {**whole, "steps": [*copies, *rest], "continued_trajectory_ref": "../agent/trajectory.cont-1.json"}
    (agent / "trajectory.cont-1.json").write_text(json.dumps(loop))
    pools, problems = read(job)
    assert not problems
    assert {one.answer for one in pools[0].rollouts} == {"Danube", "Inn"}


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"trial_name": 1, "task_name": "t"}'])
def test_a_damaged_result_costs_its_own_trial_only(job: Path, damage: str) -> None:
    (trials(job)[0] / "result.json").write_text(damage)
    pools, _ = read(job)
    assert sum(len(pool.rollouts) for pool in pools) >= 3
