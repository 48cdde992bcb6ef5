"""Sums over segments of rows, the one primitive behind every mean in the graph."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tracerank.trace.graphs.packed import Segments


@dataclass(frozen=True, slots=True)
class SegmentTensors:
    """``Segments`` as tensors."""

    rows: Tensor
    offsets: Tensor
    segment: Tensor
    weight: Tensor | None
    inverse_sizes: Tensor
    """[segments, 1]"""
    is_single: bool
    """Every segment holds one row, so summing is selecting."""

    @classmethod
    def of(cls, segments: Segments) -> "SegmentTensors":
        return cls(
            torch.from_numpy(segments.rows),
            torch.from_numpy(segments.offsets),
            torch.from_numpy(segments.segment),
            None if segments.weight is None else torch.from_numpy(segments.weight),
            torch.from_numpy(segments.weights()).reciprocal().unsqueeze(1),
            segments.count == len(segments.rows) and segments.weight is None,
        )


class _SegmentSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, states: Tensor, rows: Tensor, offsets: Tensor, segment: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(rows, segment)
        ctx.count = states.shape[0]
        return functional.embedding_bag(rows, states, offsets, mode="sum")

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[no-untyped-def]
        rows, segment = ctx.saved_tensors
        # Without shared nodes each row belongs to at most one segment, so its gradient is a copy, not a sum.
        spread = grad.new_zeros(ctx.count, grad.shape[1])
        spread.index_copy_(0, rows, grad.index_select(0, segment))
        return spread, None, None, None


def segment_sum(states: Tensor, segments: SegmentTensors) -> Tensor:
    """[segments, d]: the sum of each segment's rows of ``states`` [n, d]."""
    if segments.is_single:
        return states.index_select(0, segments.rows)
    if not torch.is_grad_enabled():
        return functional.embedding_bag(
            segments.rows, states, segments.offsets, mode="sum", per_sample_weights=segments.weight
        )
    assert segments.weight is None, "shared nodes are for scoring only"
    summed: Tensor = _SegmentSum.apply(states, segments.rows, segments.offsets, segments.segment)  # type: ignore[no-untyped-call]
    return summed


def segment_mean(states: Tensor, segments: SegmentTensors) -> Tensor:
    """[segments, d]: the mean of each segment's rows."""
    summed = segment_sum(states, segments)
    return summed if segments.is_single else summed * segments.inverse_sizes
