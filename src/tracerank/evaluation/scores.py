"""Records as arrays: a value per question for each run of a method, K and kind of subset. Missing is NaN.

A method's name does not say which checkpoint or chat model decided. Where evaluations hold different runs under one
name, each run is shown with its evaluation's label, or the folder's name where ``evaluate`` was given no label.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb

import numpy as np
import numpy.typing as npt

from tracerank.errors import UsageError
from tracerank.evaluation.escalation import EscalationCurves
from tracerank.evaluation.evaluate import MEAN_SINGLE, ORACLE, REFERENCES, SINGLE
from tracerank.evaluation.prices import PriceTable
from tracerank.evaluation.records import Evaluation, Key, QuestionFacts
from tracerank.pools.subsets import FIRST

Floats = npt.NDArray[np.float64]
RECORDED = ("correct", "group_correct", "f1", "seconds", "prompt_tokens", "completion_tokens", "calls", "confidence")
MEASURES = (*RECORDED, "money")
MIN_MEDIAN = 0.1
"""Of the mean: below it, the median is that of a few long times among many that were cached."""
Column = tuple[str, int, bool]
"""Method, K, and whether it is the mean over random subsets instead of the first K."""


@dataclass(frozen=True)
class ScoreMatrix:
    """Several evaluations folded over subsets, not yet over questions."""

    questions: tuple[QuestionFacts, ...]
    columns: dict[Column, Floats]
    """(questions, measures)."""
    currency: str | None = None
    """Of the measure money; None: no prices were given."""
    escalations: EscalationCurves = field(default_factory=EscalationCurves)

    def values(self, method: str, k: int, measure: str = "correct", is_random: bool = False) -> Floats:
        """One number per question."""
        found = self.columns.get((method, k, is_random))
        if found is None:
            return np.full(len(self.questions), np.nan)
        values: Floats = found[:, MEASURES.index(measure)]
        return values

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(method for method, _, _ in self.columns))

    @cached_property
    def choosers(self) -> tuple[str, ...]:
        """The methods without the references."""
        return tuple(method for method in self.methods if method not in REFERENCES)

    @cached_property
    def ks(self) -> tuple[int, ...]:
        return tuple(sorted({k for _, k, _ in self.columns}))

    @cached_property
    def has_subsets(self) -> bool:
        return any(is_random for _, _, is_random in self.columns)

    @cached_property
    def cells(self) -> dict[tuple[str, str], npt.NDArray[np.bool_]]:
        """Dataset and backbone to the questions that are theirs; a dash stands for a missing name."""
        names = [(facts.dataset or "–", facts.backbone or "–") for facts in self.questions]
        return {
            cell: np.fromiter((name == cell for name in names), np.bool_, len(names)) for cell in dict.fromkeys(names)
        }


def score_matrix(evaluations: Sequence[Evaluation], prices: PriceTable | None = None) -> ScoreMatrix:
    """The evaluations side by side; what two of them hold alike counts once, runs that differ stand apart."""
    questions = _questions(evaluations)
    index = {key: number for number, key in enumerate(questions)}
    sums: dict[Column, Floats] = {}
    counts: dict[Column, Floats] = {}
    seen: dict[Key, float | None] = {}
    curves = EscalationCurves()
    for evaluation, names in zip(evaluations, _run_names(evaluations), strict=True):
        for found in evaluation.records():
            record = replace(found, method=names[found.method]) if found.method in names else found
            if record.key in seen:
                if seen[record.key] != record.correct:
                    raise _clash(evaluation, f"question {record.question_id!r} by {record.method} at K={record.k}")
                continue
            seen[record.key] = record.correct
            column = (record.method, record.k, record.subset != FIRST)
            if column not in sums:
                sums[column], counts[column] = (np.zeros((len(index), len(MEASURES))) for _ in range(2))
            money = None
            if prices is not None:
                model = evaluation.models.get(found.method)
                money = prices.cost(model, record.prompt_tokens, record.completion_tokens)
            curves.add(record, money)
            row = index[record.backbone, record.question_id]
            for number, value in enumerate((*(getattr(record, measure) for measure in RECORDED), money)):
                if value is not None:
                    sums[column][row, number] += value
                    counts[column][row, number] += 1
    order = {SINGLE: 0, MEAN_SINGLE: 1, ORACLE: 3}  # the methods between them, as they came
    with np.errstate(invalid="ignore"):  # nothing known about a question is 0 / 0, and NaN is meant
        columns = {column: sums[column] / counts[column] for column in sorted(sums, key=lambda c: order.get(c[0], 2))}
    return ScoreMatrix(tuple(questions.values()), columns, None if prices is None else prices.currency, curves)


def _questions(evaluations: Sequence[Evaluation]) -> dict[tuple[str | None, str], QuestionFacts]:
    found: dict[tuple[str | None, str], QuestionFacts] = {}
    for evaluation in evaluations:
        for facts in evaluation.questions:
            other = found.setdefault(facts.key, facts)
            if (other.correct, other.dropped, other.dataset) != (facts.correct, facts.dropped, facts.dataset):
                raise _clash(evaluation, f"question {facts.question_id!r}")
    return found


def _clash(evaluation: Evaluation, what: str) -> UsageError:
    return UsageError(
        f"{evaluation.folder}: {what} is different in another folder; "
        "evaluate the pools of each agent with --backbone NAME"
    )


def mean(values: Iterable[float] | Floats) -> float | None:
    """The mean of the known values; None: there are none."""
    found = np.asarray(values, np.float64)
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else None


def pass_at_k(correct: int, samples: int, k: int) -> float:
    """Unbiased probability that k of the samples, drawn without replacement, hold a correct one."""
    if not 0 <= correct <= samples or not 1 <= k <= samples:
        raise ValueError(f"expected 0 <= correct <= samples and 1 <= k <= samples, got {correct}, {samples}, {k}")
    return 1.0 - comb(samples - correct, k) / comb(samples, k)


def long_horizon_mean(accuracies: Mapping[tuple[str, str], float]) -> float:
    """Accuracy by (dataset, backbone), averaged over backbones within each dataset, then over datasets."""
    by_dataset: dict[str, list[float]] = {}
    for (dataset, _), accuracy in accuracies.items():
        by_dataset.setdefault(dataset, []).append(accuracy)
    if not by_dataset:
        raise ValueError("no accuracies to average")
    return sum(sum(values) / len(values) for values in by_dataset.values()) / len(by_dataset)


@dataclass(slots=True)
class _Run:
    """A method as it decided in some evaluations."""

    evaluations: list[int]
    choices: dict[Key, tuple[object, ...]]


def _run_names(evaluations: Sequence[Evaluation]) -> list[dict[str, str]]:
    """Per evaluation, the name of the run behind each method that has several; others keep the method's name."""
    names: list[dict[str, str]] = [{} for _ in evaluations]
    if len(evaluations) < 2:
        return names
    runs: dict[str, list[_Run]] = {}
    for number, evaluation in enumerate(evaluations):
        choices: dict[str, dict[Key, tuple[object, ...]]] = {}
        for one in evaluation.records():
            if one.method not in REFERENCES:
                choices.setdefault(one.method, {})[one.key] = one.answer, one.sample_id, one.correct
        for method, chosen in choices.items():
            known = runs.setdefault(method, [])
            found = _Run([number], chosen)
            same = next((run for run in known if _is_same(method, run, found, evaluations)), None)
            if same is None:
                known.append(found)
            else:
                same.evaluations.append(number)
                same.choices |= chosen
    for method, several in runs.items():
        if len(several) > 1:
            labels = _labels([evaluations[run.evaluations[0]] for run in several])
            for run, label in zip(several, labels, strict=True):
                for number in run.evaluations:
                    names[number][method] = f"{method} ({label})"
    return names


def is_run_of(run: str, method: str) -> bool:
    """Whether a name stands for the method, with a label or without."""
    return run == method or run.startswith(f"{method} (")


def _is_same(method: str, one: _Run, other: _Run, evaluations: Sequence[Evaluation]) -> bool:
    """Whether two belong to one run: the same model, as far as it is known, and never another choice."""
    here, there = evaluations[other.evaluations[0]], evaluations[one.evaluations[0]]
    are_known = method in here.models and method in there.models
    has_same_model = are_known and here.models[method] == there.models[method]
    if both := one.choices.keys() & other.choices.keys():
        return (has_same_model or not are_known) and all(one.choices[key] == other.choices[key] for key in both)
    # Other questions: a selector per agent is one row, unless the user gave the evaluations different labels.
    return here.label == there.label or has_same_model


def _labels(evaluations: Sequence[Evaluation]) -> list[str]:
    """A label each, as short as tells them apart."""
    folders = [evaluation.folder.resolve() for evaluation in evaluations]
    labels = [evaluation.label or folder.name for evaluation, folder in zip(evaluations, folders, strict=True)]
    for found in (labels, ["/".join(folder.parts[-2:]) for folder in folders]):
        if len(set(found)) == len(found):
            return found
    return [f"{label} #{number}" for number, label in enumerate(labels, start=1)]


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """Means over the questions that a method has decided."""

    method: str
    questions: int
    seconds: float | None
    typical_seconds: float | None
    """The median, on which loading with the first decision has no effect."""
    calls: float | None
    """None: no model was asked, or calls were not counted. So are tokens."""
    prompt_tokens: float | None
    completion_tokens: float | None
    money: float | None = None
    """None: no tokens, or no price for them."""

    @property
    def per_thousand(self) -> float | None:
        """Money for 1,000 questions."""
        return None if self.money is None else 1000 * self.money

    def relative_to(self, seconds: float) -> float | None:
        """How many times that long it took."""
        return self.seconds / seconds if self.seconds is not None and seconds > 0 else None


def recorded_costs(evaluation: Evaluation, k: int, prices: PriceTable | None = None) -> list[RecordedCost]:
    """Of every method that decided with K rollouts."""
    scores = score_matrix([evaluation], prices)
    if k not in scores.ks:
        raise UsageError(f"{evaluation.folder}: no records of K={k}; there are K={', '.join(map(str, scores.ks))}")
    return costs_at(scores, k)


def costs_at(scores: ScoreMatrix, k: int) -> list[RecordedCost]:
    """The cost of each method at K."""
    found = []
    for method in scores.choosers:
        seconds = scores.values(method, k, "seconds")
        known = seconds[~np.isnan(seconds)]
        whole, middle = mean(known), float(np.median(known)) if len(known) else None
        typical = middle if middle is not None and whole is not None and middle >= MIN_MEDIAN * whole else whole
        measures = ("calls", "prompt_tokens", "completion_tokens", "money")
        means = (mean(scores.values(method, k, name)) for name in measures)
        found.append(RecordedCost(method, len(known), whole, typical, *means))
    return found
