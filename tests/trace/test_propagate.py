"""Eq. 4 by the network, by loops over nodes and edges, and by PyG."""

from types import ModuleType

import pytest
import torch
from torch import Tensor

from studies.speed.paper_pools import browsing_pools, webqa_pools
from tests.builders import (
    EVERY_RECIPE,
    browsed,
    graphs_of,
    inputs_of,
    pool,
    pool_of,
    random_pools,
    rollout,
    setting_of,
    small_net,
    table_of,
)
from tests.slow_twin import slow_graph, slow_scores
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.net import RelationLayer, TraceNet
from tracerank.trace.recipe import BROWSING_RECIPE, RECIPES, WEBQA_RECIPE

ORACLE_SIZES = {"hidden": 64, "heads": 1}
"""The twin's heads are 64 wide."""
BOTH = pytest.mark.parametrize("setting", [WEBQA, BROWSING])


def scores_and_gradients(net: TraceNet, scores: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Scores, and the gradients of a fixed mixture of them; a parameter that is not used has a zero gradient."""
    net.zero_grad()
    (scores * torch.linspace(-1, 1, len(scores))).sum().backward()
    zero = torch.zeros(())
    return scores.detach(), {
        name: (zero if p.grad is None else p.grad.clone()).expand_as(p) for name, p in net.named_parameters()
    }


def assert_as_loops(net: TraceNet, pools: list[Pool]) -> None:
    """The same scores and gradients as the slow twin."""
    got = scores_and_gradients(net, net(*inputs_of(pools, net.recipe)))
    wanted = scores_and_gradients(net, slow_scores(net, slow_graph(pools, net.recipe)))
    torch.testing.assert_close(got[0], wanted[0], atol=5e-5, rtol=0)
    for name, gradient in wanted[1].items():
        scale = max(1.0, float(gradient.abs().max()))
        torch.testing.assert_close(
            got[1][name], gradient, atol=1e-4 * scale, rtol=0, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("is_regular", [False, True], ids=["irregular", "regular"])
@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_the_net_computes_what_loops_over_nodes_and_edges_compute(name: str, is_regular: bool) -> None:
    pools = random_pools(setting_of(name), 5, seed=1, is_regular=is_regular)
    assert_as_loops(small_net(EVERY_RECIPE[name]), pools)


def test_searches_that_led_nowhere_propagate_along_time_alone() -> None:
    assert_as_loops(small_net(BROWSING_RECIPE), [pool_of(rollout("x", browsed("a"), browsed("b")), rollout("y"))])


@BOTH
def test_propagation_leaves_its_inputs_alone_and_needs_no_gradients(setting: str) -> None:
    net = small_net(RECIPES[setting])
    tensors, vectors = inputs_of(random_pools(setting, 8, seed=5), net.recipe)
    with_gradients = net(tensors, vectors).detach()
    with torch.inference_mode():
        _, states = net.encode(tensors, vectors)
        before = {kind: state.clone() for kind, state in states.items()}
        net.propagate(states, tensors)
        assert all(torch.equal(states[kind], copy) for kind, copy in before.items())
        torch.testing.assert_close(net(tensors, vectors), with_gradients, atol=2e-5, rtol=0)


def test_every_bias_has_a_gradient_of_its_own_to_which_parts_of_a_step_can_add() -> None:
    net = small_net(RECIPES[WEBQA])
    pools = random_pools(WEBQA, 6, seed=8)
    net(*inputs_of(pools, net.recipe)).sum().backward()
    once = {name: p.grad.clone() for name, p in net.named_parameters() if p.grad is not None}
    net(*inputs_of(pools, net.recipe)).sum().backward()
    for name, parameter in net.named_parameters():
        if name in once:
            torch.testing.assert_close(parameter.grad, 2 * once[name], msg=name)


# PyG as an oracle that shares no line with ours.


@pytest.fixture(scope="module")
def twin() -> ModuleType:
    pytest.importorskip("torch_geometric")
    import studies.speed.twin

    return studies.speed.twin


def by_twin(
    twin: ModuleType, net: TraceNet, pools: list[Pool], *, lists_absent_relations: bool = True
) -> tuple[Tensor, Tensor]:
    """PyG's scores and the gradient of their fixed mixture with regard to the vectors."""
    rows, table = table_of(graphs_of(pools, net.recipe))
    # A last row of zeros for searches without text.
    table, rows = torch.cat((table, torch.zeros(1, table.shape[1]))).requires_grad_(), {**rows, "": len(rows)}
    data = twin.collate_twin([twin.build_twin(each, net.recipe, rows, table) for each in pools])
    if not lists_absent_relations:
        for relation, edges in data.edge_index_dict.items():
            if edges.shape[1] == 0:
                del data[relation]
    scores, gradient = mixed(twin.Twin(net).eval()(data), table)
    return scores, gradient[:-1]


def by_ours(net: TraceNet, pools: list[Pool]) -> tuple[Tensor, Tensor]:
    batch, table = inputs_of(pools, net.recipe)
    return mixed(net(batch, table.requires_grad_()), table)


def mixed(scores: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
    (scores * torch.linspace(-1, 1, len(scores))).sum().backward()
    assert table.grad is not None
    return scores.detach(), table.grad


@BOTH
def test_pyg_gives_the_same_scores_and_gradients(twin: ModuleType, setting: str) -> None:
    made = {WEBQA: webqa_pools, BROWSING: browsing_pools}[setting](4, seed=1, rollouts=5)
    net = small_net(RECIPES[setting], **ORACLE_SIZES)
    (scores, gradient), (their_scores, their_gradient) = by_ours(net, made), by_twin(twin, net, made)
    torch.testing.assert_close(scores, their_scores, atol=5e-5, rtol=0)
    torch.testing.assert_close(gradient, their_gradient, atol=1e-4, rtol=0)


def test_a_relation_absent_from_the_batch_keeps_its_bias_which_pyg_loses(twin: ModuleType) -> None:
    # No rollout searches twice and nothing is repeated: "next" and both content relations have no edge at all.
    net, pools = small_net(WEBQA_RECIPE, **ORACLE_SIZES), [pool("Paris", "Rome")]
    ours, listed = by_ours(net, pools)[0], by_twin(twin, net, pools)[0]
    skipped = by_twin(twin, net, pools, lists_absent_relations=False)[0]
    torch.testing.assert_close(ours, listed, atol=5e-5, rtol=0)
    assert (ours - skipped).abs().max() > 1e-2
    with torch.no_grad():
        for layer in net.layers:
            assert isinstance(layer, RelationLayer)
            for name in ("next", "same_content_within", "same_content_cross"):
                layer.bias[name].zero_()
    torch.testing.assert_close(by_ours(net, pools)[0], skipped, atol=5e-5, rtol=0)
