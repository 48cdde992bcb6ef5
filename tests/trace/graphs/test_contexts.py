"""Which rows each candidate reads."""

from collections import Counter

import numpy as np
import pytest

from tests.builders import (
    EVERY_RECIPE,
    SEPARATE_RECIPES,
    batch_of,
    browsed,
    distinct_of,
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
from tracerank.pools.types import WEBQA
from tracerank.trace.graphs.layout import ContextBucket, Nodes, context_buckets, every_node
from tracerank.trace.graphs.packed import GraphBatch
from tracerank.trace.graphs.schema import BROWSING_RECIPE, CONTROLS, WEBQA_RECIPE, GraphRecipe


def buckets_of(batch: GraphBatch, nodes: Nodes, recipe: GraphRecipe) -> tuple[ContextBucket, ...]:
    return context_buckets(batch, nodes, merged_evidence=recipe.merge_evidence)


def read_by(buckets: tuple[ContextBucket, ...]) -> dict[int, Counter[int]]:
    """Candidate to the rows it reads, padding left out."""
    read: dict[int, Counter[int]] = {}
    for bucket in buckets:
        for place, candidate in enumerate(bucket.candidates.tolist()):
            assert candidate not in read, "a candidate reads in one bucket only"
            rows = bucket.rows[place]
            if bucket.padding is not None:
                assert not rows[bucket.padding[place]].any(), "padding repeats row 0"
                rows = rows[~bucket.padding[place]]
            read[candidate] = Counter(rows.tolist())
    return read


def wanted(pools: list[Pool], recipe: GraphRecipe, nodes: Nodes) -> dict[int, Counter[int]]:
    """The same by a loop; searches come first, evidence nodes after them."""
    found = {}
    for number, candidate in enumerate(slow_graph(pools, recipe).candidates):
        rows = [int(nodes.row_of_search[search]) for search in candidate.searches]
        begin = len(nodes.searches)
        if recipe.merge_evidence:
            rows += [begin + node for node in candidate.evidence]
        else:
            rows += [begin + int(nodes.row_of_evidence[occurrence]) for occurrence in candidate.evidence]
        if rows:
            found[number] = Counter(rows)
    return found


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_candidates_read_the_searches_and_evidence_of_their_own_rollouts(name: str) -> None:
    recipe = EVERY_RECIPE[name]
    for seed in range(3):
        pools = random_pools(setting_of(name), 10, seed)
        batch = batch_of(pools, recipe)
        nodes = every_node(batch)
        assert read_by(buckets_of(batch, nodes, recipe)) == wanted(pools, recipe, nodes)


@pytest.mark.parametrize("name", SEPARATE_RECIPES)
def test_rows_that_stand_for_several_occurrences_are_read_as_often(name: str) -> None:
    recipe = SEPARATE_RECIPES[name]
    pools = random_pools(setting_of(name), 20, seed=4)
    batch = batch_of(pools, recipe)
    nodes = distinct_of(batch, recipe, 3)
    assert read_by(buckets_of(batch, nodes, recipe)) == wanted(pools, recipe, nodes)


def test_a_merged_answer_reads_all_its_rollouts() -> None:
    recipe = CONTROLS[WEBQA]["merge answers"]
    batch = batch_of([pool("Paris", "Rome", "paris")], recipe)
    read = read_by(buckets_of(batch, every_node(batch), recipe))
    assert sorted(read[0]) == [0, 2, 3, 4, 5, 9, 10, 11]
    assert sorted(read[1]) == [1, 6, 7, 8]


def test_a_merged_evidence_node_is_read_once_by_each_candidate() -> None:
    recipe = CONTROLS[WEBQA]["merge evidence"]
    twice = pool_of(
        rollout("x", ranked("a", "c", "d", "e"), ranked("b", "c", "d", "e")), rollout("y", ranked("a", "c"))
    )
    batch = batch_of([twice], recipe)
    read = read_by(buckets_of(batch, every_node(batch), recipe))
    assert read == {0: Counter([0, 1, 3, 4, 5]), 1: Counter([2, 3])}


def test_a_candidate_with_nothing_to_read_is_in_no_bucket() -> None:
    batch = batch_of([pool_of(rollout("x"), rollout("y", browsed("a", opened("p"))))], BROWSING_RECIPE)
    assert read_by(buckets_of(batch, every_node(batch), BROWSING_RECIPE)) == {1: Counter([0, 1])}


def test_nobody_reads_anything_in_pools_without_nodes() -> None:
    batch = batch_of([pool(), pool_of(rollout("x"))], BROWSING_RECIPE)
    assert buckets_of(batch, every_node(batch), BROWSING_RECIPE) == ()


def lengthy(lengths: range) -> GraphBatch:
    """A batch whose candidates have contexts of these lengths: one search and its views."""
    made = (rollout("x", browsed("a", *(opened(f"p{n}") for n in range(length - 1)))) for length in lengths)
    return batch_of([pool_of(*made)], BROWSING_RECIPE)


def test_buckets_are_few_and_waste_little() -> None:
    batch = lengthy(range(1, 131))
    buckets = buckets_of(batch, every_node(batch), BROWSING_RECIPE)
    assert sorted(read_by(buckets)) == list(range(130))
    assert len(buckets) <= 20
    for bucket in buckets:
        if bucket.padding is not None:
            shortest = (~bucket.padding).sum(axis=1).min()
            assert bucket.rows.shape[1] - shortest <= max(3, 0.25 * shortest)


def test_a_bucket_of_full_rows_has_no_padding() -> None:
    batch = lengthy(range(4, 5))
    [bucket] = buckets_of(batch, every_node(batch), BROWSING_RECIPE)
    assert bucket.padding is None
    assert bucket.rows.tolist() == [[0, 1, 2, 3]]


def test_webqa_candidates_of_equal_rollouts_share_one_bucket() -> None:
    batch = batch_of([pool("Paris", "Rome"), pool("Oslo")], WEBQA_RECIPE)
    [bucket] = buckets_of(batch, every_node(batch), WEBQA_RECIPE)
    assert bucket.candidates.tolist() == [0, 1, 2]
    assert np.array_equal(bucket.rows, [[0, 3, 4, 5], [1, 6, 7, 8], [2, 9, 10, 11]])
