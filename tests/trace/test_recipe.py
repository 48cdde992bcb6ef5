"""The paper's two recipes, the official deviations, and the controls, as the relations they imply."""

from dataclasses import fields

import pytest

from tests.builders import EVERY_RECIPE, SETTINGS
from tracerank.pools.types import BROWSING, RETENTION_RULES, WEBQA
from tracerank.pools.urls import DEFAULT, OFFICIAL
from tracerank.trace.recipe import (
    BROWSING_RECIPE,
    CONTROLS,
    OFFICIAL_RECIPES,
    RECIPES,
    WEBQA_RECIPE,
    GraphRecipe,
    NetConfig,
    relations,
)


def names(recipe: GraphRecipe) -> list[str]:
    return ["|".join(relation) for relation in relations(recipe)]


def changes(recipe: GraphRecipe, base: GraphRecipe) -> set[str]:
    return {f.name for f in fields(recipe) if getattr(recipe, f.name) != getattr(base, f.name)}


def test_webqa_has_ranks_forward_time_a_starting_query_and_content_links() -> None:
    assert names(WEBQA_RECIPE) == [
        "query|starts|search",
        "search|next|search",
        "search|rank1|evidence",
        "search|rank2|evidence",
        "search|rank3|evidence",
        "evidence|rank1_of|search",
        "evidence|rank2_of|search",
        "evidence|rank3_of|search",
        "evidence|same_content_within|evidence",
        "evidence|same_content_cross|evidence",
    ]


def test_browsing_has_tools_time_in_both_directions_and_documents() -> None:
    assert names(BROWSING_RECIPE) == [
        "search|next|search",
        "search|previous|search",
        "search|open|evidence",
        "search|find|evidence",
        "evidence|open_of|search",
        "evidence|find_of|search",
        "evidence|in_document|document",
        "document|holds|evidence",
    ]


@pytest.mark.parametrize("name", EVERY_RECIPE)
def test_no_relation_speaks_to_queries_or_answers(name: str) -> None:
    assert {relation.target for relation in relations(EVERY_RECIPE[name])} <= {"search", "evidence", "document"}


def test_the_official_release_differs_in_answer_words_and_source_rules_only() -> None:
    assert changes(OFFICIAL_RECIPES[WEBQA], RECIPES[WEBQA]) == {"answer_text", "source_rules"}
    assert changes(OFFICIAL_RECIPES[BROWSING], RECIPES[BROWSING]) == {"source_rules"}
    assert RECIPES[BROWSING].document_rules == DEFAULT
    assert OFFICIAL_RECIPES[BROWSING].document_rules == OFFICIAL


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_recipe_retains_by_the_rule_of_its_setting(setting: str) -> None:
    recipes = (RECIPES[setting], OFFICIAL_RECIPES[setting], *CONTROLS[setting].values())
    assert {recipe.retention for recipe in recipes} == {RETENTION_RULES[setting]}


SIZES = {"hidden": 8, "heads": 2}


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [
        *(({name: 0}, "positive") for name in ("width", "hidden", "heads", "feed_forward")),
        ({"layers": -1}, "layers at most 64"),
        ({"layers": 65}, "layers at most 64"),
        ({"heads": 3}, r"hidden \(8\) must be a multiple of heads \(3\)"),
        ({"initial_scale": 0.0}, "scales"),
        ({"initial_scale": 10.5, "largest_scale": 10.0}, "scales"),
        ({"dropout": -0.1}, "dropout"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_sizes_that_make_no_network_are_refused(sizes: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        NetConfig(**{"width": 4, **SIZES, **sizes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sizes",
    [
        {"width": 1, "hidden": 1, "heads": 1, "feed_forward": 1},
        {"layers": 0},
        {"layers": 64},
        {"dropout": 0.0},
        {"initial_scale": 10.0, "largest_scale": 10.0},
    ],
)
def test_the_smallest_and_the_largest_network_can_be_made(sizes: dict[str, float]) -> None:
    NetConfig(**{"width": 4, **SIZES, **sizes})  # type: ignore[arg-type]


CONTENT = {"evidence|same_content_cross|evidence", "evidence|same_content_within|evidence"}
DOCUMENTS = {"evidence|in_document|document", "document|holds|evidence"}
NOTHING: set[str] = set()


@pytest.mark.parametrize(
    ("setting", "control", "lost", "gained"),
    [
        (WEBQA, "no cross-rollout", {"evidence|same_content_cross|evidence"}, NOTHING),
        (WEBQA, "no content links", CONTENT, NOTHING),
        (WEBQA, "merge evidence", CONTENT, NOTHING),
        (WEBQA, "merge answers", NOTHING, NOTHING),
        (BROWSING, "no cross-rollout", NOTHING, NOTHING),  # documents stay, one for each rollout
        (BROWSING, "no Doc or content links", DOCUMENTS, NOTHING),
        (BROWSING, "content links only", DOCUMENTS, CONTENT),
        (BROWSING, "Doc and content links", NOTHING, CONTENT),
        (BROWSING, "merge both", NOTHING, NOTHING),
    ],
)
def test_a_control_changes_these_relations(setting: str, control: str, lost: set[str], gained: set[str]) -> None:
    full, other = set(names(RECIPES[setting])), set(names(CONTROLS[setting][control]))
    assert (full - other, other - full) == (lost, gained)
