"""Bounds, single rollouts, and how figures are averaged (App. A.1). Rounds nothing and reads no files."""

from collections.abc import Mapping, Sequence
from math import comb

from tracerank.pools.correctness import Outcome, choice
from tracerank.pools.pool import Pool


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
    """Sample 0, unfiltered: a single rollout, and the paper's single rollout of WebQA (App. A.1)."""
    return choice(pool, pool.rollouts[0].sample_id if pool.rollouts else None)


def mean_sample(pool: Pool) -> Outcome:
    """The mean over all judged samples: the paper's single rollout of long-horizon browsing (App. A.1)."""
    outcomes = [choice(pool, rollout.sample_id) for rollout in pool.rollouts]
    f1 = [outcome.f1 for outcome in outcomes if outcome.f1 is not None]
    return Outcome(None, None, _mean([_correct(o) for o in outcomes if o.correct is not None]), _mean(f1))


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
