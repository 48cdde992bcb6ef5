"""Integer products against the float ones they stand for."""

import pytest

torch = pytest.importorskip("torch")

from tracerank.embedding.int8 import Int8Linear, quantize_linears  # noqa: E402


def layer(inputs: int = 48, outputs: int = 40, bias: bool = True) -> torch.nn.Linear:
    torch.manual_seed(0)
    return torch.nn.Linear(inputs, outputs, bias=bias)


def rows(count: int = 30, inputs: int = 48, loud: float = 1.0) -> torch.Tensor:
    """Random inputs; one channel is ``loud`` times as large, as in trained transformers."""
    values = torch.randn(count, inputs, generator=torch.Generator().manual_seed(1))
    values[:, 3] *= loud
    return values


def least_cosine(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(one, other).min())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("loud", [1.0, 60.0])
@torch.inference_mode()
def test_the_outputs_are_those_of_the_float_layer_even_with_a_loud_channel(bias: bool, loud: float) -> None:
    linear, inputs = layer(bias=bias), rows(loud=loud)
    quantized = Int8Linear(linear, inputs.abs().amax(0))
    assert least_cosine(quantized(inputs), linear(inputs)) > 0.999


@torch.inference_mode()
def test_a_row_does_not_depend_on_its_batch() -> None:
    inputs = rows()
    quantized = Int8Linear(layer(), inputs.abs().amax(0))
    together = quantized(inputs.reshape(5, 6, 48)).reshape(30, 40)
    assert torch.allclose(together, torch.cat([quantized(row[None]) for row in inputs]), atol=1e-5)


@torch.inference_mode()
def test_only_layers_that_the_calibration_reached_are_replaced() -> None:
    net = torch.nn.ModuleDict({"used": layer(), "idle": layer()})
    assert quantize_linears(net, lambda: net["used"](rows())) == 1
    assert isinstance(net["used"], Int8Linear)
    assert isinstance(net["idle"], torch.nn.Linear)
