"""Occurrences that no layer can tell apart are computed once, and only those."""

from collections.abc import Hashable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings

from tests.builders import (
    SEPARATE_RECIPES,
    batch_of,
    browsed,
    distinct_of,
    found,
    inputs_of,
    opened,
    pool_of,
    pools_of,
    random_pools,
    ranked,
    rollout,
    score,
    setting_of,
    small_net,
)
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Rollout, Search
from tracerank.trace.graphs.layout import Nodes, content_cells, every_node
from tracerank.trace.graphs.packed import GraphBatch
from tracerank.trace.graphs.schema import BROWSING_RECIPE, CONTROLS, WEBQA_RECIPE, GraphRecipe
from tracerank.trace.inputs import as_tensors
from tracerank.trace.net import TraceNet
from tracerank.trace.propagate import States

LAYERS = 3

WEBQA_ROLLOUT = (ranked("a", "c", "d", "e"), ranked("b", "c", "f", "g"))
BROWSING_ROLLOUT = (
    browsed("a", opened("p", "url:1"), found("q", "url:1")),
    browsed("b"),
    browsed(None, opened("r", "url:2")),
)


def nodes_of(rollouts: list[Rollout], recipe: GraphRecipe, layers: int = LAYERS) -> Nodes:
    return distinct_of(batch_of([pool_of(*rollouts)], recipe), recipe, layers)


def rows(searches: tuple[Search, ...], others: tuple[Search, ...], recipe: GraphRecipe = WEBQA_RECIPE) -> list[int]:
    """The search rows of two rollouts in one pool."""
    return nodes_of([rollout("x", *searches), rollout("y", *others)], recipe).row_of_search.tolist()


def refined(batch: GraphBatch, recipe: GraphRecipe, rounds: int) -> list[Hashable]:
    """Colour refinement by loops, with the neighbourhoods themselves for colours, numbered anew each round."""
    rollout_of = batch.search_rollout.tolist()
    pool_of_search = batch.rollout_pool[batch.search_rollout].tolist()
    parent = batch.evidence_search.tolist()
    content = batch.evidence_content.tolist()
    search: list[Hashable] = list(
        zip(batch.search_query.tolist(), batch.search_is_orphan.tolist(), pool_of_search, strict=True)
    )
    document = batch.evidence_document.tolist() or [None] * len(parent)
    evidence: list[Hashable] = list(zip(content, batch.evidence_slot.tolist(), document, strict=True))
    for _ in range(rounds):
        heard: list[Hashable] = []
        for s, colour in enumerate(search):
            shown = tuple(evidence[e] for e in range(len(parent)) if parent[e] == s)
            before = search[s - 1] if s and rollout_of[s - 1] == rollout_of[s] else "none"
            is_last = s + 1 == len(search) or rollout_of[s + 1] != rollout_of[s]
            after = search[s + 1] if recipe.backward_time and not is_last else "none"
            heard.append((colour, shown, before, after))
        shared: list[Hashable] = []
        for e, colour in enumerate(evidence):
            fellows = [
                evidence[other]
                for other in range(len(parent))
                if other != e and content[other] == content[e] and rollout_of[parent[other]] == rollout_of[parent[e]]
            ]
            shared.append((colour, search[parent[e]], tuple(sorted(map(repr, fellows)))))
        search, evidence = _numbered(heard), _numbered(shared)
    return search


def _numbered(colours: list[Hashable]) -> list[Hashable]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(colour, len(numbers)) for colour in colours]


@pytest.mark.parametrize("name", SEPARATE_RECIPES)
def test_classes_are_those_of_colour_refinement_by_loops(name: str) -> None:
    recipe = SEPARATE_RECIPES[name]
    for seed in range(3):
        batch = batch_of(random_pools(setting_of(name), 8, seed), recipe)
        nodes = distinct_of(batch, recipe, LAYERS)
        # Rows are numbered in order of first sight, as the loop numbers its colours.
        assert nodes.row_of_search.tolist() == _numbered(refined(batch, recipe, LAYERS + 2))


@pytest.mark.parametrize("is_regular", [False, True], ids=["irregular", "regular"])
@pytest.mark.parametrize("name", SEPARATE_RECIPES)
def test_sharing_does_not_change_scores(name: str, is_regular: bool) -> None:
    recipe = SEPARATE_RECIPES[name]
    net = small_net(recipe, layers=LAYERS)
    for seed in range(4):
        pools = random_pools(setting_of(name), 20, seed, is_regular=is_regular)
        torch.testing.assert_close(
            torch.cat(score(net, pools, is_shared=True)), torch.cat(score(net, pools)), atol=5e-5, rtol=0
        )


@pytest.mark.parametrize("layers", [0, 1, 6])
@pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE], ids=[WEBQA, BROWSING])
def test_sharing_does_not_change_scores_at_any_depth(recipe: GraphRecipe, layers: int) -> None:
    net = small_net(recipe, layers=layers)
    pools = random_pools(WEBQA if recipe is WEBQA_RECIPE else BROWSING, 30, seed=9)
    torch.testing.assert_close(
        torch.cat(score(net, pools, is_shared=True)), torch.cat(score(net, pools)), atol=5e-5, rtol=0
    )


@settings(deadline=None, max_examples=40)
@given(pools_of(WEBQA))
def test_sharing_does_not_change_the_scores_of_any_webqa_pools(pools: list[Pool]) -> None:
    net = small_net(WEBQA_RECIPE)
    torch.testing.assert_close(
        torch.cat(score(net, pools, is_shared=True)), torch.cat(score(net, pools)), atol=5e-5, rtol=0
    )


@settings(deadline=None, max_examples=40)
@given(pools_of(BROWSING))
def test_sharing_does_not_change_the_scores_of_any_browsing_pools(pools: list[Pool]) -> None:
    net = small_net(CONTROLS[BROWSING]["Doc and content links"])
    torch.testing.assert_close(
        torch.cat(score(net, pools, is_shared=True)), torch.cat(score(net, pools)), atol=5e-5, rtol=0
    )


def test_every_shared_row_has_the_state_of_all_it_stands_for() -> None:
    net = small_net(BROWSING_RECIPE)
    pools = random_pools(BROWSING, 30, seed=2)
    batch = batch_of(pools, BROWSING_RECIPE)
    nodes = distinct_of(batch, BROWSING_RECIPE, LAYERS)
    assert len(nodes.searches) < batch.searches
    alone, shared = (_states(net, pools, layers) for layers in (None, LAYERS))
    torch.testing.assert_close(shared.searches[nodes.row_of_search], alone.searches, atol=2e-5, rtol=0)
    torch.testing.assert_close(shared.evidence[nodes.row_of_evidence], alone.evidence, atol=2e-5, rtol=0)


def _states(net: TraceNet, pools: list[Pool], sharing_layers: int | None) -> States:
    with torch.no_grad():
        tensors, vectors = inputs_of(pools, BROWSING_RECIPE, sharing_layers=sharing_layers)
        query, _, states = net.encode(tensors, vectors)
        result: States = net.propagate(states, query, tensors)
    return result


@pytest.mark.parametrize(
    ("searches", "recipe"), [(WEBQA_ROLLOUT, WEBQA_RECIPE), (BROWSING_ROLLOUT, BROWSING_RECIPE)], ids=[WEBQA, BROWSING]
)
def test_identical_rollouts_cost_one(searches: tuple[Search, ...], recipe: GraphRecipe) -> None:
    one = nodes_of([rollout("x", *searches)], recipe)
    many = nodes_of([rollout(answer, *searches) for answer in "wxyz"], recipe)
    assert len(many.searches) == len(one.searches) == len(searches)
    assert len(many.evidence) == len(one.evidence)
    assert many.evidence_weight is not None
    assert set(many.evidence_weight.tolist()) == {4}


def test_identical_rollouts_collapse_in_the_tensors_too() -> None:
    batch = batch_of([pool_of(*(rollout(answer, *WEBQA_ROLLOUT) for answer in "wxyz"))], WEBQA_RECIPE)
    shared = as_tensors(batch, WEBQA_RECIPE, sharing_layers=LAYERS)
    alone = as_tensors(batch, WEBQA_RECIPE)
    assert (len(shared.search_query), len(shared.evidence_content)) == (2, 6)
    assert (len(alone.search_query), len(alone.evidence_content)) == (8, 24)


def test_identical_rollouts_of_two_pools_stay_apart() -> None:
    pools = [pool_of(rollout("x", *WEBQA_ROLLOUT)), pool_of(rollout("x", *WEBQA_ROLLOUT))]
    assert len(distinct_of(batch_of(pools, WEBQA_RECIPE), WEBQA_RECIPE, LAYERS).searches) == 4


def test_searches_that_say_and_show_nothing_stay_apart_where_their_questions_speak_to_them() -> None:
    recipe = replace(WEBQA_RECIPE, keeps_bare_searches=True, needs_evidence=False)
    pools = [pool_of(rollout("x", Search("")), question=question) for question in ("one?", "another?")]
    assert len(distinct_of(batch_of(pools, recipe), recipe, LAYERS).searches) == 2
    net = small_net(recipe)
    torch.testing.assert_close(
        torch.cat(score(net, pools, is_shared=True)), torch.cat(score(net, pools)), atol=5e-5, rtol=0
    )


def test_a_search_that_begins_alike_and_goes_on_differently_is_shared_without_backward_time() -> None:
    first, second = (ranked("a", "c"), ranked("b", "d")), (ranked("a", "c"), ranked("e", "f"))
    # Its evidence hears only from it and from equal content, so nothing of the later search comes back.
    assert rows(first, second) == [0, 1, 0, 2]


def test_backward_time_tells_such_searches_apart() -> None:
    first, second = (
        (browsed("a", opened("p", "url:1")), browsed("b")),
        (browsed("a", opened("p", "url:1")), browsed("e")),
    )
    assert rows(first, second, BROWSING_RECIPE) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("search", "other"),
    [
        pytest.param(ranked("a", "c", "d"), ranked("b", "c", "d"), id="other words"),
        pytest.param(ranked("a", "c", "d"), ranked("a", "c", "e"), id="other evidence"),
        pytest.param(ranked("a", "c", "d"), ranked("a", "d", "c"), id="other ranks"),
        pytest.param(ranked("a", "c", "d"), ranked("a", "c"), id="less evidence"),
        pytest.param(ranked("", "c"), ranked(None, "c"), id="an orphan"),
    ],
)
def test_searches_that_differ_are_computed_apart(search: Search, other: Search) -> None:
    assert rows((search,), (other,)) == [0, 1]


def test_equal_searches_with_another_past_are_computed_apart() -> None:
    same = ranked("b", "d")
    assert rows((ranked("a", "c"), same), (same,)) == [0, 1, 2]


def test_views_of_different_documents_are_computed_apart() -> None:
    first, second = browsed("a", opened("p", "url:1")), browsed("a", opened("p", "url:2"))
    assert rows((first,), (second,), BROWSING_RECIPE) == [0, 1]
    assert rows((first,), (second,), CONTROLS[BROWSING]["no Doc or content links"]) == [0, 0]


def test_documents_of_one_rollout_keep_identical_rollouts_apart() -> None:
    searches = (browsed("a", opened("p", "url:1")),)
    assert rows(searches, searches, CONTROLS[BROWSING]["no cross-rollout"]) == [0, 1]


def test_a_repetition_within_one_rollout_makes_its_content_another_neighbourhood() -> None:
    # In the second rollout "c" is heard from twice, so the first searches differ through their evidence.
    assert rows((ranked("a", "c"),), (ranked("a", "c"), ranked("b", "c"))) == [0, 1, 2]


def test_pools_that_repeat_nothing_keep_every_node() -> None:
    batch = batch_of([pool_of(rollout("x", *WEBQA_ROLLOUT))], WEBQA_RECIPE)
    nodes, every = distinct_of(batch, WEBQA_RECIPE, LAYERS), every_node(batch)
    assert nodes.evidence_weight is None
    assert nodes.row_of_evidence.tolist() == every.row_of_evidence.tolist() == list(range(6))


def test_empty_pools_have_no_rows() -> None:
    for recipe in (WEBQA_RECIPE, BROWSING_RECIPE):
        nodes = distinct_of(batch_of([pool_of(), pool_of(rollout(None))], recipe), recipe, LAYERS)
        assert len(nodes.searches) == len(nodes.evidence) == 0


def test_cells_hold_the_occurrences_of_one_content_in_one_rollout() -> None:
    for seed in range(4):
        batch = batch_of(random_pools(WEBQA, 10, seed), WEBQA_RECIPE)
        cells: dict[tuple[int, int], list[int]] = {}
        for occurrence, (content, search) in enumerate(
            zip(batch.evidence_content.tolist(), batch.evidence_search.tolist(), strict=True)
        ):
            cells.setdefault((content, int(batch.search_rollout[search])), []).append(occurrence)
        got = content_cells(batch)
        held: list[list[int]] = [[] for _ in range(got.count)]
        for row, segment in zip(got.rows.tolist(), got.segment.tolist(), strict=True):
            held[segment].append(row)
        assert held == [cells[key] for key in sorted(cells)]
