"""Records as arrays: a value per question for each run of a method, K and kind of subset. Missing is NaN.

A method's name does not say which checkpoint or chat model decided. Where evaluations hold different runs under one
name, each run is shown with its evaluation's label, or the folder's name where ``evaluate`` was given no label.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import MEAN_SINGLE, ORACLE, REFERENCES, SINGLE
from tracerank.evaluation.prices import PriceTable
from tracerank.evaluation.records import EscalatedRecord, Evaluation, Key, QuestionFacts, QuestionKey, Record
from tracerank.pools.subsets import FIRST

Floats = npt.NDArray[np.float64]
RECORDED = ("correct", "f1", "seconds", "prompt_tokens", "completion_tokens", "calls", "confidence")
ESCALATED = ("first_correct", "first_confidence", "below", "other_calls", "other_tokens")
MEASURES = (*RECORDED, *ESCALATED, "money", "records")
"""What is known of a record; ``records`` is 1 where there is one."""
BLOCK = 1024
"""Records of a column that are added up at a time."""
_recorded = attrgetter(*RECORDED)
Column = tuple[str, int, bool]
"""Method, K, and whether it is the mean over random subsets instead of the first K."""


@dataclass(frozen=True, slots=True)
class Row:
    """One method at one K over all questions, each with the same weight."""

    method: str
    k: int
    accuracy: float | None
    """None: no choice could be judged."""
    f1: float | None
    """None: no question has references."""
    questions: int
    """Questions in the accuracy; empty pools are among them, as wrong."""
    unjudged: int
    """Questions left out of it, because the correctness of the choice is unknown."""


@dataclass(frozen=True)
class ScoreMatrix:
    """Several evaluations folded over subsets, not yet over questions."""

    questions: tuple[QuestionFacts, ...]
    columns: Mapping[Column, Floats]
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
        return {cell: np.array([name == cell for name in names]) for cell in dict.fromkeys(names)}

    def rows(self) -> list[Row]:
        """Of the first K rollouts: methods in order, their K ascending."""
        found = []
        for method, k in (
            (method, k) for method in self.methods for k in self.ks if (method, k, False) in self.columns
        ):
            correct = self.values(method, k)
            judged = int((~np.isnan(correct)).sum())
            records = int(np.nansum(self.values(method, k, "records")))
            found.append(Row(method, k, mean(correct), mean(self.values(method, k, "f1")), judged, records - judged))
        return found


class ScoreFold:
    """Adds up records as they come."""

    def __init__(self, questions: Iterable[QuestionKey] = ()) -> None:
        self.index = {key: row for row, key in enumerate(questions)}
        """Question to its row; others are added as they are met."""
        self._sums: dict[Column, Floats] = {}
        """(what: sums and counts, questions, measures)."""
        self._waiting: dict[Column, list[tuple[float | None, ...]]] = {}

    def add(self, record: Record, money: float | None = None) -> None:
        """One more record; ``money`` is the price of its tokens."""
        row = self.index.setdefault((record.backbone, record.question_id), len(self.index))
        column = record.method, record.k, record.subset != FIRST
        waiting = self._waiting.setdefault(column, [])
        waiting.append((row, *_recorded(record), *_escalated(record.escalated), money, 1.0))
        if len(waiting) == BLOCK:
            self._flush(column)

    def _flush(self, column: Column) -> None:
        block = np.array(self._waiting.pop(column), np.float64)  # None becomes NaN
        rows, values = block[:, 0].astype(np.int64), block[:, 1:]
        self._sums[column] = sums = _resized(self._sums.get(column), len(self.index))
        np.add.at(sums[0], rows, np.nan_to_num(values))
        np.add.at(sums[1], rows, ~np.isnan(values))

    def matrix(self, questions: Sequence[QuestionFacts] = (), currency: str | None = None) -> ScoreMatrix:
        """The means over subsets; references stand before and behind the methods."""
        for column in list(self._waiting):
            self._flush(column)
        order = {SINGLE: 0, MEAN_SINGLE: 1, ORACLE: 3}  # the methods between them, as they came
        columns = {}
        with np.errstate(invalid="ignore"):  # nothing known about a question is 0 / 0, and NaN is meant
            for column in sorted(self._sums, key=lambda column: order.get(column[0], 2)):
                sums, counts = _resized(self._sums.pop(column), len(self.index))
                columns[column] = sums / counts
        return ScoreMatrix(tuple(questions), columns, currency)


def _resized(sums: Floats | None, questions: int) -> Floats:
    if sums is not None and sums.shape[1] == questions:
        return sums
    made = np.zeros((2, questions, len(MEASURES)))
    if sums is not None:
        made[:, : sums.shape[1]] = sums
    return made


def _escalated(found: EscalatedRecord | None) -> tuple[float | None, ...]:
    if found is None:
        return (None,) * len(ESCALATED)
    tokens = [count for count in (found.prompt_tokens, found.completion_tokens) if count is not None]
    return found.correct, found.confidence, found.below, found.calls, sum(tokens) if tokens else None


def fold(records: Iterable[Record]) -> list[Row]:
    """Rows of the first K rollouts."""
    found = ScoreFold()
    for record in records:
        found.add(record)
    return found.matrix().rows()


def score_matrix(
    evaluations: Sequence[Evaluation], prices: PriceTable | None = None, left_out: frozenset[QuestionKey] = frozenset()
) -> ScoreMatrix:
    """The evaluations side by side; what two of them hold alike counts once, runs that differ stand apart."""
    questions = {key: facts for key, facts in _questions(evaluations).items() if key not in left_out}
    found, seen = ScoreFold(questions), dict[Key, float | None]()
    for evaluation, names in zip(evaluations, _run_names(evaluations), strict=True):
        for read in evaluation.records():
            if (read.backbone, read.question_id) in left_out:
                continue
            record = replace(read, method=names[read.method]) if read.method in names else read
            if record.key in seen:
                if seen[record.key] != record.correct:
                    raise _clash(evaluation, f"question {record.question_id!r} by {record.method} at K={record.k}")
                continue
            seen[record.key] = record.correct
            model = evaluation.models.get(read.method)
            counts = record.prompt_tokens, record.completion_tokens
            found.add(record, None if prices is None else prices.cost(model, *counts))
    return found.matrix(tuple(questions.values()), None if prices is None else prices.currency)


def _questions(evaluations: Sequence[Evaluation]) -> dict[QuestionKey, QuestionFacts]:
    found: dict[QuestionKey, QuestionFacts] = {}
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


Choices = dict[Key, tuple[object, ...]]
"""What a method chose, and whether it was right."""


def _run_names(evaluations: Sequence[Evaluation]) -> list[dict[str, str]]:
    """Per evaluation, the name of the run behind each method that has several; others keep the method's name."""
    names: list[dict[str, str]] = [{} for _ in evaluations]
    runs: dict[str, list[tuple[list[int], Choices]]] = {}
    for number, evaluation in enumerate(evaluations if len(evaluations) > 1 else ()):
        choices: dict[str, Choices] = {}
        for one in evaluation.records():
            if one.method not in REFERENCES:
                choices.setdefault(one.method, {})[one.key] = one.answer, one.sample_id, one.correct
        for method, chosen in choices.items():
            known = runs.setdefault(method, [])
            for members, held in known:
                if _is_same(method, evaluations[members[0]], held, evaluation, chosen):
                    members.append(number)
                    held |= chosen
                    break
            else:
                known.append(([number], chosen))
    for method, several in runs.items():
        labels = _labels([evaluations[members[0]] for members, _ in several])
        for (members, _), label in zip(several, labels, strict=True):
            for number in members if len(several) > 1 else ():
                names[number][method] = f"{method} ({label})"
    return names


def is_run_of(run: str, method: str) -> bool:
    """Whether a name stands for the method, with a label or without."""
    return run == method or run.startswith(f"{method} (")


def _is_same(method: str, one: Evaluation, held: Choices, other: Evaluation, chosen: Choices) -> bool:
    """Whether two belong to one run: the same model, as far as it is known, and never another choice."""
    are_known = method in one.models and method in other.models
    has_same_model = are_known and one.models[method] == other.models[method]
    if both := held.keys() & chosen.keys():
        return (has_same_model or not are_known) and all(held[key] == chosen[key] for key in both)
    # Other questions: a selector per agent is one row, unless the user gave the evaluations different labels.
    return one.label == other.label or has_same_model


def _labels(evaluations: Sequence[Evaluation]) -> list[str]:
    """A label each, as short as distinguishes them."""
    folders = [evaluation.folder.resolve() for evaluation in evaluations]
    labels = [evaluation.label or folder.name for evaluation, folder in zip(evaluations, folders, strict=True)]
    for found in (labels, ["/".join(folder.parts[-2:]) for folder in folders]):
        if len(set(found)) == len(found):
            return found
    return [f"{label} #{number}" for number, label in enumerate(labels, start=1)]


def mean(values: Sequence[float | None] | Floats | npt.NDArray[np.bool_]) -> float | None:
    """The mean of the known values; None: there are none."""
    found = np.asarray(values, np.float64)
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else None


def pass_at_k(correct: int, samples: int, k: int) -> float:
    """Unbiased probability that k of the samples, drawn without replacement, hold a correct one."""
    if not 0 <= correct <= samples or not 1 <= k <= samples:
        raise ValueError(f"expected 0 <= correct <= samples and 1 <= k <= samples, got {correct}, {samples}, {k}")
    return 1.0 - comb(samples - correct, k) / comb(samples, k)


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

    def relative_to(self, seconds: float | None) -> float | None:
        """How many times that long it took."""
        return self.seconds / seconds if self.seconds is not None and seconds else None


MIN_MEDIAN = 0.1
"""Of the mean: below it, the median is that of a few long times among many that were cached."""


def costs_at(scores: ScoreMatrix, k: int) -> list[RecordedCost]:
    """The cost of each method at K."""
    found = []
    for method in scores.choosers:
        seconds = scores.values(method, k, "seconds")
        known = seconds[~np.isnan(seconds)]
        whole, middle = mean(known), float(np.median(known)) if len(known) else 0.0
        typical = middle if whole is not None and middle >= MIN_MEDIAN * whole else whole
        measures = ("calls", "prompt_tokens", "completion_tokens", "money")
        means = (mean(scores.values(method, k, name)) for name in measures)
        found.append(RecordedCost(method, len(known), whole, typical, *means))
    return found


def recorded_costs(evaluation: Evaluation, k: int, prices: PriceTable | None = None) -> list[RecordedCost]:
    """Of every method that decided with K rollouts."""
    scores = score_matrix([evaluation], prices)
    if k not in scores.ks:
        raise UsageError(f"{evaluation.folder}: no records of K={k}; there are K={', '.join(map(str, scores.ks))}")
    return costs_at(scores, k)
