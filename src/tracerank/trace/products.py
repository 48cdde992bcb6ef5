"""Matrix products in single precision, by oneDNN where torch has it.

torch multiplies with MKL, which leaves half of the width of a processor unused that is not Intel's; oneDNN, which
comes with torch too, does not. Both are exact to single precision and add in another order. oneDNN makes a kernel for
every shape that it meets, so rows are rounded up to a few numbers of them; a row's result does not depend on that.
"""

import torch
from torch import Tensor
from torch.nn import functional

FEWEST_ROWS = 32
"""Fewer are left to torch: a call costs more than it saves."""
LOOKUP_ROWS = 256
"""Rows of a table are looked up and widened in blocks of this many, which stay in cache."""
SHORT_SUM = 1024
"""oneDNN adds up one product after the other, and rounding errors grow with them; parts of this length have smaller."""


def round_up(rows: int) -> int:
    """The next number of rows for which there are kernels, sixteen between powers of two."""
    step = max(16, (1 << rows.bit_length()) // 32)
    return -(-rows // step) * step


def linear(rows: Tensor, weight: Tensor, bias: Tensor | None = None, longest_sum: int | None = None) -> Tensor:
    """rows @ weight^T + bias, for weights [out, in] as ``nn.Linear`` has them; rows may be of half precision.

    ``longest_sum``: make longer sums of parts that are rounded one by one.
    """
    if not _suits(rows, weight):
        return functional.linear(rows.float(), weight, bias)
    if not (weight.is_contiguous() or weight.t().is_contiguous()):
        weight = weight.contiguous()  # for other strides oneDNN has but a slow reference
    if not torch.is_grad_enabled():
        return _cut(_multiply_in_parts(_padded(rows, round_up(len(rows))), weight, bias, longest_sum), len(rows))
    result: Tensor = _Linear.apply(rows, weight, bias, longest_sum)  # type: ignore[no-untyped-call]
    return result


def product(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows @ weight + bias, for weights [in, out]."""
    return linear(rows, weight.t(), bias)


def linear_of(table: Tensor, rows: Tensor, weight: Tensor, bias: Tensor, longest_sum: int | None = None) -> Tensor:
    """``linear`` of rows of a table of any float type."""
    if torch.is_grad_enabled():
        return linear(table.index_select(0, rows), weight, bias, longest_sum)
    result = weight.new_empty(len(rows), len(weight))
    for begin in range(0, len(rows), LOOKUP_ROWS):
        block = table.index_select(0, rows[begin : begin + LOOKUP_ROWS])
        result[begin : begin + LOOKUP_ROWS] = linear(block, weight, bias, longest_sum)
    return result


def _suits(rows: Tensor, weight: Tensor) -> bool:
    return (
        len(rows) >= FEWEST_ROWS
        and weight.dtype == torch.float32
        and weight.device.type == "cpu"
        and bool(torch.backends.mkldnn.enabled)
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows: Tensor, weight: Tensor, bias: Tensor | None, longest_sum: int | None) -> Tensor:  # type: ignore[no-untyped-def]
        padded = _padded(rows, round_up(len(rows)))
        ctx.save_for_backward(padded, weight)
        return _cut(_multiply_in_parts(padded, weight, bias, longest_sum), len(rows))

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[no-untyped-def]
        rows, weight = ctx.saved_tensors
        of_rows = of_weight = None
        padded = _padded(grad, len(rows))  # zeros add nothing to the weight's gradient
        if ctx.needs_input_grad[0]:
            of_rows = _cut(_multiply(padded, weight.t()), len(grad))
        if ctx.needs_input_grad[1]:
            rows = rows.float()
            # The first operand is copied in rows; better the narrower one.
            if rows.shape[1] < padded.shape[1]:
                of_weight = _multiply(rows.t(), padded.t()).t()
            else:
                of_weight = _multiply(padded.t(), rows.t())
        return of_rows, of_weight, grad.sum(0) if ctx.needs_input_grad[2] else None, None


def _padded(rows: Tensor, count: int) -> Tensor:
    """With zeros below; as it is where there is nothing to add, of which torch would make a copy."""
    return rows if len(rows) == count else functional.pad(rows, (0, 0, 0, count - len(rows)))


def _cut(rows: Tensor, count: int) -> Tensor:
    return rows.resize_(count, rows.shape[1])


def _multiply_in_parts(rows: Tensor, weight: Tensor, bias: Tensor | None, longest_sum: int | None) -> Tensor:
    width = rows.shape[1]
    if longest_sum is None or width <= longest_sum:
        return _multiply(rows.float(), weight, bias)
    parts = (
        _multiply(
            rows[:, begin : begin + longest_sum].float().contiguous(),
            weight[:, begin : begin + longest_sum].contiguous(),
            None if begin else bias,
        )
        for begin in range(0, width, longest_sum)
    )
    summed = next(parts)
    for part in parts:
        summed += part
    return summed


def _multiply(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    multiplied: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return multiplied
