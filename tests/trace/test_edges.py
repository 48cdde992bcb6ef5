"""Every edge that the arrays imply, against a loop over the rollouts."""

import pytest
from hypothesis import given, settings

from tests.builders import EVERY_RECIPE, batch_of, pool, pool_of, pools_of, random_pools, ranked, rollout, setting_of
from tests.edges import listed_edges
from tests.slow_twin import slow_graph
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA
from tracerank.trace.recipe import BROWSING_RECIPE, CONTROLS, WEBQA_RECIPE, GraphRecipe, relations


def listed(pools: list[Pool], recipe: GraphRecipe) -> dict[str, list[tuple[int, int]]]:
    edges = listed_edges(batch_of(pools, recipe), recipe)
    return {relation.name: pairs for relation, pairs in edges.items()}


def assert_same_edges(pools: list[Pool], recipe: GraphRecipe) -> None:
    slow, fast = slow_graph(pools, recipe), listed(pools, recipe)
    assert list(fast) == [relation.name for relation in relations(recipe)]
    for name, pairs in fast.items():
        assert len(set(pairs)) == len(pairs), f"{name} repeats an edge"
        assert set(pairs) == slow.edges[name], name


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_every_relation_has_the_edges_that_a_loop_finds(name: str) -> None:
    for seed in range(4):
        assert_same_edges(random_pools(setting_of(name), 10, seed), EVERY_RECIPE[name])


@settings(deadline=None, max_examples=50)
@given(pools_of(BROWSING))
def test_any_browsing_pools_have_the_edges_that_a_loop_finds(pools: list[Pool]) -> None:
    assert_same_edges(pools, CONTROLS[BROWSING]["Doc and content links"])


def test_retrieval_and_document_relations_run_both_ways() -> None:
    edges = listed(random_pools(BROWSING, 10, seed=5), BROWSING_RECIPE)
    for there, back in (("open", "open_of"), ("find", "find_of"), ("in_document", "holds"), ("next", "previous")):
        assert {(target, source) for source, target in edges[there]} == set(edges[back])
        assert edges[there]


def test_merging_evidence_gives_each_content_of_a_pool_one_node() -> None:
    recipe = CONTROLS[WEBQA]["merge evidence"]
    pools = [pool_of(rollout("x", ranked("a", "c", "d")), rollout("y", ranked("b", "d", "c")))] * 2
    assert listed(pools, recipe)["rank1"] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    edges = listed(pools[:1], recipe)
    assert edges["rank1"] == [(0, 0), (1, 1)]
    assert edges["rank2"] == [(1, 0), (0, 1)]
    assert not any(name.startswith("same_content") for name in edges)


def test_a_content_at_one_rank_twice_is_one_merged_edge() -> None:
    recipe = CONTROLS[WEBQA]["merge evidence"]
    search = ranked("a", "c", "d", "e", "e")  # ranks 3 and 4 share the last slot
    assert listed([pool_of(rollout("x", search))], recipe)["rank3"] == [(0, 2)]


def test_pools_without_nodes_have_no_edges() -> None:
    for recipe in (WEBQA_RECIPE, BROWSING_RECIPE):
        assert not any(listed([pool(), pool(None)], recipe).values())
