"""Dropout by sixteen bits an element."""

import pytest
import torch

from tests.builders import inputs_of, pool, small_net
from tracerank.trace.dropout import LEVELS, dropout
from tracerank.trace.graphs.schema import WEBQA_RECIPE


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
def test_the_share_of_zeros_is_the_rate(rate: float) -> None:
    torch.manual_seed(0)
    elements = 400_000
    dropped = dropout(torch.ones(elements), rate, training=True)
    spread = (rate * (1 - rate) / elements) ** 0.5
    assert float((dropped == 0).float().mean()) == pytest.approx(rate, abs=5 * spread + 1 / LEVELS)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(rate: float) -> None:
    torch.manual_seed(0)
    dropped = dropout(torch.full((1000,), 3.0), rate, training=True)
    kept = dropped[dropped != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 3.0 / (1 - rate)), atol=0, rtol=1e-3)


def test_gradients_pass_where_states_passed_with_the_same_scale() -> None:
    torch.manual_seed(0)
    states = torch.randn(50, 7, requires_grad=True)
    dropped = dropout(states, 0.3, training=True)
    upstream = torch.randn_like(dropped)
    dropped.backward(upstream)
    with torch.no_grad():
        scale = dropped / states
    assert states.grad is not None
    torch.testing.assert_close(states.grad, upstream * scale)
    assert 0 < int((scale == 0).sum()) < scale.numel()


def test_outside_training_and_at_rate_zero_nothing_happens() -> None:
    states = torch.randn(4, 3)
    assert dropout(states, 0.5, training=False) is states
    assert dropout(states, 0.0, training=True) is states


def test_the_seed_decides_what_is_dropped() -> None:
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return dropout(torch.ones(1000), 0.5, training=True)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_elements_are_dropped_independently_of_their_neighbours() -> None:
    torch.manual_seed(0)
    kept = (dropout(torch.ones(400_000), 0.5, training=True) != 0).float() - 0.5
    for distance in range(1, 9):  # four elements share one random word
        assert abs(float((kept[distance:] * kept[:-distance]).mean())) < 0.25 * 0.02


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (0, 5), (5, 3), (2, 3, 5)])
def test_any_shape_is_kept(shape: tuple[int, ...]) -> None:
    assert dropout(torch.ones(shape), 0.2, training=True).shape == shape


def test_states_that_are_not_contiguous_are_dropped_where_they_stand() -> None:
    torch.manual_seed(0)
    states = torch.randn(6, 4).t()
    dropped = dropout(states, 0.5, training=True)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], 2 * states[kept])


def test_the_input_is_not_changed() -> None:
    states = torch.ones(100)
    dropout(states, 0.5, training=True)
    assert torch.equal(states, torch.ones(100))


def test_a_net_drops_in_training_and_not_in_evaluation() -> None:
    net = small_net(WEBQA_RECIPE, dropout=0.3)
    tensors, vectors = inputs_of([pool("Paris", "Rome")], WEBQA_RECIPE)
    assert torch.equal(net(tensors, vectors), net(tensors, vectors))
    net.train()
    assert not torch.equal(net(tensors, vectors), net(tensors, vectors))
    with torch.no_grad():
        assert not torch.equal(net(tensors, vectors), net(tensors, vectors))
