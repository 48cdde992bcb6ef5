"""How much the rollouts of a question share: the counts of App. A.3 and the overlap of App. E.

Everything is counted from group sizes; the quadratic number of same-content edges is never listed. Formats nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np

from tracerank.errors import UsageError
from tracerank.pools.pool import Pool, drop_reasons
from tracerank.trace.graph import GraphBatch, Ints, Longs, build_graph, collate
from tracerank.trace.recipe import GraphRecipe, Relation, relations

IDENTICAL_CONTENT = "identical content"
SAME_DOCUMENT = "same document"

_CHUNK_POOLS = 64


@dataclass(frozen=True, slots=True)
class Sharing:
    """What one matching rule links, per question graph; graphs without a shared group count with zero."""

    groups_mean: float
    """Distinct contents or documents that at least two rollouts saw."""
    pairs_mean: float
    """Unordered pairs of occurrences of one group in different rollouts."""
    pairs_median: float
    pairs_p90: float
    pairs_total: int
    graphs_share: float
    """Share of graphs with at least one such pair, between 0 and 1."""
    within_edges_mean: float
    """Ordered pairs of occurrences of one group in the same rollout."""
    overlap_mean: float | None
    """Jaccard similarity of two rollouts' retrieved sets (App. E); None: no question has two retained rollouts."""


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """The statistics of many question graphs; totals unless named a mean."""

    questions: int
    rollouts: int
    """Before anything was dropped."""
    retained: int
    dropped: Mapping[str, int]
    """Reason to number of rollouts."""
    searches: int
    occurrences: int
    """Evidence occurrences."""
    edges_mean: Mapping[Relation, float]
    """Directed message edges per graph."""
    sharing: Mapping[str, Sharing]
    """By matching rule: identical content and, in recipes with documents, same document."""
    differing_content: float | None
    """Share of same-document cross-rollout pairs with different content; None: there are no such pairs."""

    def mean(self, total: int) -> float:
        """A total per question graph."""
        return total / self.questions if self.questions else 0.0

    def record(self) -> dict[str, Any]:
        """The statistics as JSON has them, relations by name."""
        plain = {name: value for name, value in asdict(self).items() if name != "edges_mean"}
        return {**plain, "edges_mean": {str(relation): mean for relation, mean in self.edges_mean.items()}}


def graph_statistics(pools: Iterable[Pool], recipe: GraphRecipe) -> GraphStatistics:
    """Statistics over a stream of pools; keeps a few numbers per graph."""
    tally = _Tally(recipe)
    stream = iter(pools)
    while chunk := list(islice(stream, _CHUNK_POOLS)):
        tally.add(chunk)
    return tally.result()


def shared_setting(pools: Iterable[Pool]) -> tuple[str, Iterator[Pool]]:
    """The setting of the first pool that shows one, and all the pools, which must agree: one recipe counts them."""
    stream = iter(pools)
    early = []
    for pool in stream:
        early.append(pool)
        if _shows_setting(pool):
            break
    if not early:
        raise UsageError("no pools, so no search setting: give some")
    name = early[-1].setting
    return name, _agreeing(chain(early, stream), name)


def _agreeing(pools: Iterable[Pool], name: str) -> Iterator[Pool]:
    for pool in pools:
        if _shows_setting(pool) and pool.setting != name:
            raise UsageError(
                f"question {pool.question.id!r} has {pool.setting} rollouts, those before it {name}; "
                "count them apart, or choose with --setting"
            )
        yield pool


def _shows_setting(pool: Pool) -> bool:
    return any(rollout.problem is None for rollout in pool.rollouts)


@dataclass(frozen=True, slots=True)
class _Counts:
    """Per graph: shared groups, cross-rollout pairs and ordered within-rollout pairs."""

    groups: Longs
    pairs: Longs
    within: Longs
    overlaps: tuple[float, ...]
    """Of the graphs with at least two retained rollouts."""


@dataclass(slots=True)
class _Tally:
    recipe: GraphRecipe
    questions: int = 0
    rollouts: int = 0
    retained: int = 0
    searches: int = 0
    occurrences: int = 0
    same_source_and_content: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    edges: Counter[Relation] = field(default_factory=Counter)
    counts: dict[str, list[_Counts]] = field(default_factory=dict)

    def add(self, pools: list[Pool]) -> None:
        graphs = [build_graph(pool, self.recipe) for pool in pools]
        batch = collate([graph.packed for graph in graphs])
        self.questions += len(pools)
        self.rollouts += sum(map(len, pools))
        self.retained += len(batch.rollout_pool)
        self.searches += batch.searches
        self.occurrences += batch.occurrences
        for pool, graph in zip(pools, graphs, strict=True):
            self.dropped.update(drop_reasons(pool, graph.retained.dropped))
        contents = _count(batch.evidence_content, batch)
        self.counts.setdefault(IDENTICAL_CONTENT, []).append(contents)
        if self.recipe.documents != "none":
            self.counts.setdefault(SAME_DOCUMENT, []).append(_count(batch.evidence_document, batch))
            both = batch.evidence_document.astype(np.int64) * (batch.contents + 1) + batch.evidence_content
            self.same_source_and_content += int(_count(both, batch, overlaps=False).pairs.sum())
        self.edges.update(_edge_counts(batch, self.recipe, contents))

    def result(self) -> GraphStatistics:
        sharing = {rule: _sharing(parts) for rule, parts in self.counts.items()}
        same_document = sharing[SAME_DOCUMENT].pairs_total if SAME_DOCUMENT in sharing else 0
        return GraphStatistics(
            questions=self.questions,
            rollouts=self.rollouts,
            retained=self.retained,
            dropped=dict(self.dropped.most_common()),
            searches=self.searches,
            occurrences=self.occurrences,
            edges_mean={relation: self.edges[relation] / max(self.questions, 1) for relation in relations(self.recipe)},
            sharing=sharing,
            differing_content=1 - self.same_source_and_content / same_document if same_document else None,
        )


def _count(group: Ints | Longs, batch: GraphBatch, overlaps: bool = True) -> _Counts:
    """Counts for one matching rule, from n_gr: the occurrences of group g in rollout r."""
    rollouts = max(len(batch.rollout_pool), 1)
    cells, size = np.unique(group.astype(np.int64) * rollouts + batch.evidence_rollout(), return_counts=True)
    _, begins, of_cell, saw = np.unique(cells // rollouts, return_index=True, return_inverse=True, return_counts=True)
    total = np.bincount(of_cell, size).astype(np.int64)
    squares = np.bincount(of_cell, size**2).astype(np.int64)
    pool = batch.rollout_pool[cells[begins] % rollouts]

    def per_graph(values: Longs) -> Longs:
        return np.bincount(pool, weights=values, minlength=batch.pools).astype(np.int64)

    return _Counts(
        groups=per_graph((saw > 1).astype(np.int64)),
        pairs=per_graph((total**2 - squares) // 2),  # sum over r < s of n_gr n_gs
        within=per_graph(squares - total),
        overlaps=tuple(_overlaps(of_cell, cells % rollouts, batch)) if overlaps else (),
    )


def _overlaps(group: Longs, rollout: Longs, batch: GraphBatch) -> Iterator[float]:
    """Mean Jaccard similarity over the pairs of rollouts of each graph; two empty sets share nothing."""
    graphs = np.arange(batch.pools + 1)
    begins = np.searchsorted(batch.rollout_pool, graphs)
    # Groups are numbered through graph by graph, so the cells of a graph are consecutive.
    cuts = np.searchsorted(batch.rollout_pool[rollout], graphs)
    for (first, end), (low, high) in zip(pairwise(begins), pairwise(cuts), strict=True):
        count = int(end - first)
        if count < 2:
            continue
        if low == high:
            yield 0.0
            continue
        saw = np.zeros((count, group[high - 1] - group[low] + 1))
        saw[rollout[low:high] - first, group[low:high] - group[low]] = 1
        common = saw @ saw.T
        union = common.diagonal()[:, None] + common.diagonal() - common
        pairs = np.triu_indices(count, 1)
        yield float(np.mean(common[pairs] / np.maximum(union[pairs], 1)))


def _edge_counts(batch: GraphBatch, recipe: GraphRecipe, contents: _Counts) -> dict[Relation, int]:
    """Directed edges per relation, each counted once."""
    node = batch.evidence_nodes(recipe)
    starting = len(np.unique(batch.search_rollout))
    found = {
        "starts": starting,
        "next": batch.searches - starting,
        "previous": batch.searches - starting,
        "same_content_within": int(contents.within.sum()),
        "same_content_cross": 2 * int(contents.pairs.sum()),
    }
    for number, slot in enumerate(recipe.slots):
        chosen = batch.evidence_slot == number
        found[slot] = found[f"{slot}_of"] = _distinct_pairs(node[chosen], batch.evidence_search[chosen])
    if recipe.documents != "none":
        found["in_document"] = found["holds"] = _distinct_pairs(node, batch.evidence_document)
    return {relation: found[relation.name] for relation in relations(recipe)}


def _distinct_pairs(one: Longs, other: Ints) -> int:
    return len(np.unique(one * (int(other.max(initial=0)) + 1) + other))


def _sharing(parts: list[_Counts]) -> Sharing:
    pairs = np.concatenate([part.pairs for part in parts])
    overlaps = [overlap for part in parts for overlap in part.overlaps]
    median, p90 = np.percentile(pairs, (50, 90))
    return Sharing(
        groups_mean=float(np.mean(np.concatenate([part.groups for part in parts]))),
        pairs_mean=float(pairs.mean()),
        pairs_median=float(median),
        pairs_p90=float(p90),
        pairs_total=int(pairs.sum()),
        graphs_share=float((pairs > 0).mean()),
        within_edges_mean=float(np.mean(np.concatenate([part.within for part in parts]))),
        overlap_mean=float(np.mean(overlaps)) if overlaps else None,
    )
