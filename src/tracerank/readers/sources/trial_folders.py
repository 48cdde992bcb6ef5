"""Job folders of Harbor: the trajectories of trials, each with what its ``result.json`` says of task and reward.

A trial is a folder whose ``result.json`` names a task; its other files (settings, locks, logs, tests) are no rollouts.
Trials of one task are rollouts of one question, also where the prompt around it differs. What a trajectory says is
read in ``formats/atif.py``.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracerank.errors import ReadError
from tracerank.readers.base import Problem, RecordAt
from tracerank.readers.sources.json_lines import iter_records
from tracerank.readers.sources.loose_json import load_json
from tracerank.readers.values import text_of

RESULT, _SETTINGS = "result.json", "config.json"
_TRAJECTORY = os.path.join("agent", "trajectory.json")
_STEPS = "steps"
DECISIONS = "tracerank.jsonl"
"""What our own plug-in leaves in a job folder."""
_OF_A_JOB = frozenset((RESULT, _SETTINGS, "lock.json", "job.log", DECISIONS))
_MAX_RESULT_BYTES = 1 << 26
_MAX_PARTS = 1000


@dataclass(frozen=True, slots=True)
class _Trial:
    """One trajectory and what is known about it."""

    name: str
    """Its file; its result, where a trial has none."""
    task: str
    """The same for all trials of the task, or of one step of it."""
    dataset: str | None
    reward: object
    started: str


@dataclass(slots=True)
class Trials:
    """The trials among some files."""

    by_name: Mapping[str, _Trial] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    """Task -> what its first trial was asked."""

    def records(self, name: str) -> Iterator[RecordAt | Problem]:
        """The trajectory of a file with its task and reward, as one record."""
        trial = self.by_name[name]
        if os.path.basename(name) == RESULT:
            raise ReadError(f"{name}: the trial has no {_TRAJECTORY}; run an agent that saves ATIF")
        for item in iter_records(name):
            yield item if isinstance(item, Problem) else self._with_task(trial, item)

    def _with_task(self, trial: _Trial, item: RecordAt) -> RecordAt:
        steps = _continued(item.value, os.path.dirname(trial.name))
        question = self.asked.setdefault(trial.task, _first_asked(steps))
        own = item.value.get("extra")
        extra = {
            **(own if isinstance(own, Mapping) else {}),
            "question_id": trial.task,
            "question": question,
            "dataset": trial.dataset,
            "reward": trial.reward,
        }
        return RecordAt({**item.value, "steps": steps, "extra": extra}, item.source, item.size)


def trials_among(names: Iterable[str]) -> tuple[Trials, list[str]]:
    """The trials, those of a task together in the order of their start, and the names that belong to none."""
    names = list(names)
    settled = {os.path.dirname(name) for name in names if os.path.basename(name) == _SETTINGS}
    folders = [os.path.dirname(name) for name in names if os.path.basename(name) == RESULT]
    found = {folder: result for folder in folders if folder in settled and (result := _result(folder)) is not None}
    jobs = {os.path.dirname(folder) for folder in found}
    trials = [trial for folder, result in found.items() for trial in _trials(folder, result)]
    ranks = {task: rank for rank, task in enumerate(dict.fromkeys(trial.task for trial in trials))}
    trials.sort(key=lambda trial: (ranks[trial.task], trial.started))
    rest = [name for name in names if not _is_of_a_trial(name, found) and not _is_of_a_job(name, jobs)]
    return Trials({trial.name: trial for trial in trials}), rest


def _result(folder: str) -> Mapping[str, Any] | None:
    try:
        with open(os.path.join(folder, RESULT), "rb") as file:
            data = file.read(_MAX_RESULT_BYTES + 1)
    except OSError:
        return None
    result = load_json(data.decode("utf-8", "replace")) if len(data) <= _MAX_RESULT_BYTES else None
    is_trial = isinstance(result, Mapping) and all(isinstance(result.get(k), str) for k in ("trial_name", "task_name"))
    return result if is_trial else None


def _trials(folder: str, result: Mapping[str, Any]) -> Iterator[_Trial]:
    """The trial, or one for each of its steps, which have tasks of their own."""
    dataset = result.get("source") if isinstance(result.get("source"), str) else None
    task = f"{dataset}/{result['task_name']}" if dataset else str(result["task_name"])
    started = str(result.get("started_at"))
    whole = os.path.join(folder, _TRAJECTORY)
    steps = result.get("step_results")
    if os.path.isfile(whole) or not isinstance(steps, list):
        name = whole if os.path.isfile(whole) else os.path.join(folder, RESULT)
        yield _Trial(name, task, dataset, _reward(result), started)
        return
    for step in steps:
        called = step.get("step_name") if isinstance(step, Mapping) else None
        if isinstance(called, str) and called == os.path.basename(called):
            name = os.path.join(folder, _STEPS, called, _TRAJECTORY)
            if os.path.isfile(name):
                yield _Trial(name, f"{task}/{called}", dataset, _reward(step), started)


def _reward(result: Mapping[str, Any]) -> object:
    verified = result.get("verifier_result")
    rewards = verified.get("rewards") if isinstance(verified, Mapping) else None
    if not isinstance(rewards, Mapping):
        return None
    return rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)


def _is_of_a_trial(name: str, folders: Mapping[str, object]) -> bool:
    while (above := os.path.dirname(name)) != name and above not in folders:
        name = above
    return above in folders


def _is_of_a_job(name: str, jobs: set[str]) -> bool:
    return os.path.basename(name) in _OF_A_JOB and os.path.dirname(name) in jobs


def _continued(trajectory: Mapping[str, Any], folder: str) -> list[Any]:
    """The steps of a trajectory and of the files beside it in which it goes on, copies left out."""
    steps: list[Any] = list(trajectory["steps"]) if isinstance(trajectory.get("steps"), list) else []
    seen: set[str] = set()
    following = trajectory.get("continued_trajectory_ref")
    while isinstance(following, str) and following not in seen and len(seen) < _MAX_PARTS:
        seen.add(following)
        # Only a file of the trial's own: the name was written by an agent.
        path = os.path.join(folder, os.path.basename(following))
        part = next((one for one in iter_records(path)), None) if os.path.isfile(path) else None
        value = part.value if isinstance(part, RecordAt) else {}
        more = value.get("steps")
        steps += [one for one in more if not _is_copy(one)] if isinstance(more, list) else []
        following = value.get("continued_trajectory_ref")
    return steps


def _is_copy(step: object) -> bool:
    return isinstance(step, Mapping) and step.get("is_copied_context") is True


def _first_asked(steps: list[Any]) -> str:
    users = (step for step in steps if isinstance(step, Mapping) and step.get("source") == "user")
    return next((text for step in users if (text := text_of(step.get("message")).strip())), "")
