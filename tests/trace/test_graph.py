"""What of a pool becomes which node, and what the graph deliberately leaves out."""

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import (
    EVERY_RECIPE,
    browsed,
    found,
    opened,
    pool,
    pool_of,
    random_pools,
    ranked,
    rollout,
    setting_of,
)
from tests.slow_twin import SlowGraph, slow_graph
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Evidence, Search
from tracerank.trace.graph import NO_TEXT, build_graph, pool_texts
from tracerank.trace.recipe import (
    BROWSING_RECIPE,
    CONTROLS,
    OFFICIAL_RECIPES,
    RECIPES,
    WEBQA_RECIPE,
    GraphRecipe,
)


def columns(pool: Pool, recipe: GraphRecipe) -> dict[str, list[int]]:
    return {name: values.tolist() for name, values in build_graph(pool, recipe).columns.items()}


def test_a_search_without_evidence_is_a_node_in_browsing_only() -> None:
    searches = (ranked("a", "c"), Search("nothing came back"), ranked("b", "d"))
    assert columns(pool_of(rollout("x", *searches)), WEBQA_RECIPE)["search_rollout"] == [0, 0]
    assert columns(pool_of(rollout("x", *searches)), BROWSING_RECIPE)["search_rollout"] == [0, 0, 0]


def test_an_orphan_and_a_search_without_text_have_no_text_but_only_one_is_an_orphan() -> None:
    searches = (browsed(None, opened("p")), browsed("", opened("p")), browsed("a", opened("p")))
    got = columns(pool_of(rollout("x", *searches)), BROWSING_RECIPE)
    assert got["search_query"] == [NO_TEXT, NO_TEXT, 0]
    assert got["search_is_orphan"] == [1, 0, 0]


@pytest.mark.parametrize(
    ("ranks", "slots"),
    [((1, 2, 3), [0, 1, 2]), ((3, 1), [2, 0]), ((None, None, None), [0, 1, 2]), ((1, 2, 3, 4, 9), [0, 1, 2, 2, 2])],
)
def test_ranks_take_their_slot_and_those_beyond_the_last_take_the_last(
    ranks: tuple[int | None, ...], slots: list[int]
) -> None:
    search = Search("a", tuple(Evidence(f"c{place}", rank=rank) for place, rank in enumerate(ranks)))
    assert columns(pool_of(rollout("x", search)), WEBQA_RECIPE)["evidence_slot"] == slots


def test_tools_take_their_slot_and_what_a_search_itself_showed_counts_as_opened() -> None:
    search = browsed("a", found("f"), opened("o"), Evidence("s", tool="search"))
    assert columns(pool_of(rollout("x", search)), BROWSING_RECIPE)["evidence_slot"] == [1, 0, 0]


def test_documents_are_shared_across_rollouts_by_their_key() -> None:
    shared = pool_of(
        rollout("x", browsed("a", opened("p", "url:1"), opened("q", "url:2"))),
        rollout("y", browsed("b", opened("r", "url:2"), opened("p", "url:1"))),
    )
    assert columns(shared, BROWSING_RECIPE)["evidence_document"] == [0, 1, 1, 0]
    scoped = CONTROLS[BROWSING]["no cross-rollout"]
    assert columns(shared, scoped)["evidence_document"] == [0, 1, 2, 3]
    assert columns(shared, CONTROLS[BROWSING]["no Doc or content links"])["evidence_document"] == []


def test_evidence_without_a_document_shares_none() -> None:
    unknown = pool_of(rollout("x", browsed("a", opened("p"), opened("p"))), rollout("y", browsed("a", opened("p"))))
    assert columns(unknown, BROWSING_RECIPE)["evidence_document"] == [0, 1, 2]
    assert columns(unknown, CONTROLS[BROWSING]["no cross-rollout"])["evidence_document"] == [0, 1, 2]


def test_dropped_rollouts_leave_no_nodes_and_keep_their_reasons() -> None:
    some = pool_of(
        rollout(None, ranked("a", "c")), rollout("x", ranked("b", "d")), rollout("y"), rollout("", ranked("e", "f"))
    )
    graph = build_graph(some, WEBQA_RECIPE)
    assert [kept.sample_id for kept in graph.retained.kept] == [1]
    assert graph.retained.dropped == {0: "no answer", 2: "no evidence (WebQA rule)", 3: "no answer"}
    assert graph.all_texts() == [some.question.text, "b", "d", "x"]


@pytest.mark.parametrize("recipe", [WEBQA_RECIPE, BROWSING_RECIPE])
@pytest.mark.parametrize("empty", [pool(), pool(None, "", None)])
def test_a_pool_without_candidates_is_a_graph_without_nodes(recipe: GraphRecipe, empty: Pool) -> None:
    graph = build_graph(empty, recipe)
    assert graph.all_texts() == [empty.question.text]
    assert {name for name, values in graph.columns.items() if len(values)} == {"question"}


def test_answers_keep_their_own_words_unless_the_recipe_says_otherwise() -> None:
    voters = pool("The Paris", "paris!", "Rome", "paris!")
    own, official = (build_graph(voters, recipe) for recipe in (WEBQA_RECIPE, OFFICIAL_RECIPES[WEBQA]))
    assert own.texts["answer"] == ("The Paris", "paris!", "Rome")
    assert columns(voters, WEBQA_RECIPE)["candidate_answer"] == [0, 1, 2, 1]
    assert official.texts["answer"] == ("The Paris", "Rome")
    assert columns(voters, OFFICIAL_RECIPES[WEBQA])["candidate_answer"] == [0, 0, 1, 0]


def as_slow(graph: SlowGraph) -> dict[str, Any]:
    """The slow graph's facts that a packed graph states too."""
    return {
        "searches": graph.searches,
        "evidence": graph.evidence,
        "documents": graph.documents,
        "candidates": [(c.answer, c.votes) for c in graph.candidates],
    }


def as_built(pool: Pool, recipe: GraphRecipe) -> dict[str, Any]:
    graph, got = build_graph(pool, recipe), columns(pool, recipe)
    texts = graph.texts
    contents = dict.fromkeys(got["evidence_content"]) if recipe.merge_evidence else got["evidence_content"]
    return {
        "searches": [
            (texts["query"][query] if query != NO_TEXT else "", bool(is_orphan))
            for query, is_orphan in zip(got["search_query"], got["search_is_orphan"], strict=True)
        ],
        "evidence": [texts["content"][content] for content in contents],
        "documents": len(got["document"]),
        "candidates": [
            (texts["answer"][answer], votes)
            for answer, votes in zip(got["candidate_answer"], got["candidate_votes"], strict=True)
        ],
    }


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_a_graph_has_the_nodes_that_a_loop_over_the_rollouts_finds(name: str) -> None:
    recipe = EVERY_RECIPE[name]
    for each in random_pools(setting_of(name), 40, seed=1):
        assert as_built(each, recipe) == as_slow(slow_graph([each], recipe))


def test_the_texts_of_pools_are_those_of_their_graphs_each_once() -> None:
    browsing = replace(rollout("Rome", browsed("city", opened("Rome.", "url:https://a.example"))), setting=BROWSING)
    pools = [pool("Paris", "Oslo"), pool_of(browsing, question="Which city?")]
    wanted = {text for one in pools for text in build_graph(one, RECIPES[one.setting]).all_texts()}
    texts = pool_texts([*pools, *pools])
    assert len(texts) == len(set(texts))
    assert set(texts) == wanted
