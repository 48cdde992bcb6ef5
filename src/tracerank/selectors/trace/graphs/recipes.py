"""The paper's two graph recipes, the official release's deviations from them, and every ablation control."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tracerank.pools.types import BROWSING, WEBQA
from tracerank.selectors.trace.graphs.schema import GraphRecipe

WEBQA_RECIPE = GraphRecipe(
    slots=("rank1", "rank2", "rank3"),
    slot_by="rank",
    starts=True,
    backward_time=False,
    keeps_bare_searches=False,
    content_links=("within", "cross"),
    documents="none",
    needs_evidence=True,
)

BROWSING_RECIPE = GraphRecipe(
    slots=("open", "find"),
    slot_by="tool",
    starts=False,
    backward_time=True,
    keeps_bare_searches=True,
    content_links=(),
    documents="pool",
    needs_evidence=False,
)

RECIPES: Mapping[str, GraphRecipe] = MappingProxyType({WEBQA: WEBQA_RECIPE, BROWSING: BROWSING_RECIPE})

OFFICIAL_RECIPES: Mapping[str, GraphRecipe] = MappingProxyType(
    {
        WEBQA: replace(WEBQA_RECIPE, answer_text="first_of_group", source_rules="official"),
        BROWSING: replace(BROWSING_RECIPE, source_rules="official"),
    }
)
"""What the official release does where it differs from the paper; listed in docs/paper-map.md."""

CONTROLS: Mapping[str, Mapping[str, GraphRecipe]] = MappingProxyType(
    {
        WEBQA: MappingProxyType(
            {
                "no cross-rollout": replace(WEBQA_RECIPE, content_links=("within",)),
                "no content links": replace(WEBQA_RECIPE, content_links=()),
                "merge evidence": replace(WEBQA_RECIPE, merge_evidence=True),
                "merge answers": replace(WEBQA_RECIPE, merge_answers=True),
                "merge both": replace(WEBQA_RECIPE, merge_evidence=True, merge_answers=True),
            }
        ),
        BROWSING: MappingProxyType(
            {
                "no cross-rollout": replace(BROWSING_RECIPE, documents="rollout"),
                "no Doc or content links": replace(BROWSING_RECIPE, documents="none"),
                "content links only": replace(BROWSING_RECIPE, documents="none", content_links=("within", "cross")),
                "Doc and content links": replace(BROWSING_RECIPE, content_links=("within", "cross")),
                "merge evidence": replace(BROWSING_RECIPE, merge_evidence=True),
                "merge answers": replace(BROWSING_RECIPE, merge_answers=True),
                "merge both": replace(BROWSING_RECIPE, merge_evidence=True, merge_answers=True),
            }
        ),
    }
)
"""The graph controls of Tables 3 and B.1; readout and training controls are variants of the net."""
