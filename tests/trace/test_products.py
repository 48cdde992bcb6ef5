"""Products by oneDNN against torch's own, in every shape, stride and precision that the network has."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tracerank.trace.products import FEWEST_ROWS, SHORT_SUM, linear, linear_of, product, round_up

WIDTHS = [8, 256, SHORT_SUM, SHORT_SUM + 1, 2 * SHORT_SUM + 8]


def weights(out: int, width: int) -> dict[str, Tensor]:
    """The same weight as a linear layer has it, turned around, and cut from a larger one."""
    plain = torch.randn(out, width) / width**0.5
    stacked = torch.stack((plain.t(), plain.t()), dim=1)
    return {"plain": plain, "turned": plain.t().contiguous().t(), "cut": stacked[:, 1].t()}


@pytest.mark.parametrize("count", [0, 1, FEWEST_ROWS - 1, FEWEST_ROWS, 37, 100, 1000])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_product_and_its_gradients_are_those_of_torch(count: int, width: int) -> None:
    torch.manual_seed(0)
    rows, bias, mixture = torch.randn(count, width), torch.randn(24), torch.randn(count, 24)
    for name, weight in weights(24, width).items():
        found = []
        for multiply in (linear, functional.linear):
            ends = [tensor.detach().requires_grad_() for tensor in (rows, weight, bias)]
            result = multiply(*ends)
            (result * mixture).sum().backward()
            found.append((result.detach(), *(end.grad for end in ends)))
        for got, wanted in zip(*found, strict=True):
            torch.testing.assert_close(got, wanted, atol=2e-4, rtol=1e-5, msg=lambda text, name=name: f"{name}: {text}")
        with torch.no_grad():
            torch.testing.assert_close(linear(rows, weight, bias), found[0][0], atol=0, rtol=0)
            torch.testing.assert_close(product(rows, weight.t(), bias), found[0][0], atol=0, rtol=0)


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # torch sets all flags to switch off one
def test_where_onednn_is_switched_off_torch_multiplies() -> None:
    rows, weight = torch.randn(70, 32), torch.randn(16, 32)
    with torch.backends.mkldnn.flags(enabled=False):
        assert torch.equal(linear(rows.half(), weight), functional.linear(rows.half().float(), weight))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_has_one_product_wherever_and_with_however_many_others_it_stands(width: int) -> None:
    torch.manual_seed(0)
    row, weight = torch.randn(1, width), torch.randn(256, width)
    with torch.no_grad():
        products = torch.cat([linear(row.repeat(count, 1), weight) for count in (FEWEST_ROWS, 37, 64, 300, 1144)])
    assert torch.equal(products, products[:1].expand_as(products))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_a_table_of_half_precision_are_widened(width: int) -> None:
    torch.manual_seed(0)
    table, weight, bias = torch.randn(40, width).half(), torch.randn(8, width), torch.randn(8)
    rows = torch.randint(0, 40, (300,))
    wanted = functional.linear(table[rows].float(), weight, bias)
    for with_gradients in (True, False):
        for longest_sum in (None, SHORT_SUM):
            with torch.set_grad_enabled(with_gradients):
                found = linear_of(table, rows, weight, bias, longest_sum)
            torch.testing.assert_close(found, wanted, atol=2e-4, rtol=1e-5)


def test_a_result_may_be_added_to_in_place() -> None:
    rows, weight = torch.randn(2 * FEWEST_ROWS, 8), torch.randn(4, 8, requires_grad=True)
    message = linear(rows, weight)
    message.index_add_(0, torch.tensor([3]), torch.ones(1, 4))
    message.sum().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None
    torch.testing.assert_close(weight.grad, rows.sum(0).expand(4, -1), atol=1e-5, rtol=1e-5)


def test_rows_are_rounded_up_by_little_to_few_numbers() -> None:
    assert all(count <= round_up(count) < count + max(16, count / 8) for count in range(1, 10_000))
    assert len({round_up(count) for count in range(1, 10_000)}) < 120
