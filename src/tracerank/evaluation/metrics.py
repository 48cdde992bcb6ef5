"""How right a choice is, and how figures are averaged (App. A.1). Rounds nothing and reads no files."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from types import MappingProxyType

from tracerank.answers.exact import exact_match, normalize_answer, token_f1
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Rollout


@dataclass(frozen=True, slots=True)
class Outcome:
    """How good one choice is."""

    answer: str | None
    """None: nothing was chosen, or the figures are a mean over rollouts."""
    sample_id: int | None
    correct: float | None
    """Between 0 and 1; None: nobody knows."""
    f1: float | None
    """Token F1; None: the question has no references."""


def is_judged(pool: Pool) -> bool:
    """Whether anything at all says what is right here."""
    return bool(pool.question.references) or any(rollout.label is not None for rollout in pool.rollouts)


def correctness(rollout: Rollout, references: Sequence[str]) -> float | None:
    """The rollout's label, else its exact match; failed and empty rollouts are wrong, whatever their label."""
    if not rollout.answer or rollout.problem is not None:
        return 0.0
    if rollout.label is not None:
        return rollout.label
    return exact_match(rollout.answer, references) if references else None


def choice(pool: Pool, sample_id: int | None) -> Outcome:
    """How good it is to choose this rollout of a judged pool; to choose none is wrong."""
    references = pool.question.references
    for rollout in pool.rollouts:
        if rollout.sample_id == sample_id:
            f1 = token_f1(rollout.answer, references) if references else None
            return Outcome(rollout.answer, sample_id, correctness(rollout, references), f1)
    return Outcome(None, None, 0.0, 0.0 if references else None)


def written(pool: Pool, answer: str) -> Outcome:
    """How good a newly written answer is: the label of a rollout that gave the same one, else by the references."""
    references = pool.question.references
    f1 = token_f1(answer, references) if references else None
    key = normalize_answer(answer)
    for rollout in pool.rollouts:
        # Judged sets have labels and nothing to compare with: what the judge said of the same words holds.
        if key and rollout.label is not None and normalize_answer(rollout.answer) == key:
            return Outcome(answer, None, correctness(rollout, references), f1)
    return Outcome(answer, None, exact_match(answer, references) if references else None, f1)


def best_of_group(pool: Pool, sample_ids: Collection[int]) -> float | None:
    """Correctness of the best of these rollouts; None: nobody judged any of them."""
    found = [correctness(one, pool.question.references) for one in pool.rollouts if one.sample_id in sample_ids]
    return max((correct for correct in found if correct is not None), default=None)


def oracle(pool: Pool) -> Outcome:
    """The best that any choice among all samples, retained or not, could reach; F1 and correctness each on its own."""
    outcomes = [choice(pool, rollout.sample_id) for rollout in pool.rollouts]
    known = [outcome for outcome in outcomes if outcome.correct is not None]
    best = max(known, key=_correct, default=None)
    f1 = max((outcome.f1 or 0.0 for outcome in outcomes), default=0.0) if pool.question.references else None
    if best is None or (_correct(best) < 1 and len(known) < len(outcomes)):
        # One of those that nobody judged may be right.
        return Outcome(None, None, None, f1)
    if not best.correct:
        return Outcome(None, None, 0.0, f1)
    return Outcome(best.answer, best.sample_id, best.correct, f1)


def first_sample(pool: Pool) -> Outcome:
    """Sample 0, unfiltered: the single rollout of WebQA."""
    return choice(pool, pool.rollouts[0].sample_id if pool.rollouts else None)


def mean_sample(pool: Pool) -> Outcome:
    """The mean over all judged samples: the single rollout of long-horizon browsing."""
    outcomes = [choice(pool, rollout.sample_id) for rollout in pool.rollouts]
    f1 = [outcome.f1 for outcome in outcomes if outcome.f1 is not None]
    return Outcome(None, None, _mean([_correct(o) for o in outcomes if o.correct is not None]), _mean(f1))


SINGLE_RULES: Mapping[str, Callable[[Pool], Outcome]] = MappingProxyType({WEBQA: first_sample, BROWSING: mean_sample})
"""What a single rollout scores, by search setting (App. A.1)."""


def pass_at_k(correct: int, samples: int, k: int) -> float:
    """Unbiased chance that k of the samples, drawn without replacement, hold a correct one."""
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


def _correct(outcome: Outcome) -> float:
    return outcome.correct or 0.0


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
