"""The product through oneDNN gives what torch's own gives, with its gradients."""

import pytest
import torch
from torch.nn import functional

from tracerank.trace import product


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 100, 700])
@pytest.mark.parametrize("is_strided", [False, True])
def test_products_and_gradients_are_those_of_torch(rows: int, is_strided: bool) -> None:
    torch.manual_seed(rows)
    table = torch.randn(16, 3, 24)
    weight = (table[:, 1] if is_strided else table[:, 1].contiguous()).requires_grad_()
    given, bias = torch.randn(rows, 24, requires_grad=True), torch.randn(16, requires_grad=True)
    slope = torch.randn(rows, 16)
    outputs = [multiply(given, weight, bias) for multiply in (product.linear, functional.linear)]
    ours, theirs = ([found, *torch.autograd.grad((found * slope).sum(), (given, weight, bias))] for found in outputs)
    for one, other in zip(ours, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("shape", [(40,), (40, 40), (3, 40, 40)])
def test_a_layer_takes_rows_of_any_dimensions(shape: tuple[int, ...]) -> None:
    layer, rows = product.Linear(40, 5), torch.randn(shape)
    assert torch.allclose(layer(rows), functional.linear(rows, layer.weight, layer.bias), atol=1e-5)


def test_an_operator_of_another_signature_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product, "SIGNATURE", "mkldnn::_linear_pointwise(Tensor X) -> Tensor Y")
    assert not product.is_available()
    monkeypatch.setattr(product, "ONEDNN", False)
    rows, weight = torch.randn(64, 8), torch.randn(4, 8)
    assert torch.equal(product.linear(rows, weight), functional.linear(rows, weight))
