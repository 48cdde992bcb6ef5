"""What the methods of an evaluation took, per question, from its records."""

from dataclasses import dataclass

import numpy as np

from tracerank.errors import UsageError
from tracerank.evaluation.evaluate import REFERENCES
from tracerank.evaluation.price_table import PriceTable
from tracerank.evaluation.record_folder import Evaluation
from tracerank.evaluation.score_matrix import ScoreMatrix, mean, score_matrix


@dataclass(frozen=True, slots=True)
class RecordedCost:
    """Means over the questions that a method has decided."""

    method: str
    questions: int
    seconds: float | None
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
        found.append(RecordedCost(method, int((~np.isnan(seconds)).sum()), mean(seconds), *means))
    return found
