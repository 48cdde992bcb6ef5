"""Records as arrays: a value per question for each run of a method and K. Missing is NaN.

A method's name does not say which checkpoint or chat model decided. Where evaluations hold different runs under one
name, each run is shown with the name of its folder.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, nan
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import MEAN_SINGLE, ORACLE, REFERENCES, SINGLE
from tracerank.evaluation.records import EscalatedRecord, Evaluation, Key, QuestionFacts, QuestionKey, Record

Floats = npt.NDArray[np.float64]
RECORDED = ("correct", "f1", "seconds", "prompt_tokens", "completion_tokens", "calls", "confidence")
ESCALATED = ("first_correct", "below", "other_calls", "other_tokens")
MEASURES = (*RECORDED, *ESCALATED, "records")
"""What is known of a record; ``records`` is 1 where there is one."""
_recorded = attrgetter(*RECORDED)


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
    """Several evaluations, not yet folded over questions."""

    questions: tuple[QuestionFacts, ...]
    columns: Mapping[tuple[str, int], Floats]
    """Method and K to (questions, measures)."""

    def values(self, method: str, k: int, measure: str = "correct") -> Floats:
        """One number per question."""
        found = self.columns.get((method, k))
        if found is None:
            return np.full(len(self.questions), np.nan)
        values: Floats = found[:, MEASURES.index(measure)]
        return values

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(method for method, _ in self.columns))

    @cached_property
    def choosers(self) -> tuple[str, ...]:
        """The methods without the references."""
        return tuple(method for method in self.methods if method not in REFERENCES)

    @cached_property
    def ks(self) -> tuple[int, ...]:
        return tuple(sorted({k for _, k in self.columns}))

    @cached_property
    def cells(self) -> dict[tuple[str, str], npt.NDArray[np.bool_]]:
        """Dataset and backbone to the questions that are theirs; a dash stands for a missing name."""
        names = [(facts.dataset or "–", facts.backbone or "–") for facts in self.questions]
        return {cell: np.array([name == cell for name in names]) for cell in dict.fromkeys(names)}

    def rows(self) -> list[Row]:
        """Methods in order, their K ascending."""
        return [self._row(method, k) for method in self.methods for k in self.ks if (method, k) in self.columns]

    def _row(self, method: str, k: int) -> Row:
        correct, f1, records = (self.values(method, k, name) for name in ("correct", "f1", "records"))
        judged = int((~np.isnan(correct)).sum())
        return Row(method, k, mean(correct), mean(f1), judged, int(np.nansum(records)) - judged)


class ScoreFold:
    """Gathers records as they come."""

    def __init__(self, questions: Iterable[QuestionKey] = ()) -> None:
        self.index = {key: row for row, key in enumerate(questions)}
        """Question to its row; others are added as they are met."""
        self._records: dict[tuple[str, int], array[float]] = {}
        """Row and measures of one record after the other: 8 bytes a number, as records are many."""

    def add(self, record: Record) -> None:
        """One more record."""
        row = self.index.setdefault((record.backbone, record.question_id), len(self.index))
        values = (row, *_recorded(record), *_escalated(record.escalated), 1.0)
        column = self._records.setdefault((record.method, record.k), array("d"))
        column.extend(nan if value is None else value for value in values)

    def matrix(self, questions: Sequence[QuestionFacts] = ()) -> ScoreMatrix:
        """A row per question; references stand before and behind the methods."""
        order = {SINGLE: 0, MEAN_SINGLE: 1, ORACLE: 3}  # the methods between them, as they came
        columns = {}
        for column in sorted(self._records, key=lambda column: order.get(column[0], 2)):
            records = np.frombuffer(self._records[column]).reshape(-1, 1 + len(MEASURES))
            columns[column] = np.full((len(self.index), len(MEASURES)), np.nan)
            columns[column][records[:, 0].astype(np.int64)] = records[:, 1:]
        return ScoreMatrix(tuple(questions), columns)


def _escalated(found: EscalatedRecord | None) -> tuple[float | None, ...]:
    if found is None:
        return (None,) * len(ESCALATED)
    tokens = [count for count in (found.prompt_tokens, found.completion_tokens) if count is not None]
    return found.correct, found.below, found.calls, sum(tokens) if tokens else None


def fold(records: Iterable[Record]) -> list[Row]:
    """A row per method and K."""
    found = ScoreFold()
    for record in records:
        found.add(record)
    return found.matrix().rows()


def score_matrix(evaluations: Sequence[Evaluation]) -> ScoreMatrix:
    """The evaluations side by side; what two of them hold alike counts once, runs that differ stand apart."""
    questions = _questions(evaluations)
    found, seen = ScoreFold(questions), dict[Key, float | None]()
    for evaluation, names in zip(evaluations, _run_names(evaluations), strict=True):
        for read in evaluation.records():
            record = replace(read, method=names[read.method]) if read.method in names else read
            if seen.setdefault(record.key, record.correct) != record.correct:
                raise _clash(evaluation, f"question {record.question_id!r} by {record.method} at K={record.k}")
            found.add(record)
    return found.matrix(tuple(questions.values()))


def _questions(evaluations: Sequence[Evaluation]) -> dict[QuestionKey, QuestionFacts]:
    found: dict[QuestionKey, QuestionFacts] = {}
    for evaluation in evaluations:
        for facts in evaluation.questions:
            other = found.setdefault(facts.key, facts)
            if (other.correct, other.dataset) != (facts.correct, facts.dataset):
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
    runs: dict[str, list[tuple[int, Choices]]] = {}
    for number, evaluation in enumerate(evaluations if len(evaluations) > 1 else ()):
        choices: dict[str, Choices] = {}
        for one in evaluation.records():
            if one.method not in REFERENCES:
                choices.setdefault(one.method, {})[one.key] = one.answer, one.sample_id, one.correct
        for method, chosen in choices.items():
            runs.setdefault(method, []).append((number, chosen))
    folders = [evaluation.folder.resolve().name for evaluation in evaluations]
    if len(set(folders)) < len(folders):
        folders = [str(evaluation.folder) for evaluation in evaluations]
    for method, several in runs.items():
        if any(_differ(held, chosen) for (_, held), (_, chosen) in combinations(several, 2)):
            for number, _ in several:
                names[number][method] = f"{method} ({folders[number]})"
    return names


def _differ(held: Choices, chosen: Choices) -> bool:
    """Whether two are different runs: on the same questions another choice."""
    return any(held[key] != chosen[key] for key in held.keys() & chosen.keys())


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
