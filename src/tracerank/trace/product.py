"""``nn.Linear`` through oneDNN, which takes half the time of torch's default on processors that are not Intel's.

The operator is private to torch: it is used only if its signature is the one that is known, and the plain product is
beside it. oneDNN compiles a kernel for each shape, so rows are padded to one of a few counts.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

SIGNATURE = (
    "mkldnn::_linear_pointwise(Tensor X, Tensor W, Tensor? B, str attr, Scalar?[] scalars, str? algorithm) -> Tensor Y"
)
MIN_ROWS = 32
"""Fewer rows are left to torch: a call costs more than it saves."""


def is_available() -> bool:
    """Whether this build of torch has oneDNN and the operator as it is known."""
    operator = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    signature = str(getattr(getattr(operator, "default", None), "_schema", None))
    return signature == SIGNATURE and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows @ weight^T + bias, for a weight [out, in] as ``nn.Linear`` has it."""
    if not ONEDNN or rows.ndim != 2 or len(rows) < MIN_ROWS or rows.dtype != torch.float32 or rows.device.type != "cpu":
        return functional.linear(rows, weight, bias)
    if not torch.is_grad_enabled():
        return _multiply(_padded(rows), weight, bias)[: len(rows)]
    result: Tensor = _Linear.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return result


class Linear(nn.Linear):
    """``nn.Linear`` by this module's product."""

    def forward(self, rows: Tensor) -> Tensor:
        return linear(rows, self.weight, self.bias)


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padded = _padded(rows)
        ctx.save_for_backward(padded, weight)
        return _multiply(padded, weight, bias)[: len(rows)]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        padded = _padded(grads[0])  # zeros add nothing to the weight's gradient
        of_rows = _multiply(padded, weight.t())[: len(grads[0])] if ctx.needs_input_grad[0] else None
        of_weight = _multiply(padded.t(), rows.t()) if ctx.needs_input_grad[1] else None
        return of_rows, of_weight, grads[0].sum(0) if ctx.needs_input_grad[2] else None


def _padded(rows: Tensor) -> Tensor:
    """With zeros below, up to one of sixteen counts between powers of two."""
    missing = -len(rows) % max(16, (1 << len(rows).bit_length()) // 32)
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


def _multiply(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if not (weight.is_contiguous() or weight.t().is_contiguous()):
        weight = weight.contiguous()  # for other strides oneDNN has only a slow reference
    result: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return result


ONEDNN = is_available()
