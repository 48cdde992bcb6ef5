"""The three objectives of learning to select, with their eligibility rules (Eq. 11, App. A.4)."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tracerank.trace.recipe import LossRule


@dataclass(frozen=True, slots=True)
class Normalisers:
    """What each term of a step is averaged over; a step may be computed in parts that share them."""

    candidates: int
    listwise: int
    """Pools that the listwise term counts."""
    mixed: int
    """Pools with correct and incorrect candidates, which the hard-ranking term counts."""


def is_positive(labels: Tensor) -> Tensor:
    """Candidates the ranking terms treat as correct; labels of merged answers are means."""
    return labels > 0.5


def normalisers(labels: Tensor, candidate_pool: Tensor, pools: int, rule: LossRule) -> Normalisers:
    """How many candidates and eligible pools a step has."""
    has_positive, has_negative = _eligible(labels, candidate_pool, pools)
    mixed = int((has_positive & has_negative).sum())
    return Normalisers(len(labels), mixed if rule.listwise_needs_negatives else int(has_positive.sum()), mixed)


def selection_loss(
    scores: Tensor,
    labels: Tensor,
    candidate_pool: Tensor,
    pools: int,
    positive_weight: float,
    rule: LossRule,
    over: Normalisers | None = None,
) -> Tensor:
    """BCE + listwise + hard ranking; ``over`` makes this the share of a part in a larger step."""
    over = over or normalisers(labels, candidate_pool, pools, rule)
    weight = scores.new_tensor(positive_weight)
    loss = functional.binary_cross_entropy_with_logits(scores, labels, pos_weight=weight, reduction="sum")
    loss = loss / max(over.candidates, 1)
    positive = is_positive(labels)
    has_positive, has_negative = _eligible(labels, candidate_pool, pools)
    mixed = has_positive & has_negative
    listed = mixed if rule.listwise_needs_negatives else has_positive
    if over.listwise:
        whole = _pool_logsumexp(scores, candidate_pool, pools)
        correct = _pool_logsumexp(scores[positive], candidate_pool[positive], pools)
        loss = loss + (whole - correct)[listed].sum() / over.listwise
    if over.mixed:
        best_right = _pool_max(scores[positive], candidate_pool[positive], pools)
        best_wrong = _pool_max(scores[~positive], candidate_pool[~positive], pools)
        loss = loss + functional.softplus((best_wrong - best_right)[mixed]).sum() / over.mixed
    return loss


def _eligible(labels: Tensor, candidate_pool: Tensor, pools: int) -> tuple[Tensor, Tensor]:
    positive = is_positive(labels)
    right = torch.bincount(candidate_pool[positive], minlength=pools) > 0
    wrong = torch.bincount(candidate_pool[~positive], minlength=pools) > 0
    return right, wrong


def _pool_max(scores: Tensor, pool: Tensor, pools: int) -> Tensor:
    # Pools without a candidate keep -inf; the callers never select them.
    lowest = scores.new_full((pools,), -torch.inf)
    return lowest.scatter_reduce(0, pool, scores, "amax")


def _pool_logsumexp(scores: Tensor, pool: Tensor, pools: int) -> Tensor:
    highest = _pool_max(scores.detach(), pool, pools)
    highest = torch.where(torch.isfinite(highest), highest, 0.0)
    summed = scores.new_zeros(pools).index_add(0, pool, (scores - highest[pool]).exp())
    return highest + summed.clamp_min(torch.finfo(scores.dtype).tiny).log()
