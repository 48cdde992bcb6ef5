"""Eq. 4 three times over: without edges, with listed edges, and as loops; and once more by PyG."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from studies.speed.paper_pools import browsing_pools, webqa_pools
from tests.builders import (
    EVERY_RECIPE,
    SEPARATE_RECIPES,
    browsed,
    graphs_of,
    inputs_of,
    pool,
    pool_of,
    random_pools,
    ranked,
    rollout,
    setting_of,
    small_net,
    vectors_of,
)
from tests.slow_twin import initial_states, propagated, slow_graph, slow_scores
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.graphs.packed import collate, segments_of
from tracerank.trace.graphs.schema import BROWSING_RECIPE, WEBQA_RECIPE, GraphRecipe
from tracerank.trace.inputs import as_tensors
from tracerank.trace.net import TraceNet
from tracerank.trace.propagate import States
from tracerank.trace.segments import SegmentTensors, segment_mean, segment_sum

ORACLE_SIZES = {"hidden": 64, "heads": 1}
"""The twin's heads are 64 wide."""


def scores_and_gradients(net: TraceNet, scores: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Scores, and the gradients of a fixed mixture of them; a parameter that is not used has a zero gradient."""
    net.zero_grad()
    mixture = torch.linspace(-1, 1, len(scores))
    (scores * mixture).sum().backward()
    zero = torch.zeros(())
    return scores.detach(), {
        name: (zero if p.grad is None else p.grad.clone()).expand_as(p) for name, p in net.named_parameters()
    }


def by_net(net: TraceNet, pools: list[Pool], *, explicit_edges: bool = False) -> tuple[Tensor, dict[str, Tensor]]:
    tensors, vectors = inputs_of(pools, net.recipe, explicit_edges=explicit_edges)
    return scores_and_gradients(net, net(tensors, vectors))


def by_loops(net: TraceNet, pools: list[Pool]) -> tuple[Tensor, dict[str, Tensor]]:
    return scores_and_gradients(net, slow_scores(net, slow_graph(pools, net.recipe)))


def assert_same(got: tuple[Tensor, dict[str, Tensor]], wanted: tuple[Tensor, dict[str, Tensor]]) -> None:
    torch.testing.assert_close(got[0], wanted[0], atol=5e-5, rtol=0)
    for name, gradient in wanted[1].items():
        scale = max(1.0, float(gradient.abs().max()))
        torch.testing.assert_close(
            got[1][name], gradient, atol=1e-4 * scale, rtol=0, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("is_regular", [False, True], ids=["irregular", "regular"])
@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_the_net_computes_what_loops_over_nodes_and_edges_compute(name: str, is_regular: bool) -> None:
    net = small_net(EVERY_RECIPE[name])
    pools = random_pools(setting_of(name), 5, seed=1, is_regular=is_regular)
    assert_same(by_net(net, pools), by_loops(net, pools))


@pytest.mark.parametrize("is_regular", [False, True], ids=["irregular", "regular"])
@pytest.mark.parametrize("name", SEPARATE_RECIPES)
def test_propagation_without_edges_equals_propagation_along_edges(name: str, is_regular: bool) -> None:
    net = small_net(SEPARATE_RECIPES[name])
    for seed in range(2, 5):
        pools = random_pools(setting_of(name), 12, seed, is_regular=is_regular)
        assert_same(by_net(net, pools), by_net(net, pools, explicit_edges=True))


def states_of(net: TraceNet, pools: list[Pool], *, explicit_edges: bool = False) -> States:
    tensors, vectors = inputs_of(pools, net.recipe, explicit_edges=explicit_edges)
    with torch.no_grad():
        query, _, states = net.encode(tensors, vectors)
        return net.propagate(states, query, tensors)


@pytest.mark.parametrize("explicit_edges", [False, True], ids=["without edges", "along edges"])
@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_every_state_is_the_one_that_loops_find(setting: str, explicit_edges: bool) -> None:
    net = small_net(WEBQA_RECIPE if setting == WEBQA else BROWSING_RECIPE, layers=2)
    pools = random_pools(setting, 6, seed=3)
    graph = slow_graph(pools, net.recipe)
    with torch.no_grad():
        slow = propagated(net, graph, initial_states(net, graph))
    fast = states_of(net, pools, explicit_edges=explicit_edges)
    torch.testing.assert_close(fast.searches, torch.stack(slow.searches), atol=1e-5, rtol=0)
    torch.testing.assert_close(fast.evidence, torch.stack(slow.evidence), atol=1e-5, rtol=0)
    if explicit_edges and setting == BROWSING:  # the other way leaves the last document states, which nobody hears
        assert fast.documents is not None
        torch.testing.assert_close(fast.documents, torch.stack(slow.documents), atol=1e-5, rtol=0)


@pytest.mark.parametrize("is_regular", [False, True])
@pytest.mark.parametrize("name", ["webqa: paper", "browsing: Doc and content links"])
def test_the_shortcut_of_the_first_layer_changes_nothing(name: str, is_regular: bool) -> None:
    net = small_net(SEPARATE_RECIPES[name])
    tensors, vectors = inputs_of(random_pools(setting_of(name), 12, seed=4, is_regular=is_regular), net.recipe)
    with torch.no_grad():
        query, _, states = net.encode(tensors, vectors)
        assert states.tables is not None
        fast = net.propagate(states, query, tensors)
        plain = net.propagate(states._replace(tables=None), query, tensors)
    torch.testing.assert_close(fast.evidence, plain.evidence, atol=1e-5, rtol=0)
    torch.testing.assert_close(fast.searches, plain.searches, atol=1e-5, rtol=0)


@pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE], ids=[WEBQA, BROWSING])
def test_propagation_leaves_its_inputs_alone(recipe: GraphRecipe) -> None:
    net = small_net(recipe)
    tensors, vectors = inputs_of(random_pools(WEBQA if recipe is WEBQA_RECIPE else BROWSING, 8, seed=5), recipe)
    with torch.no_grad():
        query, _, states = net.encode(tensors, vectors)
        assert states.tables is not None
        given = [query, *states[:3], *states.tables]
        before = [None if state is None else state.clone() for state in given]
        net.propagate(states, query, tensors)
    for state, copy in zip(given, before, strict=True):
        assert (state is None) if copy is None else torch.equal(state, copy)


def test_scores_are_the_same_with_and_without_gradients() -> None:
    for recipe, setting in ((WEBQA_RECIPE, WEBQA), (BROWSING_RECIPE, BROWSING)):
        net = small_net(recipe)
        tensors, vectors = inputs_of(random_pools(setting, 12, seed=6), recipe)
        with_gradients = net(tensors, vectors).detach()
        with torch.inference_mode():
            torch.testing.assert_close(net(tensors, vectors), with_gradients, atol=2e-5, rtol=0)


@pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE], ids=[WEBQA, BROWSING])
def test_pools_without_nodes_propagate_to_nothing(recipe: GraphRecipe) -> None:
    for explicit_edges in (False, True):
        states = states_of(small_net(recipe), [pool(), pool(None)], explicit_edges=explicit_edges)
        assert len(states.searches) == len(states.evidence) == 0


def test_searches_that_led_nowhere_propagate_along_time_alone() -> None:
    net = small_net(BROWSING_RECIPE)
    pools = [pool_of(rollout("x", browsed("a"), browsed("b")), rollout("y"))]
    assert_same(by_net(net, pools), by_loops(net, pools))


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
    rows, table = table_of(net, pools)
    data = twin.collate_twin([twin.build_twin(each, net.recipe, rows, table) for each in pools])
    if not lists_absent_relations:
        for relation, edges in data.edge_index_dict.items():
            if edges.shape[1] == 0:
                del data[relation]
    scores = twin.Twin(net).eval()(data)
    (scores * torch.linspace(-1, 1, len(scores))).sum().backward()
    assert table.grad is not None
    return scores.detach(), table.grad


def by_ours(net: TraceNet, pools: list[Pool]) -> tuple[Tensor, Tensor]:
    rows, table = table_of(net, pools)
    graphs = graphs_of(pools, net.recipe)
    tensors = as_tensors(collate([graph.packed for graph in graphs]), net.recipe)
    vectors = replace(vectors_of(graphs), table=table)
    assert list(rows)[: len(vectors_of(graphs).table)] == list(_texts(net, pools))
    scores = net(tensors, vectors)
    (scores * torch.linspace(-1, 1, len(scores))).sum().backward()
    assert table.grad is not None
    return scores.detach(), table.grad


def _texts(net: TraceNet, pools: list[Pool]) -> dict[str, None]:
    return dict.fromkeys(text for graph in graphs_of(pools, net.recipe) for text in graph.texts.all())


def table_of(net: TraceNet, pools: list[Pool]) -> tuple[dict[str, int], Tensor]:
    """All texts in the order of ``vectors_of``, and a last row of zeros for searches without text."""
    texts = list(_texts(net, pools))
    vectors = vectors_of(graphs_of(pools, net.recipe)).table
    table = torch.cat((vectors, torch.zeros(1, vectors.shape[1]))).requires_grad_()
    return {text: row for row, text in enumerate((*texts, ""))}, table


@pytest.mark.parametrize("setting", [WEBQA, BROWSING])
def test_pyg_gives_the_same_scores_and_gradients(twin: ModuleType, setting: str) -> None:
    recipe, pools = {
        WEBQA: (WEBQA_RECIPE, webqa_pools(4, seed=1, rollouts=5)),
        BROWSING: (BROWSING_RECIPE, browsing_pools(4, seed=1, rollouts=5)),
    }[setting]
    net = small_net(recipe, **ORACLE_SIZES)
    (scores, gradient), (their_scores, their_gradient) = by_ours(net, pools), by_twin(twin, net, pools)
    torch.testing.assert_close(scores, their_scores, atol=5e-5, rtol=0)
    torch.testing.assert_close(gradient, their_gradient, atol=1e-4, rtol=0)


def test_pyg_gives_the_same_scores_for_copies_and_searches_without_text(twin: ModuleType) -> None:
    net = small_net(WEBQA_RECIPE, **ORACLE_SIZES)
    pools = [
        each
        for each in random_pools(WEBQA, 12, seed=7, is_regular=True)
        if graphs_of([each], WEBQA_RECIPE)[0].retained.kept
    ]
    assert len(pools) > 4
    torch.testing.assert_close(by_ours(net, pools)[0], by_twin(twin, net, pools)[0], atol=5e-5, rtol=0)


def test_a_relation_absent_from_the_batch_keeps_its_bias_which_pyg_loses(twin: ModuleType) -> None:
    # No rollout searches twice and nothing is repeated: "next" and both content relations have no edge at all.
    net, pools = small_net(WEBQA_RECIPE, **ORACLE_SIZES), [pool("Paris", "Rome")]
    ours, listed = by_ours(net, pools)[0], by_twin(twin, net, pools)[0]
    skipped = by_twin(twin, net, pools, lists_absent_relations=False)[0]
    torch.testing.assert_close(ours, listed, atol=5e-5, rtol=0)
    assert (ours - skipped).abs().max() > 1e-2
    with torch.no_grad():
        for layer in net.layers:
            for name in ("next", "same_content_within", "same_content_cross"):
                layer.bias[name].zero_()
    torch.testing.assert_close(by_ours(net, pools)[0], skipped, atol=5e-5, rtol=0)


# Sums over segments, the primitive behind every mean.


def segments(keys: list[int], weight: list[float] | None = None) -> SegmentTensors:
    order = np.argsort(keys, kind="stable")
    weights = None if weight is None else np.array(weight, np.float32)[order]
    return SegmentTensors.of(segments_of(order, np.array(keys)[order], weights))


@pytest.mark.parametrize("keys", [[2, 0, 2, 1, 0, 2], [0, 1, 2], [5, 5, 5]])
def test_a_segment_sum_and_its_gradient_are_those_of_a_loop(keys: list[int]) -> None:
    torch.manual_seed(0)
    states = torch.randn(len(keys), 4, requires_grad=True)
    wanted = torch.stack(
        [sum(states[row] for row in range(len(keys)) if keys[row] == key) for key in sorted(set(keys))]
    )
    got = segment_sum(states, segments(keys))
    mixture = torch.randn_like(got)
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(*(torch.autograd.grad((sums * mixture).sum(), states)[0] for sums in (got, wanted)))
    with torch.no_grad():
        torch.testing.assert_close(segment_sum(states, segments(keys)), wanted)
        means = torch.stack([states[[k == key for k in keys]].mean(0) for key in sorted(set(keys))])
        torch.testing.assert_close(segment_mean(states, segments(keys)), means)


def test_rows_outside_every_segment_get_no_gradient() -> None:
    states = torch.randn(5, 3, requires_grad=True)
    some = SegmentTensors.of(segments_of(np.array([4, 1, 3]), np.array([0, 0, 1])))
    segment_sum(states, some).sum().backward()
    assert states.grad is not None
    assert states.grad[:, 0].tolist() == [0, 1, 0, 1, 1]


def test_weights_count_a_row_as_often_as_it_occurs() -> None:
    states = torch.randn(3, 4)
    with torch.no_grad():
        got = segment_mean(states, segments([0, 0, 1], [2.0, 1.0, 3.0]))
    torch.testing.assert_close(got, torch.stack((states[[0, 0, 1]].mean(0), states[2])))


def test_shared_rows_are_refused_where_gradients_are_wanted() -> None:
    with pytest.raises(AssertionError, match="scoring only"):
        segment_sum(torch.randn(2, 3, requires_grad=True), segments([0, 0], [2.0, 1.0]))


def test_a_layer_adds_a_rectified_message_and_normalises() -> None:
    net = small_net(WEBQA_RECIPE, layers=1)
    tensors, vectors = inputs_of([pool_of(rollout("x", ranked("a", "c", "d", "e")))], WEBQA_RECIPE)
    [layer] = net.layers
    with torch.no_grad():
        query, _, states = net.encode(tensors, vectors)
        after = net.propagate(states, query, tensors)
        message = states.searches @ layer.slot_weight[:, 1] + layer.evidence_bias()
        wanted = functional.layer_norm(
            states.evidence[1:2] + functional.gelu(message), (16,), layer.evidence_norm.weight, layer.evidence_norm.bias
        )
    torch.testing.assert_close(after.evidence[1:2], wanted, atol=1e-5, rtol=0)
