"""The one graph schema of both search settings, and the recipes that say which part of it is used.

Besides the paper's two recipes: the official release's deviations from them, and every ablation control.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple

from tracerank.pools.documents import DEFAULT_RULES, OFFICIAL_RULES, DocumentRules
from tracerank.pools.types import BROWSING, WEBQA, RetentionRule

Within = Literal["within", "cross"]
"""Occurrences of one content in the same rollout, or in different ones."""


class Relation(NamedTuple):
    """A kind of directed edge along which messages flow."""

    source: str
    name: str
    target: str

    def __str__(self) -> str:
        return "|".join(self)


@dataclass(frozen=True, slots=True)
class GraphRecipe:
    """Which nodes and links a pool's graph has."""

    slots: tuple[str, ...]
    """Names of the retrieval relations between a search and its evidence, e.g. rank1, rank2, rank3."""
    slot_by: Literal["rank", "tool"]
    """Evidence takes its slot by its rank (beyond the last: the last) or by the tool that showed it."""
    starts: bool
    """The query node sends messages to the first search of every rollout."""
    backward_time: bool
    """Searches hear from the next search as well as from the previous one."""
    keeps_bare_searches: bool
    """Searches that led to no evidence are nodes too."""
    content_links: tuple[Within, ...] = ()
    """Which occurrences of identical content are linked to each other."""
    documents: Literal["none", "rollout", "pool"] = "none"
    """Doc nodes: none, one per source and rollout (no cross-rollout messages), or one per source."""
    merge_evidence: bool = False
    """Control: identical content becomes one node with all its retrieval links."""
    merge_answers: bool = False
    """Control: identical answers become one candidate that reads all its rollouts."""
    equality: Literal["exact", "default"] = "exact"
    """Which answers count as one, for votes and merged candidates; exact is the paper's normalisation."""
    answer_text: Literal["own", "first_of_group"] = "own"
    """Which surface form of an answer is embedded; the official WebQA code takes its group's first."""
    needs_evidence: bool = True
    """Rollouts without evidence are not candidates."""
    source_rules: Literal["default", "official"] = "default"
    """How document identities are established from page headers and URLs."""

    @property
    def retention(self) -> RetentionRule:
        return RetentionRule(self.needs_evidence)

    @property
    def document_rules(self) -> DocumentRules:
        return OFFICIAL_RULES if self.source_rules == "official" else DEFAULT_RULES


def relations(recipe: GraphRecipe) -> tuple[Relation, ...]:
    """The relations that carry messages, in a fixed order."""
    found: list[Relation] = []
    if recipe.starts:
        found.append(Relation("query", "starts", "search"))
    found.append(Relation("search", "next", "search"))
    if recipe.backward_time:
        found.append(Relation("search", "previous", "search"))
    found += [Relation("search", slot, "evidence") for slot in recipe.slots]
    found += [Relation("evidence", f"{slot}_of", "search") for slot in recipe.slots]
    if not recipe.merge_evidence:
        found += [Relation("evidence", f"same_content_{where}", "evidence") for where in recipe.content_links]
    if recipe.documents != "none":
        found += [Relation("evidence", "in_document", "document"), Relation("document", "holds", "evidence")]
    return tuple(found)


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
