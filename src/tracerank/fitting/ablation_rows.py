"""Records of an ablation folded into one row per variant. Trains nothing and rounds nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import Record


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One variant over all its seeds; accuracies between 0 and 1."""

    name: str
    seeds: int
    questions: int
    accuracy: float
    """Mean over seeds."""
    deviation: float | None
    """Standard deviation over seeds; None: there is one only."""
    against: float | None
    """Difference to the row compared with; None: that is this one, or it was not run."""
    error: float | None
    """Standard error of that difference over questions, whose correctness is averaged over seeds."""
    published: float | None = None
    """The paper's accuracy in %, on its own pools."""


def ablation_row(
    name: str,
    by_seed: Sequence[Sequence[Record]],
    compared: Sequence[Sequence[Record]] | None = None,
    published: float | None = None,
) -> AblationRow:
    """Mean and deviation of a variant, and its paired difference to another."""
    accuracies = [fmean(_judged(records).values()) for records in by_seed]
    own = _over_seeds(by_seed)
    differences: list[float] = []
    if compared is not None:
        other = _over_seeds(compared)
        differences = [correct - other[question] for question, correct in own.items() if question in other]
    return AblationRow(
        name,
        len(by_seed),
        len(own),
        fmean(accuracies),
        stdev(accuracies) if len(accuracies) > 1 else None,
        fmean(differences) if differences else None,
        stdev(differences) / sqrt(len(differences)) if len(differences) > 1 else None,
        published,
    )


def _judged(records: Sequence[Record]) -> dict[str, float]:
    found = {record.question_id: record.correct for record in records if record.correct is not None}
    if not found:
        raise UsageError("not one tested question has a label or a reference; nothing to compare")
    return found


def _over_seeds(by_seed: Sequence[Sequence[Record]]) -> Mapping[str, float]:
    judged = [_judged(records) for records in by_seed]
    return {question: fmean(each[question] for each in judged) for question in judged[0]}
