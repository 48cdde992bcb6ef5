"""The App. A.3 statistics on pools small enough to count by hand, and against explicitly listed edges."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import batch_of
from tests.edges import listed_edges
from tracerank.errors import UsageError
from tracerank.lab.sharing import IDENTICAL_CONTENT, SAME_DOCUMENT, graph_statistics, of_one_setting
from tracerank.pools.pool import Pool
from tracerank.pools.types import BROWSING, WEBQA, Document, Evidence, Question, Rollout, Search
from tracerank.trace.recipe import CONTROLS, RECIPES, WEBQA_RECIPE, GraphRecipe


def webqa_pool(*rollouts: list[str], name: str = "q") -> Pool:
    """One rollout per list; each string is the three (or fewer) chunks of a search, one letter each."""
    return Pool.of(
        Question(name, f"question {name}"),
        [
            Rollout(
                number,
                f"answer {number}",
                tuple(
                    Search(f"look {place}", tuple(Evidence(letter, rank=r + 1) for r, letter in enumerate(chunks)))
                    for place, chunks in enumerate(searches)
                ),
            )
            for number, searches in enumerate(rollouts)
        ],
    )


def test_percentiles_interpolate_linearly() -> None:
    # 0, 0, 1 and 6 pairs: median 0.5, 90th percentile 1 + 0.7 * 5.
    pools = [webqa_pool(["a"]), webqa_pool(["a"], ["b"]), webqa_pool(["a"], ["a"]), webqa_pool(*[["a"]] * 4)]
    content = graph_statistics(pools, WEBQA_RECIPE).sharing[IDENTICAL_CONTENT]
    assert (content.pairs_mean, content.pairs_median, content.graphs_share) == (1.75, 0.5, 0.5)
    assert content.pairs_p90 == pytest.approx(4.5)


ALL_RECIPES = [
    *RECIPES.values(),
    *(recipe for setting in (WEBQA, BROWSING) for recipe in CONTROLS[setting].values()),
]

EVIDENCE = st.builds(
    lambda text, document, tool: Evidence(text, tool=tool, document=document and Document(document)),
    st.sampled_from("abcde"),
    st.sampled_from(["x", "y", "z", None]),
    st.sampled_from(["open", "find"]),
)
ROLLOUTS = st.lists(st.lists(st.lists(EVIDENCE, max_size=4), max_size=3), max_size=5)


def random_pool(name: int, rollouts: list[list[list[Evidence]]]) -> Pool:
    return Pool.of(
        Question(str(name), "?"),
        [
            Rollout(number, f"answer {number % 2}", tuple(Search("look", tuple(seen)) for seen in searches))
            for number, searches in enumerate(rollouts)
        ],
    )


@given(st.lists(ROLLOUTS, min_size=1, max_size=4), st.sampled_from(ALL_RECIPES))
@settings(max_examples=150, deadline=None)
def test_edge_counts_equal_the_listed_edges(pools: list[list[list[list[Evidence]]]], recipe: GraphRecipe) -> None:
    made = [random_pool(number, rollouts) for number, rollouts in enumerate(pools)]
    edges = listed_edges(batch_of(made, recipe), recipe)
    listed = {"|".join(relation): len(found) / len(made) for relation, found in edges.items()}
    assert graph_statistics(made, recipe).edges_mean == pytest.approx(listed)


@given(ROLLOUTS, st.sampled_from(ALL_RECIPES))
@settings(max_examples=150, deadline=None)
def test_sharing_equals_a_comparison_of_every_pair(rollouts: list[list[list[Evidence]]], recipe: GraphRecipe) -> None:
    pool = random_pool(0, rollouts)
    recipe = replace(recipe, documents="none" if recipe.documents == "none" else "pool")
    kept = pool.retained(recipe.retention).kept
    seen = [[e for search in rollout.searches for e in search.evidence] for rollout in kept]
    crossing = [pair for one, other in itertools.combinations(seen, 2) for pair in itertools.product(one, other)]
    statistics = graph_statistics([pool], recipe)
    content = statistics.sharing[IDENTICAL_CONTENT]
    assert content.pairs_mean == sum(a.text == b.text for a, b in crossing)
    sets = [{e.text for e in evidence} for evidence in seen]
    overlaps = [len(a & b) / max(len(a | b), 1) for a, b in itertools.combinations(sets, 2)]
    assert content.overlap_mean == (pytest.approx(np.mean(overlaps)) if overlaps else None)
    if recipe.documents == "pool":
        same = [(a, b) for a, b in crossing if a.document is not None and a.document == b.document]
        assert statistics.sharing[SAME_DOCUMENT].pairs_mean == len(same)
        differing = pytest.approx(np.mean([a.text != b.text for a, b in same])) if same else None
        assert statistics.differing_content == differing


def test_pools_of_another_setting_are_refused_when_they_are_met_but_unreadable_ones_have_none() -> None:
    broken = Pool.of(Question("0", "?"), [Rollout(0, None, problem="broken", setting=BROWSING)])
    name, pools = of_one_setting(iter([webqa_pool(["a"]), broken, webqa_pool(["a"])]))
    assert (name, [len(pool) for pool in pools]) == (WEBQA, [1, 1, 1])
    other = Pool.of(Question("1", "?"), [Rollout(0, "x", setting=BROWSING)])
    _, pools = of_one_setting([webqa_pool(["a"]), other])
    with pytest.raises(UsageError, match="question '1' has browsing rollouts, others webqa"):
        list(pools)
    with pytest.raises(UsageError, match="no pools"):
        of_one_setting([])
