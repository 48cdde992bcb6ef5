"""WEBQA and BROWSING: which graph recipe, loss rule and optimisation belong together.

The two settings differ only in the values gathered here.
"""

from dataclasses import dataclass, replace

from tracerank.errors import UsageError
from tracerank.graphs.schema import GraphRecipe


@dataclass(frozen=True, slots=True)
class SearchSetting:
    """Everything that the paper chooses per search setting."""

    name: str
    recipe: GraphRecipe


WEBQA = SearchSetting(
    name="webqa",
    recipe=GraphRecipe(
        slots=("rank1", "rank2", "rank3"),
        slot_by="rank",
        starts=True,
        backward_time=False,
        keeps_bare_searches=False,
        content_links=("within", "cross"),
        needs_evidence=True,
    ),
)

BROWSING = SearchSetting(
    name="browsing",
    recipe=GraphRecipe(
        slots=("open", "find"),
        slot_by="tool",
        starts=False,
        backward_time=True,
        keeps_bare_searches=True,
        documents="pool",
        needs_evidence=False,
    ),
)
