"""Which records of several evaluations are one run of a method, and what each run is called in a report.

A method's name does not say which checkpoint or chat model decided. Where two evaluations hold different runs under
one name, each is called by its evaluation's label, which is the folder's name unless ``evaluate`` was given another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracerank.evaluation.evaluate import REFERENCES, Key, Record
from tracerank.evaluation.record_folder import Evaluation

_Choice = tuple[str | None, int | None, float | None]


@dataclass(slots=True)
class _Run:
    """A method as it decided in some evaluations."""

    evaluations: list[int]
    choices: dict[Key, _Choice] = field(default_factory=dict)


def run_names(evaluations: Sequence[Evaluation]) -> list[dict[str, str]]:
    """Per evaluation, the name of the run behind each method; what is not named keeps the method's own."""
    if len(evaluations) < 2:
        return [{} for _ in evaluations]
    runs: dict[str, list[_Run]] = {}
    for number, evaluation in enumerate(evaluations):
        for method, choices in _choices(evaluation).items():
            known = runs.setdefault(method, [])
            run = next((run for run in known if _is_same(method, run, choices, number, evaluations)), None)
            if run is None:
                run = _Run([])
                known.append(run)
            run.evaluations.append(number)
            run.choices |= choices
    names: list[dict[str, str]] = [{} for _ in evaluations]
    for method, found in runs.items():
        if len(found) > 1:
            labels = _labels([evaluations[run.evaluations[0]] for run in found])
            for run, label in zip(found, labels, strict=True):
                for number in run.evaluations:
                    names[number][method] = f"{method} ({label})"
    return names


def is_run_of(run: str, method: str) -> bool:
    """Whether a name stands for the method, with a label or without."""
    return run == method or run.startswith(f"{method} (")


def _choices(evaluation: Evaluation) -> dict[str, dict[Key, _Choice]]:
    found: dict[str, dict[Key, _Choice]] = {}
    for record in evaluation.records():
        if record.method not in REFERENCES:
            found.setdefault(record.method, {})[record.key] = _choice(record)
    return found


def _choice(record: Record) -> _Choice:
    return record.answer, record.sample_id, record.correct


def _is_same(
    method: str, run: _Run, choices: dict[Key, _Choice], number: int, evaluations: Sequence[Evaluation]
) -> bool:
    """Whether an evaluation goes on with a run: the same model, or no word about it, and never another choice."""
    here, there = evaluations[number], evaluations[run.evaluations[0]]
    are_known = method in here.models and method in there.models
    both = choices.keys() & run.choices.keys()
    if both:
        is_one = not are_known or here.models[method] == there.models[method]
        return is_one and all(choices[key] == run.choices[key] for key in both)
    # Other questions: a selector per agent is one row, unless the user tells the evaluations apart.
    return here.label == there.label or (are_known and here.models[method] == there.models[method])


def _labels(evaluations: Sequence[Evaluation]) -> list[str]:
    """A label each, as short as tells them apart."""
    labels = [evaluation.label or _folder(evaluation).name for evaluation in evaluations]
    if len(set(labels)) == len(labels):
        return labels
    paths = ["/".join(_folder(evaluation).parts[-2:]) for evaluation in evaluations]
    if len(set(paths)) == len(paths):
        return paths
    return [f"{label} #{number}" for number, label in enumerate(labels, start=1)]


def _folder(evaluation: Evaluation) -> Path:
    return evaluation.folder.resolve()
