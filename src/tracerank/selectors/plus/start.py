"""Where ``plus`` nets start: standardised features, and the vote with its linear corrections fitted in one go."""

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracerank.selectors.plus.examples import PlusExamples
from tracerank.selectors.plus.net import PlusNet, votes
from tracerank.selectors.trace.training.fit import BLOCK_POOLS

_LEAST_DEVIATION = 1e-3
"""A feature that varies less in the training pools says nothing, and is not blown up."""
_ITERATIONS = 200


def standardise(net: PlusNet, examples: PlusExamples, learn: NDArray[np.int64]) -> None:
    """Let the net centre and scale features as they are in the examples; always missing: 0 and 1."""
    values = examples.features(learn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        centre, deviation = (np.nan_to_num(of(values, axis=0)) for of in (np.nanmean, np.nanstd))
    net.centre.copy_(torch.from_numpy(centre))
    net.scale.copy_(torch.from_numpy(np.where(deviation < _LEAST_DEVIATION, 1.0, deviation)))


def fit_start(net: PlusNet, examples: PlusExamples, learn: NDArray[np.int64], penalty: float) -> None:
    """Fit the vote and the linear correction together: a convex problem with one solution, whatever the seed."""
    net.eval()
    everything: list[tuple[Tensor, Tensor, Tensor, Tensor, Tensor]] = []
    for begin in range(0, len(learn), BLOCK_POOLS):
        block = examples.block(learn[begin : begin + BLOCK_POOLS])
        with torch.no_grad():
            looks = net.looks(block.inputs, net.cosines(block.inputs))
        may = block.inputs.groups >= 0
        pool = block.inputs.graph.candidate_pool + begin
        sources = net.sources(block.inputs)
        told = looks[:, :0] if sources is None else sources
        everything.append((votes(block.inputs)[may], looks[may], told[may], pool[may], block.labels[may] > 0.5))
    share, looks, told, pool, right = (torch.cat(parts) for parts in zip(*everything, strict=True))
    weight = _example_weights(examples, learn)
    teaches = torch.bincount(pool[right], minlength=len(learn)) > 0
    penalised = [net.linear.weight] if net.trust is None else [net.linear.weight, net.trust.weight]
    optimizer = torch.optim.LBFGS([net.vote_scale, *penalised], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        scores = net.start(share, looks, told)
        lost = _log_sums(scores, pool, len(learn)) - _log_sums(scores[right], pool[right], len(learn))
        loss = (lost * weight)[teaches].sum() + 0.5 * penalty * sum(p.square().sum() for p in penalised)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]


def _example_weights(examples: PlusExamples, learn: NDArray[np.int64]) -> Tensor:
    """One per question, shared by its subsets, which follow each other."""
    question = examples.questions(learn)
    _, place, counts = np.unique(question, return_inverse=True, return_counts=True)
    return torch.from_numpy((1 / counts[place]).astype(np.float32))


def _log_sums(scores: Tensor, pool: Tensor, pools: int) -> Tensor:
    """Per pool the log of summed exponentials."""
    highest = scores.new_full((pools,), -1e9).scatter_reduce(0, pool, scores.detach(), "amax")
    return highest + (scores.new_zeros(pools).index_add(0, pool, (scores - highest[pool]).exp()) + 1e-30).log()
