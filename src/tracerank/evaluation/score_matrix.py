"""Records as arrays: a value per question for each run of a method, K and kind of subset. Missing is NaN.

A method's name does not say which checkpoint or chat model decided. Where two evaluations hold different runs under
one name, each is called by its evaluation's label, which is the folder's name unless ``evaluate`` was given another.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import MEAN_SINGLE, ORACLE, REFERENCES, SINGLE, Key, Record
from tracerank.evaluation.prices import PriceTable
from tracerank.evaluation.record_folder import Evaluation, QuestionFacts
from tracerank.pools.subsets import FIRST

Floats = npt.NDArray[np.float64]

RECORDED = ("correct", "group_correct", "f1", "seconds", "prompt_tokens", "completion_tokens", "calls", "confidence")
LEAST_MEDIAN = 0.1
"""Of the mean: a median below it is of a few long times and many short ones, as older folders have them of blocks."""
OF_ESCALATION = ("below", "first_correct", "first_confidence", "second_calls", "second_prompt", "second_written")
"""Of records in which another method was asked: the confidence below which it is, what was before, what it cost."""
MEASURES = (*RECORDED, *OF_ESCALATION, "money")

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
    def ks(self) -> tuple[int, ...]:
        return tuple(sorted({k for _, k, _ in self.columns}))

    @cached_property
    def has_subsets(self) -> bool:
        return any(is_random for _, _, is_random in self.columns)

    @cached_property
    def cells(self) -> dict[tuple[str, str], npt.NDArray[np.bool_]]:
        """Dataset and backbone to the questions that are theirs; what has no name is called by a dash."""
        names = [(facts.dataset or "–", facts.backbone or "–") for facts in self.questions]
        return {
            cell: np.fromiter((name == cell for name in names), np.bool_, len(names)) for cell in dict.fromkeys(names)
        }


def score_matrix(evaluations: Sequence[Evaluation], prices: PriceTable | None = None) -> ScoreMatrix:
    """The evaluations side by side; what two of them hold alike counts once, runs that differ stand apart."""
    questions = _questions(evaluations)
    place = {key: number for number, key in enumerate(questions)}
    sums: dict[Column, Floats] = {}
    counts: dict[Column, Floats] = {}
    seen: dict[Key, float | None] = {}
    for evaluation, names in zip(evaluations, run_names(evaluations), strict=True):
        for found in evaluation.records():
            record = replace(found, method=names[found.method]) if found.method in names else found
            if record.key in seen:
                if seen[record.key] != record.correct:
                    raise _clash(evaluation, f"question {record.question_id!r} by {record.method} at K={record.k}")
                continue
            seen[record.key] = record.correct
            column = (record.method, record.k, record.subset != FIRST)
            if column not in sums:
                sums[column], counts[column] = (np.zeros((len(place), len(MEASURES))) for _ in range(2))
            row = place[record.backbone, record.question_id]
            money = None
            if prices is not None:
                model = evaluation.models.get(found.method)
                money = prices.cost(model, record.prompt_tokens, record.completion_tokens)
            _add(record, money, sums[column][row], counts[column][row])
    with np.errstate(invalid="ignore"):  # nothing known about a question is 0 / 0, and NaN is meant
        columns = {column: sums[column] / counts[column] for column in sorted(sums, key=_place_of_references)}
    return ScoreMatrix(tuple(questions.values()), columns, None if prices is None else prices.currency)


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


def _place_of_references(column: Column) -> int:
    """First the single rollouts, last the oracle, between them the methods as they came."""
    return {SINGLE: 0, MEAN_SINGLE: 1, ORACLE: 3}.get(column[0], 2)


def _add(record: Record, money: float | None, sums: Floats, counts: Floats) -> None:
    told = record.escalated
    second: tuple[float | None, ...] = (None,) * len(OF_ESCALATION)
    if told is not None:
        tokens = told.calls, told.prompt_tokens, told.completion_tokens
        second = told.below, told.correct, told.confidence, *tokens
    for number, value in enumerate((*(getattr(record, measure) for measure in RECORDED), *second, money)):
        if value is not None:
            sums[number] += value
            counts[number] += 1


def mean(values: Iterable[float] | Floats) -> float | None:
    """The mean of what is known; None: nothing is."""
    found = np.asarray(values, np.float64)
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else None


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


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """Means over the questions that a method has decided."""

    method: str
    questions: int
    seconds: float | None
    typical_seconds: float | None
    """The median, which what a method loads with its first decision does not move."""
    calls: float | None
    """None: no model was asked, or nobody counted; so are tokens."""
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
    """Costs from records that are folded already."""
    found = []
    for method in scores.methods:
        if method in REFERENCES:
            continue
        seconds = scores.values(method, k, "seconds")
        measures = ("calls", "prompt_tokens", "completion_tokens", "money")
        means = (mean(scores.values(method, k, name)) for name in measures)
        known = seconds[~np.isnan(seconds)]
        found.append(RecordedCost(method, len(known), mean(known), _typical(known), *means))
    return found


def _typical(seconds: Floats) -> float | None:
    """The median; where it is no figure of the whole, as where most replies were cached, the mean."""
    if not len(seconds):
        return None
    middle, whole = float(np.median(seconds)), float(seconds.mean())
    return middle if middle >= LEAST_MEDIAN * whole else whole
