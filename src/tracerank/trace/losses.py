"""The three objectives of learning to select, with their eligibility rules (Eq. 11, App. A.4)."""

import torch
from torch import Tensor
from torch.nn import functional


def selection_loss(
    scores: Tensor,
    labels: Tensor,
    candidate_pool: Tensor,
    pools: int,
    positive_weight: float,
    mixed_only: bool,
    over: Tensor | None = None,
) -> Tensor:
    """BCE + listwise + hard ranking, each a mean over what ``term_counts`` says.

    ``mixed_only``: the listwise term counts mixed pools only. ``over``: the counts of the step that this is a part of.
    """
    over = term_counts(labels, candidate_pool, pools, mixed_only) if over is None else over
    weight = scores.new_tensor(positive_weight)
    bce = functional.binary_cross_entropy_with_logits(scores, labels, pos_weight=weight, reduction="sum")
    positive = labels > 0.5
    listed, mixed = _eligible(labels, candidate_pool, pools, mixed_only)
    whole = _pool_logsumexp(scores, candidate_pool, pools)
    correct = _pool_logsumexp(scores[positive], candidate_pool[positive], pools)
    best_right = _pool_max(scores[positive], candidate_pool[positive], pools)
    best_wrong = _pool_max(scores[~positive], candidate_pool[~positive], pools)
    hard = functional.softplus((best_wrong - best_right)[mixed])
    return (torch.stack((bce, (whole - correct)[listed].sum(), hard.sum())) / over.clamp(min=1)).sum()


def term_counts(labels: Tensor, candidate_pool: Tensor, pools: int, mixed_only: bool) -> Tensor:
    """What each term is averaged over: candidates, pools of the listwise term, pools of the hard ranking."""
    listed, mixed = _eligible(labels, candidate_pool, pools, mixed_only)
    return torch.stack((labels.new_tensor(len(labels)), listed.sum(), mixed.sum()))


def _eligible(labels: Tensor, candidate_pool: Tensor, pools: int, mixed_only: bool) -> tuple[Tensor, Tensor]:
    """Pools of the listwise term, and mixed ones; labels of merged answers are means, correct above one half."""
    positive = labels > 0.5
    right = torch.bincount(candidate_pool[positive], minlength=pools) > 0
    mixed = right & (torch.bincount(candidate_pool[~positive], minlength=pools) > 0)
    return (mixed if mixed_only else right), mixed


def _pool_max(scores: Tensor, pool: Tensor, pools: int) -> Tensor:
    # Pools without a candidate keep -inf; the callers never select them.
    return scores.new_full((pools,), -torch.inf).scatter_reduce(0, pool, scores, "amax")


def _pool_logsumexp(scores: Tensor, pool: Tensor, pools: int) -> Tensor:
    highest = _pool_max(scores.detach(), pool, pools)
    highest = torch.where(torch.isfinite(highest), highest, 0.0)
    summed = scores.new_zeros(pools).index_add(0, pool, (scores - highest[pool]).exp())
    return highest + summed.clamp_min(torch.finfo(scores.dtype).tiny).log()
