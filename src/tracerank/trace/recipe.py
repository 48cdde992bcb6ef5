"""The paper's choices as values: graphs, network sizes and training plan of each search setting, and every control.

Each number of the paper stands here once. The two settings differ in nothing but these values; an ablation is another
row of them. No torch: what does not train or score can read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from tracerank.pools.pool import PAPER_K
from tracerank.pools.types import BROWSING, WEBQA, RetentionRule
from tracerank.pools.urls import DEFAULT, OFFICIAL, UrlRules

Within = Literal["within", "cross"]
"""Occurrences of one content in the same rollout, or in different ones."""


class Relation(NamedTuple):
    """A kind of directed edge along which messages flow."""

    source: str
    name: str
    target: str


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
    """Searches receive messages from the next search as well as from the previous one."""
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
    equality: Literal["exact"] = "exact"
    """Which answers count as one, for votes and merged candidates: the paper's normalisation."""
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
    def document_rules(self) -> UrlRules:
        return OFFICIAL if self.source_rules == "official" else DEFAULT


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
)
BROWSING_RECIPE = GraphRecipe(
    slots=("open", "find"),
    slot_by="tool",
    starts=False,
    backward_time=True,
    keeps_bare_searches=True,
    documents="pool",
    needs_evidence=False,
)
RECIPES: Mapping[str, GraphRecipe] = {WEBQA: WEBQA_RECIPE, BROWSING: BROWSING_RECIPE}
OFFICIAL_RECIPES: Mapping[str, GraphRecipe] = {
    WEBQA: replace(WEBQA_RECIPE, answer_text="first_of_group", source_rules="official"),
    BROWSING: replace(BROWSING_RECIPE, source_rules="official"),
}
"""What the official release does where it differs from the paper; listed in docs/paper.md."""

_MERGED: Mapping[str, Mapping[str, Any]] = {
    "merge evidence": {"merge_evidence": True},
    "merge answers": {"merge_answers": True},
    "merge both": {"merge_evidence": True, "merge_answers": True},
}
_LINKS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    WEBQA: {"no cross-rollout": {"content_links": ("within",)}, "no content links": {"content_links": ()}},
    BROWSING: {
        "no cross-rollout": {"documents": "rollout"},
        "no Doc or content links": {"documents": "none"},
        "content links only": {"documents": "none", "content_links": ("within", "cross")},
        "Doc and content links": {"content_links": ("within", "cross")},
    },
}
CONTROLS: Mapping[str, Mapping[str, GraphRecipe]] = {
    setting: {name: replace(RECIPES[setting], **changes) for name, changes in {**links, **_MERGED}.items()}
    for setting, links in _LINKS.items()
}
"""The graph controls of Tables 3 and B.1; readout and training controls are variants of the net."""

MAX_LAYERS = 64
"""Far above any useful network."""


@dataclass(frozen=True, slots=True)
class NetConfig:
    """Sizes and variants of the network; defaults are the paper's (Sec. 3.3, App. A.4)."""

    width: int
    """Length of the frozen vectors."""
    hidden: int = 256
    layers: int = 4
    """0 bypasses the GNN (control)."""
    heads: int = 4
    feed_forward: int = 1024
    dropout: float = 0.1
    readout: Literal["answer", "fixed", "graph", "two_stage"] = "answer"
    """Attention queried by the answer, by a fixed query, graph messages instead of attention, or both in two stages."""
    initial_scale: float = 10.0
    largest_scale: float = 100.0

    def __post_init__(self) -> None:
        if min(self.width, self.hidden, self.heads, self.feed_forward) < 1 or not 0 <= self.layers <= MAX_LAYERS:
            raise ValueError(f"sizes must be positive, and layers at most {MAX_LAYERS}")
        if not 0 < self.initial_scale <= self.largest_scale:
            raise ValueError("scales must be positive, the initial one at most the largest")
        if self.hidden % self.heads:
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of heads ({self.heads})")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Optimisation settings of one run (Sec. 4.1)."""

    batch_pools: int
    """Question graphs per step."""
    listwise_mixed_only: bool
    """The listwise term is averaged over mixed pools; otherwise over those with a correct candidate (App. A.4)."""
    mixed_among: Literal["samples", "retained"]
    """Pools are kept when correct and incorrect answers occur among the first K samples, or among the retained."""
    k: int = PAPER_K
    epochs: int = 3
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    vote_rate: float = 1.0
    """Factor on the learning rate of the vote features' weights. They start at zero: with few steps they stay small
    while texts are memorised; much more than 1 lets the selector start from the vote."""
    seed: int = 42


@dataclass(frozen=True, slots=True)
class SearchSetting:
    """Everything that the paper chooses per search setting."""

    recipe: GraphRecipe
    plan: TrainingPlan


SETTINGS: Mapping[str, SearchSetting] = {
    WEBQA: SearchSetting(WEBQA_RECIPE, TrainingPlan(256, listwise_mixed_only=False, mixed_among="samples")),
    BROWSING: SearchSetting(BROWSING_RECIPE, TrainingPlan(4, listwise_mixed_only=True, mixed_among="retained")),
}
