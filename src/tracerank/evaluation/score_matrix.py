"""Records as arrays: a value per question for each method, K and kind of subset. Missing is NaN."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import ORACLE, SINGLE, Key, Record
from tracerank.evaluation.price_table import PriceTable
from tracerank.evaluation.question_facts import QuestionFacts
from tracerank.evaluation.record_folder import Evaluation
from tracerank.evaluation.runs import run_names
from tracerank.pools.subsets import FIRST

Floats = npt.NDArray[np.float64]

RECORDED = ("correct", "group_correct", "f1", "seconds", "prompt_tokens", "completion_tokens", "calls")
MEASURES = (*RECORDED, "money")

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
    """First the single rollout, last the oracle, between them the methods as they came."""
    return {SINGLE: 0, ORACLE: 2}.get(column[0], 1)


def _add(record: Record, money: float | None, sums: Floats, counts: Floats) -> None:
    for number, value in enumerate((*(getattr(record, measure) for measure in RECORDED), money)):
        if value is not None:
            sums[number] += value
            counts[number] += 1


def mean(values: Iterable[float] | Floats) -> float | None:
    """The mean of what is known; None: nothing is."""
    found = np.asarray(values, np.float64)
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else None
