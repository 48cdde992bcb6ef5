"""The layout without edges: what it averages must be what the listed edges average."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.builders import (
    SEPARATE_RECIPES,
    batch_of,
    browsed,
    distinct_of,
    found,
    layout_of,
    opened,
    pool,
    pool_of,
    random_pools,
    ranked,
    rollout,
    setting_of,
)
from tests.slow_twin import slow_graph
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.graphs.layout import Layout, Nodes, Pairs, every_node
from tracerank.trace.graphs.packed import GraphBatch, Segments, segments_of
from tracerank.trace.graphs.schema import BROWSING_RECIPE, CONTROLS, WEBQA_RECIPE, GraphRecipe, relations

Matrix = NDArray[np.float64]

NODE_SETS: dict[str, Callable[[GraphBatch, GraphRecipe], Nodes]] = {
    "every occurrence": lambda batch, _: every_node(batch),
    "distinct ones": lambda batch, recipe: distinct_of(batch, recipe, 3),
}


def averages(layout: Layout, batch: GraphBatch, recipe: GraphRecipe, nodes: Nodes) -> dict[str, Matrix]:
    """Per relation [listeners, speakers]: with which share a listener hears a speaker, read off the layout."""
    searches, evidence = len(nodes.searches), len(nodes.evidence)
    got = {
        "starts": _of_pairs(layout.first, searches, batch.pools),
        "next": _of_pairs(layout.next, searches, searches),
        "previous": _of_pairs(layout.previous, searches, searches),
    }
    for number, slot in enumerate(recipe.slots):
        got[slot], got[f"{slot}_of"] = _of_slot(layout, number, len(recipe.slots), searches, evidence)
    within, cross = np.zeros((evidence, evidence)), np.zeros((evidence, evidence))
    if layout.cross is not None:
        groups, cells = _sums(layout.cross.groups, evidence), _sums(layout.cross.cells, evidence)
        scale = layout.cross.cell_scale[:, None]
        heard = (groups[layout.cross.cell_group] - cells) * scale
        cross[layout.cross.targets] = heard[layout.cross.target_cell]
    if layout.within is not None:
        cells = _sums(layout.within.cells, evidence)[layout.within.target_cell]
        itself = np.eye(evidence)[layout.within.targets]
        within[layout.within.targets] = (cells - itself) * layout.within.target_scale[:, None]
    got |= {"same_content_within": within, "same_content_cross": cross}
    if layout.documents is not None:
        assert layout.documents.count == batch.documents
        got["in_document"] = _sums(layout.documents, evidence) / layout.documents.weights()[:, None]
        got["holds"] = np.eye(batch.documents)[batch.evidence_document[nodes.evidence]]
    return got


def _of_pairs(pairs: Pairs, listeners: int, speakers: int) -> Matrix:
    assert len(set(pairs.listeners.tolist())) == len(pairs.listeners)
    matrix = np.zeros((listeners, speakers))
    matrix[pairs.listeners, pairs.speakers] = 1
    return matrix


def _of_slot(layout: Layout, slot: int, slots: int, searches: int, evidence: int) -> tuple[Matrix, Matrix]:
    to_evidence, to_search = np.zeros((evidence, searches)), np.zeros((searches, evidence))
    if layout.slots is None:
        for search in range(searches):
            to_evidence[search * slots + slot, search] = to_search[search, search * slots + slot] = 1
        return to_evidence, to_search
    begin, end = layout.slots.slot_begins[slot : slot + 2]
    means = _sums(layout.slots.pairs, evidence) / layout.slots.pairs.lengths()[:, None]
    for pair in range(begin, end):
        to_search[layout.slots.searches[pair]] += means[pair]
    for row, pair in enumerate(layout.slots.evidence_pair):
        if begin <= pair < end:
            to_evidence[row, layout.slots.searches[pair]] = 1
    return to_evidence, to_search


def _sums(segments: Segments, width: int) -> Matrix:
    matrix = np.zeros((segments.count, width))
    weights = np.ones(len(segments.rows)) if segments.weight is None else segments.weight
    for row, segment, weight in zip(segments.rows, segments.segment, weights, strict=True):
        matrix[segment, row] += weight
    return matrix


def expected_averages(pools: list[Pool], recipe: GraphRecipe, nodes: Nodes) -> dict[str, Matrix]:
    """The same from the edges that a loop over the rollouts finds."""
    slow = slow_graph(pools, recipe)
    kinds = {
        "query": (list(range(len(pools))), list(range(len(pools)))),
        "search": (nodes.searches.tolist(), nodes.row_of_search.tolist()),
        "evidence": (nodes.evidence.tolist(), nodes.row_of_evidence.tolist()),
        "document": (list(range(slow.documents)), list(range(slow.documents))),
    }
    wanted = {}
    for source, name, target in relations(recipe):
        listeners, (speakers, row_of) = kinds[target][0], kinds[source]
        matrix = np.zeros((len(listeners), len(speakers)))
        for row, listener in enumerate(listeners):
            neighbours = slow.neighbours(name, listener)
            for neighbour in neighbours:
                matrix[row, row_of[neighbour]] += 1 / len(neighbours)
        wanted[name] = matrix
    return wanted


@pytest.mark.parametrize("is_regular", [False, True], ids=["irregular", "regular"])
@pytest.mark.parametrize("node_set", NODE_SETS)
@pytest.mark.parametrize("name", SEPARATE_RECIPES)
def test_a_layout_averages_what_the_edges_average(name: str, node_set: str, is_regular: bool) -> None:
    recipe = SEPARATE_RECIPES[name]
    for seed in range(3):
        pools = random_pools(setting_of(name), 6, seed, is_regular=is_regular)
        batch = batch_of(pools, recipe)
        nodes = NODE_SETS[node_set](batch, recipe)
        layout = layout_of(batch, recipe, nodes)
        assert not is_regular or layout.slots is None
        got = averages(layout, batch, recipe, nodes)
        for relation, wanted in expected_averages(pools, recipe, nodes).items():
            np.testing.assert_allclose(got[relation], wanted, atol=1e-6, err_msg=relation)


def laid_out(pools: list[Pool], recipe: GraphRecipe) -> Layout:
    batch = batch_of(pools, recipe)
    return layout_of(batch, recipe, every_node(batch))


def test_three_ranks_for_every_search_need_no_slot_layout() -> None:
    assert laid_out([pool("Paris", "Rome"), pool("Oslo")], WEBQA_RECIPE).slots is None


@pytest.mark.parametrize("texts", [("c",), ("c", "d"), ("c", "d", "e", "f")])
def test_any_other_number_of_ranks_needs_one(texts: tuple[str, ...]) -> None:
    pools = [pool("Paris"), pool_of(rollout("x", ranked("a", *texts)))]
    assert laid_out(pools, WEBQA_RECIPE).slots is not None


def test_as_many_views_as_slots_in_another_order_are_not_regular() -> None:
    in_order = pool_of(rollout("x", browsed("a", opened("p", "url:1"), found("q", "url:1"))))
    swapped = pool_of(rollout("x", browsed("a", found("q", "url:1"), opened("p", "url:1"))))
    uneven = pool_of(rollout("x", browsed("a"), browsed("b", *(opened("p"), found("q"), opened("p"), found("q")))))
    assert laid_out([in_order], BROWSING_RECIPE).slots is None
    assert laid_out([swapped], BROWSING_RECIPE).slots is not None
    assert laid_out([uneven], BROWSING_RECIPE).slots is not None


def test_pools_that_share_nothing_have_no_content_layout() -> None:
    layout = laid_out([pool("Paris", "Rome"), pool("Paris", "Rome")], WEBQA_RECIPE)
    assert layout.cross is None
    assert layout.within is None


def test_a_content_of_two_pools_is_not_shared() -> None:
    shared = pool_of(rollout("x", ranked("a", "c", "d", "e")))
    assert laid_out([shared, shared], WEBQA_RECIPE).cross is None


def test_links_that_the_recipe_does_not_name_are_not_laid_out() -> None:
    repeated = [pool_of(*(rollout("x", ranked("a", "c", "c", "e")) for _ in range(2)))]
    full = laid_out(repeated, WEBQA_RECIPE)
    assert full.cross is not None
    assert full.within is not None
    assert laid_out(repeated, CONTROLS[WEBQA]["no cross-rollout"]).cross is None
    assert laid_out(repeated, CONTROLS[WEBQA]["no content links"]).within is None
    assert laid_out(repeated, CONTROLS[BROWSING]["no Doc or content links"]).documents is None


def _size(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.size
    return sum(_size(getattr(value, field.name)) for field in fields(value)) if is_dataclass(value) else 0


def test_a_layout_is_linear_in_the_occurrences_where_edges_are_quadratic() -> None:
    def crowd(rollouts: int) -> list[Pool]:
        return [pool_of(*(rollout("x", ranked(f"q{i}", "c", "d", "e")) for i in range(rollouts)))]

    small, large = (_size(laid_out(crowd(rollouts), WEBQA_RECIPE)) for rollouts in (40, 400))
    assert large <= 10 * small


@pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE])
def test_pools_without_nodes_have_a_layout(recipe: GraphRecipe) -> None:
    layout = laid_out([pool(), pool(None)], recipe)
    assert len(layout.first.listeners) == len(layout.next.listeners) == len(layout.previous.listeners) == 0


def test_segments_are_runs_of_equal_keys() -> None:
    segments = segments_of(np.array([4, 2, 7, 1]), np.array([0, 0, 3, 5]))
    assert segments.offsets.tolist() == [0, 2, 3]
    assert segments.segment.tolist() == [0, 0, 1, 2]
    assert segments.lengths().tolist() == [2, 1, 1]


def test_weighted_segments_weigh_the_sum_of_their_rows() -> None:
    weight = np.array([2.0, 3.0, 1.0], np.float32)
    assert segments_of(np.array([0, 1, 2]), np.array([5, 5, 6]), weight).weights().tolist() == [5.0, 1.0]


def test_no_rows_are_no_segments() -> None:
    nothing = segments_of(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
    assert nothing.count == 0
    assert nothing.lengths().tolist() == []
